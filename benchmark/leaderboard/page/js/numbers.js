// Numbers as the tables print them.

const DASH = "—", ALIKE = "†", NEGLIGIBLE = 0.01;

/** Three significant digits, without an exponent where it can be helped. */
function number(value) {
  if (value === null || value === undefined) return DASH;
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e6)) {
    return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 || size === 0 ? 2 : 4);
  }
  return value.toExponential(1);
}

/** A value of a metric: errors that are alike where methods are compared look alike. */
function score(value, metric) {
  const isError = metric.unit === "%" && metric.goal === "low";
  return isError && value !== null && value < NEGLIGIBLE ? `<${NEGLIGIBLE}` : number(value);
}

function interval(low, high, metric) {
  return low === null || low === undefined ? "" : `[${score(low, metric)}, ${score(high, metric)}]`;
}

const count = (value) => (value === null || value === undefined ? DASH : Math.round(value).toLocaleString("en"));

/** a, b, ..., z, aa, ab, ... */
function letter(index) {
  const head = Math.floor(index / 26);
  return (head ? letter(head - 1) : "") + String.fromCharCode(97 + (index % 26));
}

/** 1200 -> 1.2 k: for the ticks of an axis. */
function compact(value) {
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(0);
  return value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
}

const COSTS = {
  fit_seconds: ["training, seconds", number],
  fit_flop: ["training, FLOP", compact],
  predict_seconds: ["prediction, seconds a trajectory", number],
  parameters: ["parameters", count],
  evaluations: ["network evaluations", count],
  peak_memory_mb: ["peak memory, MB", count],
};
