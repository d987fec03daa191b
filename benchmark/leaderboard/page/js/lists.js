// Two long tables: one line a method, with ranks and costs; and one line a record.

const lists = {};

function listView(id, label, hints, columns, rows) {
  const view = h("section", { id: `view-${id}`, class: "view", "aria-label": label, hidden: true }, h("div", { id: `list-${id}` }), h("ul", { class: "hint after" }));
  const draw = () => {
    lists[id]?.destroy();
    view.querySelector(".after").replaceChildren(...hints().map((text) => h("li", {}, text)));
    lists[id] = new Tabulator(`#list-${id}`, { data: rows(), columns: columns(), layout: "fitDataStretch", maxHeight: "80vh",
      placeholder: "Nothing passes the filters.", columnDefaults: { headerSortTristate: true, resizable: false, titleFormatter: headerButton } });
  };
  watchers.push((changed) => {
    if (state.view !== id) return void (lists[id] && !changed.has("view") && (lists[id].destroy(), delete lists[id]));
    if (!lists[id] || ["profile", "kind", "search", "datasets", "tasks"].some((name) => changed.has(name))) draw();
  });
  return view;
}

const numeric = (title, field, show = number, tip = "") => ({ title, field, hozAlign: "right", headerHozAlign: "right", sorter: emptyLast,
  headerTooltip: false, formatter: (cell) => h("span", { "data-tip": tip || null }, show(cell.getValue())) });
const textual = (title, field, more = {}) => ({ title, field, sorter: "string", formatter: (cell) => h("span", {}, cell.getValue() ?? ""), ...more });

function emptyLast(one, other, a, b, column, direction) {
  const last = direction === "asc" ? 1 : -1, empty = (value) => value === null || value === undefined;
  if (empty(one) || empty(other)) return (empty(one) - empty(other)) * last;
  return one - other;
}

const overviewView = () => listView("ranks", "Ranks and cost", () => profile().overviewNotes, () => [
  { ...textual("Method", "label"), frozen: true, cssClass: "method" },
  numeric("Rank", "rank"), numeric("Cells", "cells", count), textual("Met", "met", { hozAlign: "right", headerHozAlign: "right" }), numeric("Ratio to best", "ratio"),
  numeric("Done", "done", count), numeric("Failed", "failed", count), numeric("Unsupported", "unsupported", count), numeric("Missing", "missing", count),
  textual("Seeds", "seeds", { hozAlign: "right", headerHozAlign: "right" }),
  numeric("Parameters", "parameters", count), numeric("Fit s", "fit_seconds"), numeric("Predict s", "predict_seconds"),
  numeric("Evaluations", "evaluations", count), numeric("Peak MB", "peak_memory_mb"),
], () => profile().overview.flatMap((line, j) => (methodShown(profile().methods[j]) ? [{ ...line, label: profile().methods[j].label }] : [])));

const recordsView = () => listView("records", "All records", () => ["One line a record; its method opens the cell."], () => [
  { ...textual("Method", "label"), frozen: true, cssClass: "method", cellClick: openRecord,
    formatter: (cell) => h("button", { class: "link", type: "button" }, cell.getValue()) },
  textual("Dataset", "dataset"), textual("Task", "task"), numeric("Seed", "seed", String), textual("State", "state"),
  numeric("Error %", "error"), numeric("n", "n", (value) => (value === null ? "" : String(value))), textual("Data", "source"), textual("Made", "created"), textual("Commit", "commit"),
  textual("Reason", "reason", { cssClass: "long" }),
], () => profile().records.flatMap((record) => {
  const method = profile().methods[record.method];
  return methodShown(method) && passes(record.dataset, state.datasets) && passes(record.task, state.tasks)
    ? [{ ...record, label: method.label, name: method.name }] : [];
}));

function openRecord(event, cell) {
  const { name, task, dataset, seed } = cell.getData();
  update({ cell: `${name}|${task}|${dataset}|${seed}` });
}
