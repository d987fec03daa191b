// The table: methods down, datasets x tasks across, on Tabulator.

const board = { table: null, layout: "", drawn: 0, stale: true };

function boardView() {
  const view = h("section", { id: "view-table", class: "view", "aria-label": "Leaderboard" },
    h("p", { id: "metric-note", class: "hint" }), h("div", { id: "board" }), h("div", { id: "footnotes" }));
  watchers.push((changed) => {
    if (["profile", "metric", "kind", "datasets", "tasks"].some((name) => changed.has(name))) board.stale = true;
    if (changed.has("intervals")) showIntervals();
    if (state.view !== "table") board.stale ||= changed.has("search"); // what is hidden cannot be laid out
    else if (board.stale) drawBoard();
    else if (changed.has("search")) filterBoard();
  });
  return view;
}

async function drawBoard() {
  board.stale = false;
  const turn = ++board.drawn, name = metricName();
  const places = await placesOf(name);
  if (turn !== board.drawn) return; // another choice was made meanwhile
  const shown = profile().columns.map((column, i) => i).filter((i) => columnShown(profile().columns[i]));
  describeMetric(name);
  footnotes(places, shown);
  const rows = profile().methods.map((method, j) => rowOf(method, j, places, shown)), layout = [state.profile, state.kind, ...shown].join();
  if (layout === board.layout) return board.table.replaceData(rows); // other numbers in the same places
  board.layout = layout;
  board.table?.destroy();
  board.table = new Tabulator("#board", {
    data: rows,
    columns: [methodColumn(), ...datasetGroups(shown)],
    layout: "fitData",
    maxHeight: "80vh",
    index: "place",
    groupBy: "kind",
    groupValues: [["reference", "learned"].filter((kind) => profile().methods.some((method) => method.kind === kind && methodShown(method)))],
    groupHeader: (kind) => h("span", { class: "block" }, kind === "reference" ? "references" : "learned methods"),
    groupToggleElement: false,
    initialFilter: (row) => methodShown(row.method),
    placeholder: "No method passes the filters.",
    columnDefaults: { headerSortTristate: true, resizable: false },
  });
  showIntervals();
  board.table.on("renderComplete", oneStop);
  return new Promise((resolve) => board.table.on("tableBuilt", () => { startArrows(); resolve(); }));
}

const rowOf = (method, j, places, shown) => ({ place: j, method, kind: method.kind, name: method.label,
  ...Object.fromEntries(shown.map((i) => [`c${i}`, places[i][j]])) });

/** At once by the style; rows take their new height when there is time. */
function showIntervals() {
  document.getElementById("board").classList.toggle("plain-numbers", !state.intervals);
  if (board.table?.initialized) setTimeout(() => board.table.redraw(true), 250);
}

function filterBoard() {
  board.table.setFilter((row) => methodShown(row.method));
}

function methodColumn() {
  return { title: "Method", field: "name", frozen: true, cssClass: "method", sorter: "string", titleFormatter: headerButton,
    formatter: (cell) => {
      const { method } = cell.getData();
      return h("span", { "data-tip": aboutMethod(method), tabindex: "0" }, method.label);
    } };
}

function aboutMethod(method) {
  const scopes = { dataset: "One fit serves all tasks of a dataset.", task: "One fit for each task.",
    instance: "Fitted to each test trajectory." };
  return [method.name, method.kind === "reference" ? "Reference: it is not ranked." : scopes[method.scope],
    method.equation && "Knows the equation.", ...method.aids.map((aid) => `Given ${aid}.`)].filter(Boolean).join("\n");
}

/** Columns of one dataset stand under its name. */
function datasetGroups(shown) {
  const groups = new Map();
  for (const i of shown) {
    const { datasetLabel } = profile().columns[i];
    groups.set(datasetLabel, [...(groups.get(datasetLabel) ?? []), column(i)]);
  }
  return [...groups].map(([title, columns]) => ({ title, columns, titleFormatter: (cell) => h("span", {}, cell.getValue()) }));
}

function column(i) {
  return { title: profile().columns[i].taskLabel, field: `c${i}`, hozAlign: "right", headerHozAlign: "right", titleFormatter: headerButton,
    sorter: worstLast, headerSortStartingDir: sense() < 0 ? "desc" : "asc", formatter: (cell) => placeButton(cell.getValue(), i, cell.getData().place) };
}

const sense = () => (profile().metrics[metricName()]?.goal === "high" ? -1 : 1);

