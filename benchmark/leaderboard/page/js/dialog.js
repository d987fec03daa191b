// A cell, opened: its number, videos, curves, and the record behind it.

const opened = { charts: [], from: null };

function startDialog() {
  const dialog = document.getElementById("cell");
  dialog.addEventListener("close", () => { clearCharts(); update({ cell: "" }); opened.from?.focus?.({ preventScroll: true }); });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  watchers.push((changed) => {
    if (changed.has("cell")) state.cell ? openCell() : dialog.open && dialog.close();
    else if (changed.has("theme") && dialog.open) openCell();
  });
}

function clearCharts() {
  for (const chart of opened.charts.splice(0)) chart.destroy();
}

const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** The column, the method and the seed that the address names; a place of the table is named without a seed. */
function namedCell() {
  const [name, task, dataset, seed] = state.cell.split("|");
  const j = profile().methods.findIndex((method) => method.name === name);
  const i = profile().columns.findIndex((column) => column.task === task && column.dataset === dataset);
  if (i < 0 || j < 0) return null;
  const column = profile().columns[i], entry = column.entries[j], places = entry.records ?? [];
  const at = Math.max(0, places.findIndex((place) => String(profile().records[place].seed) === seed));
  return { column, method: profile().methods[j], entry, places, place: places[at] };
}

async function openCell() {
  const cell = namedCell(), dialog = document.getElementById("cell");
  if (!cell) return update({ cell: "" });
  if (!dialog.open) opened.from = document.activeElement;
  const at = profile().details[cell.place];
  const record = at ? (await readJson(at[0]))[at[1]] : null;
  clearCharts();
  const parts = record ? recordParts(record, cell) : [];
  dialog.replaceChildren(cellHead(cell), h("div", { class: "body" },
    record ? parts.map((part) => part.element) : missingPart(cell)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  await painted(); // what is there is shown before charts are drawn
  clearCharts();
  opened.charts = parts.flatMap((part) => part.draw?.() ?? []);
  await Promise.all(parts.map((part) => part.ready));
  dialog.dataset.ready = state.cell;
}

function cellHead({ column, method, entry, places, place: chosen }) {
  const place = ownPlace(entry, profile().metrics[profile().metric] ?? { unit: "%", goal: "low" });
  const seedOf = (number) => String(profile().records[number].seed), seeds = places.map((number) => [seedOf(number), seedOf(number)]);
  const value = place.value === null ? place.state : `${place.text}${place.interval ? " %" : ""}`;
  const turnTo = (seed) => update({ cell: [method.name, column.task, column.dataset, seed].join("|") });
  return h("header", {},
    h("button", { type: "button", class: "close", id: "close", "aria-label": "Close", onclick: () => document.getElementById("cell").close() }, "×"),
    h("h2", { id: "cell-title" }, method.label, h("span", {}, ` on ${column.datasetLabel}, ${taskName(column)}`)),
    h("p", { class: "headline" }, h("span", { class: `value ${place.emphasis}` }, value), " ", h("span", { class: "interval" }, place.interval, " ", place.spread)),
    h("ul", { class: "told" }, told(place).map((text) => h("li", {}, text))),
    seeds.length > 1 ? choice("Record of seed", seeds, seedOf(chosen), turnTo, "seed") : "");
}

function missingPart({ method, column }) {
  const words = `python -m benchmark run --method ${method.name} --task ${column.task} --dataset ${column.dataset} --profile ${state.profile}`;
  return h("section", {}, h("p", {}, "There is no record of this cell. This makes one:"), h("div", { class: "command" }, h("code", { id: "command" }, words)));
}

/** What stands in the dialog, each with what must be drawn once it is there. */
function recordParts(record, { place, places }) {
  const videos = profile().videos?.[place] ?? [];
  const own = videos.length ? player(videos) : null;
  const errors = trajectories(record, videos, (i) => own.show(i)), curve = frameCurve(record);
  const part = (title, element, more = {}) => ({ element: h("section", {}, h("h3", {}, title), element), ...more });
  const fold = (title, element, open = false) => ({ element: h("details", { class: "fold", open }, h("summary", {}, title), element) });
  return [
    record.reason && part("Reason", h("pre", {}, record.reason)),
    record.state === "done" && part("Predictions", own?.element ?? noVideo(place, places), { ready: own?.ready }),
    curve && part(curve.title, curve.element, { draw: curve.draw }),
    errors && part("Error of each test trajectory", errors.element, { draw: errors.draw }),
    part("Reproduce", commandBox(record)),
    fold("Metrics", metricsTable(record)),
    fold("Cost", costTable(record)),
    fold("Settings", factsTable({ ...record.settings, ...(record.changes ? { "changed from the profile": record.changes } : {}) })),
    fold("Provenance", factsTable({ ...record.provenance, key: record.key })),
    record.traceback && fold("Traceback", h("pre", {}, record.traceback)),
  ].filter(Boolean);
}

function noVideo(place, places) {
  const other = places.find((one) => profile().videos?.[one]);
  const reason = profile().noVideo?.[place] ?? (other === undefined ? null : `the page has those of seed ${profile().records[other].seed}`);
  return h("p", { class: "hint", id: "no-video" }, reason ? `No video: ${reason}.` : "No predictions of this cell were found when the page was written. "
    + "`run` keeps those of the first test trajectories in its runs folder: run the cell (again with --overwrite), then write the page with --runs and that folder.");
}
