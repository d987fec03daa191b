// What all charts share, on Chart.js: colours of the theme, axes, and the numbers as a table for whoever does not see them.

Chart.defaults.animation = false;
Chart.defaults.font.family = "system-ui, sans-serif";
Chart.defaults.maintainAspectRatio = false;

/** A frame for a chart: controls, canvas, note, table; draw() makes its chart anew, and takes the last one away. */
function figureFrame(id, title, controls, build) {
  const canvas = h("canvas", { role: "img", "aria-label": title });
  const note = h("div", { class: "hint" }), numbers = h("details", {}, h("summary", {}, "Numbers"), h("div", {}));
  const bar = h("div", { class: "controls" });
  const box = h("div", { class: "canvas" }, canvas);
  const frame = h("figure", { id, class: "figure" }, h("figcaption", {}, title), bar, box, note, numbers);
  let chart = null;
  const draw = async () => {
    bar.replaceChildren(...controls(draw));
    const made = await build();
    chart?.destroy();
    box.hidden = numbers.hidden = !made.config;
    note.replaceChildren(made.notes ? h("ul", {}, made.notes.map((text) => h("li", {}, text))) : made.note ?? "");
    if (!made.config) return;
    chart = new Chart(canvas, made.config);
    numbers.lastChild.replaceChildren(plainTable(made.header, made.rows));
  };
  return { frame, draw, chart: () => chart };
}

function axis(title, logarithmic = false, more = {}) {
  return {
    type: logarithmic ? "logarithmic" : "linear",
    title: { display: true, text: title, color: colour("text") },
    grid: { color: colour("line") },
    border: { color: colour("faint") },
    ticks: { color: colour("faint"), maxRotation: 0, autoSkip: true, callback: (value) => compact(value) },
    ...(logarithmic ? { afterBuildTicks: (scale) => { scale.ticks = roundNumbers(scale.min, scale.max).map((value) => ({ value })); } } : {}),
    ...more,
  };
}

const FEWEST = 3; // numbers that an axis names
const HEADS = [[6, [1]], [FEWEST, [1, 2, 5]], [FEWEST, [1, 1.5, 2, 3, 5, 7]]]; // which take so many numbers at least

/** What a logarithmic axis names: few numbers times powers of ten, or where its ends are close together even steps. */
function roundNumbers(low, high) {
  for (const [least, heads] of HEADS) {
    const ticks = timesPowers(heads, low, high);
    if (ticks.length >= least) return ticks;
  }
  return evenSteps(low, high);
}

function timesPowers(heads, low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) ticks.push(...heads.map((head) => Number(`${head}e${power}`)));
  return ticks.filter((value) => value >= low && value <= high);
}

/** Multiples of 1, 2 or 5 times a power of ten, the largest that gives enough. */
function evenSteps(low, high) {
  const power = Math.floor(Math.log10(high - low));
  const steps = [power, power - 1].flatMap((exponent) => [5, 2, 1].map((head) => Number(`${head}e${exponent}`)));
  const multiples = (step) => Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => (Math.ceil(low / step) + i) * step);
  return steps.map(multiples).find((ticks) => ticks.length >= FEWEST);
}

/** Bounds of a logarithmic axis, with room around the values. */
function around(values) {
  return { min: Math.min(...values) / 1.25, max: Math.max(...values) * 1.25 };
}

function line(place, label, data, more = {}) {
  const look = lookOf(place);
  return { label, data, borderColor: look.colour, backgroundColor: look.hollow ? colour("page") : look.colour, pointStyle: look.point,
    borderDash: look.dash, borderWidth: 2, clip: false, pointRadius: 4, pointHoverRadius: 7, ...more };
}

function options(x, y, title, more = {}) {
  return { scales: { x, y }, interaction: { mode: "nearest", intersect: false }, plugins: {
    legend: { position: innerWidth < 700 ? "bottom" : "right", align: "start", labels: { color: colour("text"), usePointStyle: true, boxHeight: 7 } },
    tooltip: { callbacks: { label: title, title: () => "" } }, ...more } };
}

/** Names beside the points of a scatter; one that would cover another is left to the tooltip. */
const namePoints = {
  id: "namePoints",
  afterDatasetsDraw(chart) {
    if (chart.width < 560) return;
    const context = chart.ctx, taken = [];
    context.save();
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colour("text");
    chart.data.datasets.forEach((dataset, i) => {
      if (!dataset.named || !chart.isDatasetVisible(i)) return;
      const point = chart.getDatasetMeta(i).data[0], width = context.measureText(dataset.label).width;
      const left = point.x + 9 + width > chart.chartArea.right ? point.x - 9 - width : point.x + 9;
      const box = [left, point.y - 8, left + width, point.y + 8];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
      taken.push(box);
      context.strokeStyle = colour("page");
      context.lineWidth = 4;
      context.strokeText(dataset.label, left, point.y + 4);
      context.fillText(dataset.label, left, point.y + 4);
    });
    context.restore();
  },
};
