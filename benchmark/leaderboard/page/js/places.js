// The places of the table for the metric that is shown: column by column, method by method.

/** Of each column the places of the methods: {text, interval, value, emphasis, marks, notes, state, records}. */
async function placesOf(name) {
  const metric = profile().metrics[name] ?? { unit: "%", goal: "low", title: name };
  const values = metric.chunk === undefined ? null : await readJson(metric.chunk);
  return profile().columns.map((column, i) => column.entries.map((entry, j) =>
    values ? otherPlace(entry, values[i][j], metric) : ownPlace(entry, metric)));
}

/** With all marks: those of the metric that the methods are compared by. */
function ownPlace(entry, metric) {
  if (!entry.score) return emptyPlace(entry);
  const [mean, low, high] = entry.score;
  return place(entry, mean, low, high, metric, entry.place ?? "", entry.alike);
}

function otherPlace(entry, found, metric) {
  if (!found) return emptyPlace(entry);
  const [mean, low, high, emphasis] = found;
  return place(entry, mean, low, high, metric, emphasis, false);
}

function place(entry, mean, low, high, metric, emphasis, alike) {
  const spread = alike !== false && entry.sd !== undefined ? `± ${number(entry.sd)}` : "";
  return { value: mean, low, high, text: score(mean, metric), interval: interval(low, high, metric), spread, emphasis,
    alike: Boolean(alike), notes: entry.notes ?? [], state: "done", records: entry.records ?? [] };
}

const SHORT = { unsupported: "unsup." };

function emptyPlace(entry) {
  const state = entry.state ?? "done";
  return { value: null, text: SHORT[state] ?? (state === "done" ? DASH : state), interval: "", spread: "", emphasis: "",
    alike: false, notes: entry.notes ?? [], state, records: entry.records ?? [] };
}

/** What the marks of a place say, in words. */
function told(place) {
  const words = { best: "Best: the best mean among learned methods.", second: "Second among learned methods.",
    reference: "Best reference; no learned method is better." };
  return [words[place.emphasis], place.alike && `${ALIKE} Not shown to be worse than the best.`,
    place.state === "missing" && "Missing: no record.",
    ...place.notes.map((note) => `${letter(note)}: ${profile().notes[note]}`)].filter(Boolean);
}
