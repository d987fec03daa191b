// The videos of a cell: four panels under one slider.

const PANELS = { truth: "Truth", observed: "Observation", prediction: "Prediction", error: "|Error|" };
const SECONDS = 0.35; // that a frame stays

/** `show(trajectory)` turns to another trajectory that the page has. */
function player(videos) {
  const view = { at: 0, channel: 0, frame: 0, video: null, timer: 0, logarithmic: false };
  const panels = Object.fromEntries(Object.entries(PANELS).map(([name, title]) => [name, panel(name, title)]));
  const slider = h("input", { type: "range", id: "frame", min: "0", step: "1", value: "0", "aria-label": "Frame", oninput: () => goTo(Number(slider.value)) });
  const label = h("output", { for: "frame", id: "frame-label" });
  const play = h("button", { type: "button", id: "play", onclick: () => (view.timer ? stop() : start()) }, "Play");
  const pick = h("div", { class: "controls" });
  const note = h("p", { class: "hint" });
  const element = h("div", { class: "player" }, pick, h("div", { class: "panels" }, Object.values(panels).map((one) => one.element)),
    h("div", { class: "transport" }, play, slider, label), note);

  function goTo(frame) {
    const { meta } = view.video;
    view.frame = frame;
    slider.value = String(frame);
    label.textContent = meta.names ? `field ${meta.names[frame]}` : `t = ${number(meta.times[frame])}, frame ${meta.frames[frame] + 1} of ${meta.frames.at(-1) + 1}`;
    for (const [name, one] of Object.entries(panels)) one.show(view, frame);
  }

  function start() {
    const { length } = view.video.meta.frames;
    play.textContent = "Pause";
    if (view.frame === length - 1) goTo(0);
    view.timer = setInterval(() => {
      if (!element.isConnected || !element.closest("dialog").open) return stop();
      goTo((view.frame + 1) % length);
    }, 1000 * SECONDS);
  }

  function stop() {
    clearInterval(view.timer);
    view.timer = 0;
    play.textContent = "Play";
  }

  async function turnTo(at) {
    const video = await readVideo(videos[at]);
    Object.assign(view, { at, video, channel: Math.min(view.channel, video.meta.channels.length - 1) });
    slider.max = String(video.meta.frames.length - 1);
    controls();
    note.textContent = kept8bit(video.meta);
    goTo(Math.min(view.frame, video.meta.frames.length - 1));
  }

  function controls() {
    const { channels } = view.video.meta;
    const names = videos.map((meta, i) => [String(i), `${meta.trajectory}${meta.mask ? `, mask ${meta.mask}` : ""}`]);
    pick.replaceChildren(
      choice("Test trajectory", names, String(view.at), (at) => turnTo(Number(at)), "trajectory"),
      channels.length > 1 ? choice("Channel", channels.map((name, i) => [String(i), name]), String(view.channel),
        (channel) => { view.channel = Number(channel); goTo(view.frame); }, "channel") : "",
      choice("Scale of errors", [["", "linear"], ["yes", "logarithmic"]], view.logarithmic ? "yes" : "",
        (value) => { view.logarithmic = Boolean(value); goTo(view.frame); }, "error-scale"));
  }

  const ready = turnTo(0);
  return { element, ready, show: (trajectory) => turnTo(Math.max(0, videos.findIndex((meta) => meta.trajectory === trajectory))) };
}

/** One picture with the colours of its scale below. */
function panel(name, title) {
  const canvas = h("canvas", { role: "img", "aria-label": title, class: name }), bar = h("canvas", { class: "bar", "aria-hidden": "true" });
  const low = h("span", {}), high = h("span", {}), empty = h("span", { class: "empty", hidden: true }, "not predicted");
  const edges = name === "observed" ? h("canvas", { class: "edges", "aria-hidden": "true" }) : null;
  const element = h("figure", { class: "panel" }, h("figcaption", {}, title), h("div", { class: "picture" }, canvas, edges, empty),
    bar, h("div", { class: "limits" }, low, high));
  const show = ({ video, channel, logarithmic }, frame) => {
    const scale = scaleOf(video.meta, channel, frame, name, logarithmic);
    paint(canvas, video, name, channel, frame, scale);
    if (edges) outline(edges, video, channel, frame);
    paintBar(bar, scale.map);
    empty.hidden = video.meta.answered[frame] || name === "truth" || name === "observed";
    low.textContent = `${scale.logarithmic ? "≤ " : ""}${number(scale.low)}`;
    high.textContent = `${scale.clips ? "≥ " : ""}${number(scale.high)}`;
  };
  return { element, show };
}

function kept8bit(meta) {
  const [, frames, height, width] = meta.shape, [h0, w0] = meta.points;
  const parts = ["Rounded to 8 bits for this page; scores are of the full fields.",
    "Errors of all methods at this task and dataset are on one scale, which ends at the 99.5th percentile of them all; "
      + "the logarithmic one begins at a hundredth of that percentile of the best method."];
  if (meta.step > 1) parts.push(`Every ${meta.step}th point of a row and of a column was kept by the run.`);
  if (h0 > height * meta.step || w0 > width * meta.step) parts.push(`Means over blocks: ${height} x ${width} of ${h0} x ${w0} points.`);
  if (!meta.names && frames < meta.frames.at(-1) + 1) parts.push(`${frames} of ${meta.frames.at(-1) + 1} frames.`);
  return parts.join(" ");
}
