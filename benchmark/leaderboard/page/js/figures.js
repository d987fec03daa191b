// Three figures of a column: error against cost, error over time, error against compute.

const chosen = { column: "", cost: "fit_seconds", timeColumn: "", running: "frame", curve: "", axis: "seconds" };

function figuresView() {
  const figures = [paretoFigure(), timeFigure(), computeFigure()];
  const view = h("section", { id: "view-figures", class: "view", "aria-label": "Figures", hidden: true }, figures.map((figure) => figure.frame));
  watchers.push((changed) => {
    if (state.view === "figures" && (changed.has("view") || !changed.has("cell"))) for (const figure of figures) figure.draw();
  });
  return view;
}

/** Columns that pass the filters, as choices; the one chosen, or another that there is. */
function columnChoices(test = () => true) {
  return profile().columns.flatMap((column, i) => (columnShown(column) && test(i)
    ? [[String(i), `${column.datasetLabel}, ${taskName(column)}`]] : []));
}

const kept = (value, options, first = options[0]) => (options.some(([key]) => key === value) ? value : first?.[0] ?? "");

// -- error against cost

function paretoFigure() {
  const controls = (draw) => {
    const columns = columnChoices();
    chosen.column = kept(chosen.column, columns);
    return [choice("Column", columns, chosen.column, (value) => { chosen.column = value; draw(); }, "pareto-column"),
      choice("Cost", Object.entries(COSTS).map(([key, [text]]) => [key, text]), chosen.cost, (value) => { chosen.cost = value; draw(); }, "pareto-cost")];
  };
  return figureFrame("pareto", "Error against cost", controls, buildPareto);
}

async function buildPareto() {
  const column = profile().columns[chosen.column];
  if (!column) return { note: "No column passes the filters." };
  const places = (await placesOf(metricName()))[chosen.column];
  const [title, show] = COSTS[chosen.cost], metric = profile().metrics[metricName()];
  const points = column.entries.flatMap((entry, j) => {
    const x = entry.costs?.[chosen.cost], y = places[j].value;
    return methodShown(profile().methods[j]) && x > 0 && y !== null ? [{ x, y, j, place: places[j] }] : [];
  });
  if (!points.length) return { note: `No method that passes the filters has a number and the cost "${title}" there.` };
  const isError = metric?.unit === "%" && metric.goal === "low", isLog = points.every((point) => point.y > 0);
  if (isError) for (const point of points) point.y = Math.max(point.y, NEGLIGIBLE);
  const front = metric?.goal === "low" ? frontier(points) : [];
  const datasets = points.map((point) => line(point.j, profile().methods[point.j].label, [point], { type: "scatter", named: true, pointRadius: 6 }));
  datasets.push({ label: "lowest at that cost", type: "line", data: front, stepped: "before", borderColor: colour("faint"), borderWidth: 1.2, borderDash: [3, 3], pointRadius: 0, pointHitRadius: 0 });
  const tip = ({ raw }) => (raw.place ? `${profile().methods[raw.j].label}: ${raw.place.text} ${raw.place.interval}, ${show(raw.x)}` : "");
  return {
    config: { type: "scatter", data: { datasets }, plugins: [namePoints], options: options(axis(title, true, around(points.map(({ x }) => x))),
      axis(metric?.unit ? `${metric.title}, ${metric.unit}` : metric?.title ?? "", isLog, isLog ? around(points.map(({ y }) => y)) : {}), tip) },
    note: "References are dull and hollow; the dashed line is the lowest error at each cost. Seconds are the processor's on a CPU, the clock's on a GPU. "
      + "What costs nothing, such as the training of a method that is not trained, has no place on the axis.",
    header: ["method", metric?.title ?? "", "95 % interval", title],
    rows: points.map((point) => [profile().methods[point.j].label, point.place.text, point.place.interval, show(point.x)]),
  };
}

/** Those that nobody beats at their cost or less. */
function frontier(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y), front = [];
  for (const { x, y } of sorted) if (!front.length || y < front.at(-1).y) front.push({ x, y });
  const last = sorted.at(-1);
  return front.length ? [...front, { x: last.x, y: front.at(-1).y }] : front;
}

// -- error over time

function timeFigure() {
  const controls = (draw) => {
    const columns = columnChoices((i) => profile().curves[i] !== null);
    const long = columns.find(([i]) => profile().columns[i].task === "long_range");
    chosen.timeColumn = kept(chosen.timeColumn, columns, long ?? columns[0]);
    return [choice("Column", columns, chosen.timeColumn, (value) => { chosen.timeColumn = value; draw(); }, "time-column"),
      profile().columns[chosen.timeColumn]?.fields ? "" : choice("Shown", [["frame", "each frame"], ["mean", "mean of the first n frames"]], chosen.running, (value) => { chosen.running = value; draw(); }, "time-shown")];
  };
  return figureFrame("time", "Error over time, long range", controls, buildTime);
}

