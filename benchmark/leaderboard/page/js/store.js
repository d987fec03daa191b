// What the page holds: small things at once, large ones when somebody looks.

const DATA = JSON.parse(document.getElementById("data").textContent);
const decoded = new Map(); // number of a chunk -> promise of what is in it

/** The bytes of a chunk: base64, then deflate. */
async function readBytes(number) {
  const text = atob(document.getElementById(`c${number}`).textContent);
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The value of a chunk that holds JSON, decoded once. */
function readJson(number) {
  if (!decoded.has(number)) {
    decoded.set(number, readBytes(number).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))));
  }
  return decoded.get(number);
}
