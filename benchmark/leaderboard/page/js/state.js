// What is shown, kept in the address so that a view can be bookmarked and sent with the file.

const DEFAULTS = { view: "table", profile: DATA.shown, metric: "", datasets: [], tasks: [], kind: "all", search: "",
  intervals: true, cell: "" };
const state = { ...DEFAULTS };
const watchers = [];

const profile = () => DATA.profiles[state.profile];
const metricName = () => (state.metric in profile().metrics ? state.metric : profile().metric);

/** Change some of it and tell everybody who watches, with the names of what changed. */
function update(changes) {
  const changed = Object.keys(changes).filter((name) => String(changes[name]) !== String(state[name]));
  if (!changed.length) return;
  Object.assign(state, changes);
  writeAddress();
  for (const watch of watchers) watch(new Set(changed));
}

function writeAddress() {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (String(value) !== String(DEFAULTS[name])) parts.set(name, String(value));
  }
  history.replaceState(null, "", `#${parts}`);
}

/** The inverse; what has no sense here is left as it was. */
function readAddress() {
  const found = {};
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in DEFAULTS)) continue;
    const like = DEFAULTS[name];
    found[name] = Array.isArray(like) ? text.split(",").filter(Boolean) : typeof like === "boolean" ? text === "true" : text;
  }
  if (!(found.profile in DATA.profiles)) delete found.profile;
  return found;
}