async function buildTime() {
  const chunk = profile().curves[chosen.timeColumn];
  if (chunk === undefined || chunk === null) return { note: "No column that passes the filters has an error for each frame." };
  const curves = (await readJson(chunk)).map((curve, j) => ({ curve, j })).filter(({ curve, j }) => curve && methodShown(profile().methods[j]));
  const { fields } = profile().columns[chosen.timeColumn], isMean = chosen.running === "mean" && !fields;
  const lines = curves.map(({ curve: [frames, mean], j }) => line(j, profile().methods[j].label, timePoints(frames, isMean ? runningMean(mean) : mean), { pointRadius: sparse, showLine: !fields }));
  const title = fields ? "field" : isMean ? "mean of the first n frames" : "frame", at = (x) => fields?.[x - 1] ?? String(x);
  const drawn = lines.filter((one) => one.data.some((point) => point.y !== null)), values = drawn.flatMap((one) => one.data.map((point) => point.y).filter(Boolean));
  if (!drawn.length) return { note: "No method that passes the filters has an error to draw there." };
  const exact = lines.filter((one) => !drawn.includes(one)).map((one) => one.label);
  const longest = Math.max(...lines.map((one) => one.data.length));
  return {
    config: { type: "line", data: { datasets: drawn }, options: options(fields ? fieldAxis(fields) : axis(title, false, { min: 1 }), axis("relative L2, %", true, around(values)),
      ({ dataset, raw }) => `${dataset.label}, ${title} ${at(raw.x)}: ${number(raw.y)} %`) },
    note: `Mean over test trajectories (and seeds) of the relative L2 error of a frame; errors below ${NEGLIGIBLE} % are not drawn`
      + `${exact.length ? ` (throughout: ${exact.join(", ")})` : ""}.${fields ? " This problem is steady: it has fields, and no time." : ""}`,
    header: ["method", ...Array.from({ length: longest }, (_, i) => at(i + 1))],
    rows: lines.map((one) => [one.label, ...one.data.map((point) => (point.y === null ? `<${NEGLIGIBLE}` : number(point.y)))]),
  };
}

const fieldAxis = (names) => axis("field", false, { min: 1, max: names.length,
  ticks: { color: colour("faint"), stepSize: 1, callback: (value) => names[value - 1] ?? "" } });

function timePoints(frames, values) {
  return values.map((y, i) => ({ x: (frames ? frames[i] : i) + 1, y: y < NEGLIGIBLE ? null : y }));
}

/** Of long curves a marker at every fifth point. */
const sparse = ({ dataset, dataIndex }) => (dataset.data.length <= 12 || dataIndex % 5 === 4 ? 4 : 0);

const runningMean = (values) => values.map((_, n) => values.slice(0, n + 1).reduce((sum, value) => sum + value, 0) / (n + 1));

// -- error against compute

function computeFigure() {
  const controls = (draw) => {
    const curves = computeCurves().map((curve, i) => [String(i), `${curve.datasetLabel}, ${taskName(curve)}`]);
    if (!curves.length) return [];
    chosen.curve = kept(chosen.curve, curves);
    return [choice("Column", curves, chosen.curve, (value) => { chosen.curve = value; draw(); }, "compute-column"),
      choice("Compute", [["seconds", "seconds of a fit"], ["flop", "FLOP of a fit"]], chosen.axis, (value) => { chosen.axis = value; draw(); }, "compute-axis")];
  };
  return figureFrame("compute", "Error against compute", controls, buildCompute);
}

const computeCurves = () => profile().compute.filter((curve) => passes(curve.dataset, state.datasets) && passes(curve.task, state.tasks));

async function buildCompute() {
  const curve = computeCurves()[Number(chosen.curve)];
  if (!curve) return { note: "There are no fits at other budgets than the profile's own. Make some: python -m benchmark curve --method fno --task cont_3 --budgets 0.2,1,5" };
  const groups = Map.groupBy ? Map.groupBy(curve.points, (point) => point.method) : grouped(curve.points);
  const place = (name) => Math.max(0, profile().methods.findIndex((method) => method.name === name || method.name === name.split(" @ ")[0]));
  const known = (point) => point[chosen.axis] > 0 && point.mean !== null;
  const lines = [...groups].map(([name, points]) => line(place(name), points[0].label,
    points.filter(known).map((point) => ({ x: point[chosen.axis], y: point.mean, point }))));
  const all = lines.flatMap((one) => one.data.map((point) => point.x));
  if (!all.length) return { note: "The fits have no such cost in their records." };
  const levels = curve.references.filter((level) => level.mean !== null).map((level) => line(place(level.method), level.label,
    Object.values(around(all)).map((x) => ({ x, y: Math.max(level.mean, NEGLIGIBLE) })), { pointRadius: 0 }));
  const errors = [...lines, ...levels].flatMap((one) => one.data.map((point) => point.y));
  const tip = ({ dataset, raw }) => (raw.point ? `${dataset.label}, budget ${raw.point.budget}: ${number(raw.y)} % [${number(raw.point.low)}, ${number(raw.point.high)}]` : `${dataset.label}: ${number(raw.y)} %`);
  return {
    config: { type: "line", data: { datasets: [...lines, ...levels] }, options: options(
      axis(chosen.axis === "flop" ? "FLOP of a fit" : "seconds of a fit", true, around(all)), axis("relative L2, %", true, around(errors)), tip) },
    notes: curve.notes,
    header: ["method", "budget", "error %", "95 % interval", "seconds", "FLOP"],
    rows: curve.points.map((point) => [point.label, String(point.budget), number(point.mean), `[${number(point.low)}, ${number(point.high)}]`, number(point.seconds), compact(point.flop ?? 0)]),
  };
}

function grouped(points) {
  const groups = new Map();
  for (const point of points) groups.set(point.method, [...(groups.get(point.method) ?? []), point]);
  return groups;
}