/** By value; places without one come last either way. */
function worstLast(one, other, a, b, column, direction) {
  const last = direction === "asc" ? 1 : -1;
  if (one.value === null || other.value === null) return ((one.value === null) - (other.value === null)) * last;
  return one.value - other.value;
}

/** A heading that can be reached and pressed by keyboard; Tabulator hears the click. */
function headerButton(cell) {
  return h("button", { class: "head", type: "button" }, cell.getValue());
}

function placeButton(place, i, j) {
  const notes = told(place);
  const marks = [place.alike ? ALIKE : "", ...place.notes.map(letter)].filter(Boolean).join(",");
  const spread = place.interval || place.spread;
  const { datasetLabel, taskLabel } = profile().columns[i];
  return h("button", { class: `place ${place.emphasis} ${place.value === null ? "none" : ""}`, type: "button", tabindex: "-1",
    "data-cell": `${i}.${j}`, "data-tip": notes.length ? notes.join("\n") : null,
    "aria-label": `${profile().methods[j].label}, ${datasetLabel} ${taskLabel}: ${place.text} ${place.interval} ${notes.join(" ")}`,
    onclick: () => update({ cell: cellName(i, j) }) },
  h("span", { class: "value" }, place.text), marks && h("sup", {}, marks),
  spread && h("span", { class: "interval" }, [place.interval, place.spread].filter(Boolean).join(" ")));
}

const cellName = (i, j) => {
  const { dataset, task } = profile().columns[i];
  return `${profile().methods[j].name}|${task}|${dataset}`;
};

/** Of all places one is a stop of the Tab key. */
function oneStop() {
  const grid = document.getElementById("board");
  const first = grid.querySelector("button.place[tabindex='0']") ?? grid.querySelector("button.place");
  if (first) first.tabIndex = 0;
}

/** Arrows move from place to place, Enter opens. */
function startArrows() {
  const grid = document.getElementById("board");
  grid.setAttribute("aria-label", "Leaderboard: arrow keys move, Enter opens a cell");
  grid.onkeydown = (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest?.("button.place");
    if (!step || !cell) return;
    event.preventDefault();
    const rows = [...grid.querySelectorAll(".tabulator-row:not(.tabulator-group)")].map((row) => [...row.querySelectorAll("button.place")]);
    const y = rows.findIndex((row) => row.includes(cell)), x = rows[y].indexOf(cell);
    const next = rows[y + step[0]]?.[x + step[1]];
    if (!next) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
}

function describeMetric(name) {
  const metric = profile().metrics[name];
  const note = document.getElementById("metric-note");
  if (metric) note.replaceChildren(h("strong", {}, metric.title), metricWords(metric, name === profile().metric));
  else note.replaceChildren();
}

function metricWords(metric, own) {
  const unit = metric.unit === "%" ? ", in percent" : metric.unit ? ` (${metric.unit})` : "";
  const goal = { low: " Lower is better.", high: " Higher is better.", level: " Neither low nor high is better." }[metric.goal];
  return `${unit}: ${metric.definition}.${goal}${own ? "" : " Differences in this metric are not tested; intervals are of one seed."}`;
}

/** The notes of the places that are shown, and the columns that nobody supports. */
function footnotes(places, shown) {
  const used = [...new Set(shown.flatMap((i) => places[i].flatMap((place) => place.notes)))].sort((a, b) => a - b);
  const few = shown.map((i) => profile().columns[i]).filter((column) => column.tooFew);
  const names = (columns) => columns.map((column) => `${column.datasetLabel} ${column.taskLabel}`).join(", ");
  const empty = profile().columns.filter((column, i) => !shown.includes(i) && !columnShown(column)
    && passes(column.dataset, state.datasets) && passes(column.task, state.tasks));
  document.getElementById("footnotes").replaceChildren(
    h("p", { class: "hint" }, "Bold: best learned method; underlined: second; ", ALIKE, ": not shown to be worse than the best; italics: best reference ",
      "where no learned method is better. A click opens a cell."),
    few.length ? h("p", { class: "hint" }, `Too few test trajectories to tell learned methods apart: ${names(few)}.`) : "",
    empty.length ? h("p", { class: "hint" }, `Not shown, as no method has a number there: ${names(empty)}.`) : "",
    used.length ? h("details", {}, h("summary", {}, `Notes (${used.length})`),
      h("dl", { class: "notes" }, used.flatMap((note) => [h("dt", {}, letter(note)), h("dd", {}, profile().notes[note])]))) : "");
}
