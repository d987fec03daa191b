// A record in words and numbers.

function metricsTable(record) {
  const rows = Object.entries(record.metrics ?? {}).map(([name, [unit, mean, low, high]]) => {
    const metric = profile().metrics[name] ?? { title: name, definition: "", unit, goal: "low" };
    const title = h("span", { "data-tip": metric.definition || null, tabindex: "0" }, metric.title);
    return [title, `${number(mean)} ${unit === "%" ? "%" : ""}`, interval(low, high, { unit: "", goal: "" }), unit === "%" ? "" : unit];
  });
  return rows.length ? plainTable(["metric", "mean", "95 % interval", "unit"], rows) : h("p", {}, "No numbers.");
}

/** A value inside a value is a name with a dot. */
function flat(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, String(value)]];
  if (Array.isArray(value)) {
    const simple = value.every((part) => part === null || typeof part !== "object");
    return [[prefix, simple ? value.join(", ") || "none" : JSON.stringify(value)]];
  }
  return Object.entries(value).flatMap(([name, part]) => flat(part, prefix ? `${prefix}.${name}` : name));
}

function factsTable(value) {
  const rows = flat(value ?? {});
  return rows.length && rows[0][0] ? plainTable(["name", "value"], rows, { class: "plain facts" }) : h("p", {}, "Nothing recorded.");
}

function costTable(record) {
  return factsTable(Object.fromEntries(Object.entries(record.cost ?? {}).map(([name, value]) =>
    [name, typeof value === "number" ? (Number.isInteger(value) ? count(value) : number(value)) : value])));
}

/** The command, in a line that can be copied. */
function commandBox(record) {
  const button = h("button", { type: "button", class: "quiet", id: "copy", onclick: async () => {
    try {
      await navigator.clipboard.writeText(record.command);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: copy it";
    }
  } }, "Copy");
  const code = h("code", { id: "command", tabindex: "0" }, record.command);
  const { commit, dirty } = record.provenance ?? {};
  const at = commit ? `At commit ${commit}${dirty ? ", with changes that were not committed" : ""}. ` : "";
  return h("div", { class: "command" }, h("div", { class: "line" }, code, button),
    h("p", { class: "hint" }, at, "Generated data is the same bit for bit on one kind of processor only."));
}

const WORST = 5; // trajectories that are named

/** Errors of all test trajectories, sorted; the worst by name, and where there are more in a colour of their own. */
function trajectories(record, videos, show) {
  const errors = (record.errors ?? []).map((error, i) => ({ error, i })).sort((a, b) => b.error - a.error);
  if (!errors.length) return null;
  const has = (i) => videos.some((video) => video.trajectory === i), marked = errors.length > WORST ? WORST : 0;
  const worst = errors.slice(0, WORST).map(({ error, i }) => h("li", {}, has(i)
    ? h("button", { type: "button", class: "link", onclick: () => show(i) }, `trajectory ${i}: ${number(error)} %`)
    : `trajectory ${i}: ${number(error)} %`));
  const canvas = h("canvas", { role: "img", "aria-label": "Error of every test trajectory, sorted" });
  const draw = () => new Chart(canvas, { type: "bar",
    data: { labels: errors.map(({ i }) => i), datasets: [{ data: errors.map(({ error }) => error),
      backgroundColor: errors.map(({ i }, k) => (k < marked ? colour("warn") : has(i) ? colour("accent") : colour("faint"))) }] },
    options: { ...options(axis("test trajectory", false, { grid: { display: false }, type: "category", ticks: { display: false } }), axis("error, %"),
      ({ raw, label }) => `trajectory ${label}: ${number(raw)} %`), plugins: { legend: { display: false },
      tooltip: { callbacks: { title: () => "", label: ({ raw, label }) => `trajectory ${label}: ${number(raw)} %` } } } } });
  const words = [marked && "Orange in the chart.", videos.length && "Those with a video can be pressed.",
    errors.slice(marked).some(({ i }) => has(i)) && `Blue in the chart: ${marked ? "others" : "those"} with a video.`];
  return { element: h("div", { class: "columns" }, h("div", { class: "canvas small" }, canvas),
    h("div", {}, h("h4", {}, marked ? "Worst trajectories" : "The worst first"), h("ol", { class: "worst" }, worst),
      h("p", { class: "hint" }, words.filter(Boolean).join(" ")))), draw };
}

/** Error of each field of a steady problem, with its interval. */
function fieldErrors({ fields, curve: [, mean, low, high] }) {
  const said = (k) => `${fields[k]}: ${number(mean[k])} % ${interval(low[k], high[k], { unit: "", goal: "" })}`;
  const canvas = h("canvas", { role: "img", "aria-label": `Error of each field: ${fields.map((_, k) => said(k)).join(", ")}` });
  const draw = () => new Chart(canvas, { type: "bar", data: { labels: fields, datasets: [{ data: mean, backgroundColor: colour("accent"), maxBarThickness: 120 }] },
    options: { ...options(axis("field", false, { grid: { display: false }, type: "category", ticks: { color: colour("faint") } }), axis("relative L2, %", false, { beginAtZero: true })),
      plugins: { legend: { display: false }, tooltip: { callbacks: { title: () => "", label: ({ dataIndex }) => said(dataIndex) } } } } });
  return { title: "Error of each field", element: h("div", {}, h("div", { class: "canvas small" }, canvas), h("p", { class: "hint" }, fields.map((_, k) => said(k)).join("; "))), draw };
}

/** Error of each frame with its interval. */
function frameCurve(record) {
  if (!record.curve || !Array.isArray(record.curve[1])) return null;
  if (record.fields) return fieldErrors(record);
  const [, mean, low, high] = record.curve, at = (values) => values.map((y, i) => ({ x: (record.frames ? record.frames[i] : i) + 1, y }));
  const canvas = h("canvas", { role: "img", "aria-label": `Error of each frame: ${mean.map(number).join(", ")} percent` });
  const accent = colour("accent"), bound = { borderWidth: 0, pointRadius: 0, backgroundColor: `${accent}33` };
  const draw = () => new Chart(canvas, { type: "line", data: { datasets: [
    { label: "mean", data: at(mean), borderColor: accent, backgroundColor: accent, borderWidth: 2, pointRadius: mean.length > 20 ? 0 : 3 },
    { label: "low", data: at(low), ...bound }, { label: "high", data: at(high), ...bound, fill: "-1" }] },
    options: { ...options(axis("frame", false, { min: 1, ticks: { color: colour("faint"), precision: 0 } }), axis("relative L2, %", false, { beginAtZero: true })), plugins: { legend: { display: false }, tooltip: { callbacks: {
      title: () => "", label: ({ dataset, raw }) => `${dataset.label}, frame ${raw.x}: ${number(raw.y)} %` } } } } });
  return { title: "Error of each frame", element: h("div", { class: "canvas small" }, canvas), draw };
}
