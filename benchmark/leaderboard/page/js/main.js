// The page as a whole.

const VIEWS = { table: "Table", ranks: "Ranks and cost", figures: "Figures", records: "Records", claims: "Claims", about: "How to read" };

const FIRST = 4; // sentences of the heading that stand above everything: profile, data sources, what generated data is

function aboutView() {
  const view = h("section", { id: "view-about", class: "view prose", "aria-label": "How to read", hidden: true });
  const list = (title, texts) => (texts.length ? [h("h2", {}, title), h("ul", {}, texts.map((text) => h("li", {}, text)))] : []);
  const draw = () => view.replaceChildren(...list("Before any number is read", profile().heading), ...list("What the marks mean", profile().legend),
    ...list("Records that could not be read", profile().problems),
    h("h2", {}, "Keys"), h("p", {}, "Arrow keys move in the table, Enter opens a cell, Escape closes it. / goes to the search, 1 to 6 to the parts of the page."),
    h("details", {}, h("summary", {}, "Libraries on this page, and their licences"), h("pre", {}, document.getElementById("licences").textContent)));
  watchers.push((changed) => state.view === "about" && draw());
  return view;
}

function navigation() {
  const tabs = h("nav", { "aria-label": "Parts of the page" }, h("ul", {}, Object.entries(VIEWS).map(([name, title]) =>
    h("li", {}, h("button", { type: "button", id: `tab-${name}`, onclick: () => update({ view: name }) }, title)))));
  const mark = () => {
    for (const name of Object.keys(VIEWS)) {
      const shown = name === state.view;
      document.getElementById(`view-${name}`).hidden = !shown;
      tabs.querySelector(`#tab-${name}`).setAttribute("aria-current", shown ? "page" : "false");
    }
    for (const part of [document.querySelector(".filters"), document.getElementById("count")]) part.hidden = ["claims", "about"].includes(state.view);
  };
  watchers.push((changed) => changed.has("view") && mark());
  return tabs;
}

function pageHead() {
  const lead = h("p", { class: "lead" }), problems = h("p", { class: "problems", role: "status" });
  const title = h("h1", {}, "PDE video benchmark");
  const draw = () => {
    document.title = profile().title;
    const { heading } = profile(), more = heading.length - FIRST;
    lead.replaceChildren(heading.slice(0, FIRST).join(" "), " ", more > 0
      ? h("button", { type: "button", class: "link", onclick: () => update({ view: "about" }) }, `${more} more`) : "");
    const { length } = profile().problems;
    problems.textContent = length ? `${length} record${length > 1 ? "s" : ""} could not be read: see "How to read".` : "";
  };
  watchers.push((changed) => changed.has("profile") && draw());
  return h("div", { class: "head" }, h("div", { class: "title" }, title, themeButton(() => redraw(new Set(["theme"])))), lead, problems);
}

function redraw(changed) {
  for (const watch of watchers) watch(changed);
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("cell").open) return;
    const view = Object.keys(VIEWS)[Number(event.key) - 1];
    if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
    else if (view) update({ view });
  });
}

function start() {
  Object.assign(state, readAddress());
  if (!(state.view in VIEWS)) state.view = DEFAULTS.view;
  document.getElementById("top").append(pageHead(), navigation());
  document.getElementById("main").append(filterBar(), countLine(),
    boardView(), overviewView(), figuresView(), recordsView(), claimsView(), aboutView());
  startTooltips();
  startDialog();
  startKeys();
  addEventListener("hashchange", () => update({ ...DEFAULTS, ...readAddress() }));
  redraw(new Set(["view", "profile", ...(state.cell ? ["cell"] : [])]));
  document.documentElement.dataset.ready = "yes";
}

start();
