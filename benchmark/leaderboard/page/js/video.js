// Videos as the page stores them (fields.py): bytes back to values, values to pixels.

/** Truth, prediction, error and readings of a video, each (C, T, H, W) in one Float32Array. */
async function readVideo(meta) {
  const [truth, error, seen] = await Promise.all([readBytes(meta.truth), readBytes(meta.error), readBytes(meta.seen)]);
  const size = meta.shape.reduce((product, n) => product * n, 1);
  unfilter(truth, meta.shape);
  unfilter(error, meta.shape);
  const video = { meta, truth: new Float32Array(size), error: new Float32Array(size), prediction: new Float32Array(size), observed: new Float32Array(size) };
  const plane = meta.shape[2] * meta.shape[3], frames = meta.shape[1];
  for (let i = 0, reading = Math.ceil(size / 8); i < size; i++) {
    const group = groupOf(meta, Math.floor(i / (plane * frames)), Math.floor(i / plane) % frames);
    const step = (group.high - group.low) / 255;
    video.truth[i] = group.low + truth[i] * step;
    video.error[i] = ((error[i] - 128) * group.scale) / 127;
    video.prediction[i] = video.truth[i] + video.error[i];
    const isSeen = (seen[i >> 3] >> (7 - (i & 7))) & 1;
    video.observed[i] = isSeen ? group.low + seen[reading++] * step : NaN;
  }
  return video;
}

/** The bounds of a channel, or of a channel at a frame where each frame is a field of its own. */
function groupOf(meta, channel, frame) {
  const at = (bounds) => bounds[channel][bounds[channel].length === 1 ? 0 : frame];
  return { low: at(meta.low), high: at(meta.high), scale: at(meta.scale), least: at(meta.least), end: at(meta.end) };
}

/** The inverse of differences to the left and to the upper neighbour: sums down, then to the right, modulo 256. */
function unfilter(levels, [, , height, width]) {
  for (let start = 0; start < levels.length; start += height * width) {
    for (let i = width; i < height * width; i++) levels[start + i] += levels[start + i - width];
    for (let i = 0; i < height * width; i++) if (i % width) levels[start + i] += levels[start + i - 1];
  }
}

const ONE_SIGN = 0.05; // of the range: a field that leaves zero less than this on one side has one sign

/** The map and the limits of a panel at a frame: truth, observation and prediction share theirs; all methods of a cell's
 *  task and dataset share those of errors (error_scale.py), so that two of them can be compared by eye. */
function scaleOf(meta, channel, frame, panel, logarithmic) {
  const { low, high, scale, least, end } = groupOf(meta, channel, frame);
  const range = high - low;
  if (panel === "error") return { map: "error", low: logarithmic ? least : 0, high: end, clips: scale > end, logarithmic };
  if (low >= -ONE_SIGN * range || high <= ONE_SIGN * range) return { map: "positive", low, high };
  const most = Math.max(-low, high);
  return { map: "signed", low: -most, high: most };
}

/** One frame of a panel, a pixel a point; what was not seen is left clear. */
function paint(canvas, video, panel, channel, frame, { map, low, high, logarithmic }) {
  const [, frames, height, width] = video.meta.shape, start = (channel * frames + frame) * height * width;
  const table = colours(map), part = logarithmic ? (value) => Math.log(value / low) / Math.log(high / low) : (value) => (value - low) / (high - low);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true }), image = context.createImageData(width, height);
  const answered = video.meta.answered[frame] || panel === "truth" || panel === "observed";
  for (let i = 0; i < height * width; i++) {
    const value = panel === "error" ? Math.abs(video.error[start + i]) : video[panel][start + i];
    if (Number.isNaN(value) || !answered) continue;
    const level = high > low ? Math.round(Math.min(1, Math.max(0, part(value))) * 255) : 0;
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = table[3 * level + k];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

const SHARPEST = 480; // pixels along a side of what is drawn between points

/** A line around what is seen of a frame: a reading near zero has about the colour of what is left clear. */
function outline(canvas, video, channel, frame) {
  const [, frames, height, width] = video.meta.shape, start = (channel * frames + frame) * height * width;
  const step = Math.ceil(SHARPEST / Math.max(height, width)), context = canvas.getContext("2d");
  const isSeen = (y, x) => y >= 0 && x >= 0 && y < height && x < width && !Number.isNaN(video.observed[start + y * width + x]);
  canvas.width = step * width;
  canvas.height = step * height;
  if (!video.observed.subarray(start, start + height * width).some(Number.isNaN)) return;
  context.beginPath();
  for (let i = 0; i < height * width; i++) {
    const y = Math.floor(i / width), x = i % width;
    if (!isSeen(y, x)) continue;
    for (const [dy, dx] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
      if (isSeen(y + dy, x + dx)) continue;
      const top = y + (dy > 0), left = x + (dx > 0);
      context.moveTo(step * left, step * top);
      context.lineTo(step * (left + (dx === 0)), step * (top + (dy === 0)));
    }
  }
  context.strokeStyle = colour("text");
  context.lineWidth = (1.3 * step * width) / 240; // a little more than one pixel of a page as wide as most
  context.lineCap = "square";
  context.stroke();
}

/** The colours of a map from left to right. */
function paintBar(canvas, map) {
  const table = colours(map), context = canvas.getContext("2d"), image = context.createImageData(256, 1);
  canvas.width = 256;
  canvas.height = 1;
  for (let i = 0; i < 256; i++) image.data.set([table[3 * i], table[3 * i + 1], table[3 * i + 2], 255], 4 * i);
  context.putImageData(image, 0, 0);
}
