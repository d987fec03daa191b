// What to show: profile, metric, kind of method, names, datasets, tasks.

const KINDS = {
  all: ["all methods", () => true],
  learned: ["learned", (method) => method.kind === "learned"],
  reference: ["references", (method) => method.kind === "reference"],
  equation: ["know the equation", (method) => method.equation],
  data: ["from data alone", (method) => !method.equation],
  dataset: ["one fit for all tasks", (method) => method.kind === "learned" && method.scope === "dataset"],
  task: ["one fit a task", (method) => method.kind === "learned" && method.scope === "task"],
  instance: ["fitted to each test trajectory", (method) => method.kind === "learned" && method.scope === "instance"],
};

/** Whether a method passes the filters. */
function methodShown(method) {
  const text = `${method.name} ${method.label}`.toLowerCase();
  const words = state.search.toLowerCase().split(/[\s,]+/).filter(Boolean);
  return KINDS[state.kind in KINDS ? state.kind : "all"][1](method) && (!words.length || words.some((word) => text.includes(word)));
}

/** Whether a column passes; one that no method supports is a note below the table. */
function columnShown(column) {
  const has = column.entries.some((entry) => entry.score || !["missing", "unsupported", undefined].includes(entry.state));
  return has && passes(column.dataset, state.datasets) && passes(column.task, state.tasks);
}

const passes = (name, wanted) => !wanted.length || wanted.includes(name);

function filterBar() {
  const bar = h("form", { class: "filters", role: "search", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() });
  const draw = () => bar.replaceChildren(
    profileChoice(), metricChoice(),
    choice("Kind", Object.entries(KINDS).map(([key, [text]]) => [key, text]), state.kind, (kind) => update({ kind }), "kind"),
    searchField(), intervalsBox(), resetButton(),
    chips("Dataset", "datasets", (column) => [column.dataset, column.datasetLabel]),
    chips("Task", "tasks", (column) => [column.task, taskName(column)]));
  draw();
  watchers.push((changed) => {
    if (["profile", "metric", "kind", "datasets", "tasks", "intervals"].some((name) => changed.has(name))) redrawKeepingFocus(bar, draw);
  });
  return bar;
}

/** How many methods pass, said to whoever does not see it. */
function countLine() {
  const line = h("p", { id: "count", role: "status" });
  watchers.push(() => {
    const { methods } = profile();
    line.textContent = `${methods.filter(methodShown).length} of ${methods.length} methods`;
  });
  return line;
}

/** Whoever steps through the filters by keyboard stays where they are. */
function redrawKeepingFocus(bar, draw) {
  const id = bar.contains(document.activeElement) ? document.activeElement.id : "";
  draw();
  if (id) document.getElementById(id)?.focus();
}

function profileChoice() {
  const names = Object.keys(DATA.profiles).map((name) => [name, name]);
  return choice("Profile", names, state.profile, (name) => update({ profile: name, datasets: [], tasks: [], cell: "" }), "profile");
}

function metricChoice() {
  const options = Object.entries(profile().metrics).map(([name, metric]) => [name, metric.title]);
  return choice("Metric", options, metricName(), (metric) => update({ metric }), "metric");
}

function searchField() {
  return h("label", { class: "choice" }, h("span", {}, "Methods"),
    h("input", { id: "search", type: "search", placeholder: "fno, kriging …", value: state.search, autocomplete: "off",
      oninput: (event) => update({ search: event.target.value }) }));
}

/** A button for each value that a column has, in the order of the tables; none pressed is all. */
function chips(label, key, of) {
  const found = new Map(profile().columns.map(of)), names = profile()[key];
  const toggle = (name) => update({ [key]: state[key].includes(name) ? state[key].filter((one) => one !== name) : [...state[key], name] });
  return h("fieldset", { class: "chips" }, h("legend", {}, label), names.map((name) =>
    h("button", { type: "button", class: "chip", id: `${key}-${name}`, "aria-pressed": String(state[key].includes(name)), "data-tip": name,
      onclick: () => toggle(name) }, found.get(name))));
}

function intervalsBox() {
  return h("label", { class: "tick" }, h("input", { type: "checkbox", id: "intervals", checked: state.intervals,
    onchange: (event) => update({ intervals: event.target.checked }) }), "95 % intervals");
}

function resetButton() {
  const { kind, search, datasets, tasks } = DEFAULTS;
  return h("button", { type: "button", class: "quiet", id: "reset", onclick: () => {
    update({ kind, search, datasets, tasks, metric: "" });
    document.getElementById("search").value = "";
  } }, "Clear filters");
}

/** Continuous tasks are named by their rate alone where their table says the rest; a chip stands alone. */
const taskName = (column) => (/^[\d.]+ %$/.test(column.taskLabel) ? `sensors ${column.taskLabel}` : column.taskLabel);
