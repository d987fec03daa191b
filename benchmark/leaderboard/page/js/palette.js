// Colours: of methods those of Okabe and Ito and of Paul Tol, of fields maps in order of lightness.

const HUES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288", "#B8A44C"];
const DARK_HUES = ["#4AA8E0", "#FF8A4C", "#2CC79A", "#E9A3C9", "#F5B93F", "#8FD0F5", "#D1719F", "#C9C95E", "#9C8CE8", "#DACB7C"];
const GREYS = ["#5b6472", "#8a6d3b", "#3f7d7d", "#8f5f8f", "#4f7a3f", "#a0522d", "#7a8794"]; // of references
const DARK_GREYS = ["#aab4c4", "#cfae74", "#7fc4c4", "#cfa0cf", "#9cc98a", "#dd9673", "#c3ccd8"];
const DASHES = [[5, 4], [2, 2], [9, 3], [9, 3, 2, 3], [4, 2, 1, 2], [12, 4], [1, 3]];
const POINTS = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];

/** A colour and a marker for the method in that place, its own on the whole page; references are dull and dashed. */
function lookOf(place) {
  const { kind } = profile().methods[place], isReference = kind === "reference";
  const among = profile().methods.slice(0, place).filter((method) => method.kind === kind).length;
  const hues = isReference ? (isDark() ? DARK_GREYS : GREYS) : (isDark() ? DARK_HUES : HUES);
  const point = POINTS[(isReference ? among : Math.floor(among / hues.length)) % POINTS.length];
  return { colour: hues[among % hues.length], point, dash: isReference ? DASHES[among % DASHES.length] : [], hollow: isReference };
}

// RdBu_r, cividis and magma_r of matplotlib, every eleventh colour or so.
const MAPS = {
  signed: "053061 10457e 1c5c9f 2a71b2 3783bb 4997c5 6bacd1 8ac0db a7d0e4 c2ddec d7e8f1 e7f0f4 f7f6f6 f9ebe3 fcdfcf fbccb4 f7b799 f19e7d e48066 d86551 c94741 ba2832 a51429 840924 67001f",
  positive: "00224e 002a5f 003170 1a386f 2a3f6d 38476c 434e6c 4d556c 575d6d 61656f 6a6c71 737475 7d7c78 868379 918b78 9b9476 a59c74 b0a571 bcae6c c6b667 d2c060 dec958 e9d34e f6dd3f fee838",
  error: "fcfdbf fdebac fed799 fec287 feb078 fd9b6b fb8761 f8745c f1605d e55064 d8456c c73d73 b5367a a5317e 932b80 812581 721f81 601880 4f127b 3f0f72 2c115f 1c1044 100b2d 050416 000004",
};
const tables = new Map();

/** 256 colours (r, g, b one after another), between those named above. */
function colours(name) {
  if (!tables.has(name)) tables.set(name, spread(MAPS[name].split(" ")));
  return tables.get(name);
}

function spread(anchors) {
  const rgb = anchors.map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const table = new Uint8ClampedArray(768);
  for (let i = 0; i < 256; i++) {
    const where = (i / 255) * (rgb.length - 1), left = Math.min(Math.floor(where), rgb.length - 2);
    for (let k = 0; k < 3; k++) table[3 * i + k] = rgb[left][k] + (where - left) * (rgb[left + 1][k] - rgb[left][k]);
  }
  return table;
}
