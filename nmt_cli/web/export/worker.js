// Loads the model and translates, so that the page stays responsive. Messages are described at
// `receive` in app.js; the page sends { number, lines }, and the highest number is the latest.

import * as ort from "./onnxruntime.js";
import { Translator } from "./translator.js";

const MAX_CACHED = 2000; // translations
const folder = new URL("./", self.location.href);
const translations = new Map(); // by line
let latest; // number of a text

async function load() {
  const settings = await (await fetch(new URL("nmt_web.json", folder))).json();
  const total = Object.values(settings.sizes).reduce((a, b) => a + b);
  let loaded = 0;
  const add = (bytes) => self.postMessage({ loaded: (loaded += bytes), total });
  const files = new Map(); // both tokenizers may be one file
  const read = (name) => {
    if (!files.has(name)) files.set(name, download(name, settings, add));
    return files.get(name);
  };
  ort.env.wasm.numThreads = 1; // more need HTTP headers that few servers send
  ort.env.wasm.wasmBinary = await read("onnxruntime.wasm");
  const translator = await Translator.load(ort, settings, read);
  self.postMessage({ ready: true });
  return translator;
}

/** Returns a file, from the cache that service-worker.js also uses, or from the server. */
async function download(name, settings, add) {
  const url = new URL(`${name}?${settings.version}`, folder);
  // Only pages of https or localhost have caches.
  const cache = await self.caches?.open(`nmt ${folder} ${settings.version}`);
  const cached = await cache?.match(url);
  const response = cached ?? (await fetch(url));
  if (!response.ok) throw new Error(`${name}: the server answers ${response.status}`);
  const bytes = new Uint8Array(settings.sizes[name]);
  const reader = response.body.getReader();
  let size = 0;
  for (let chunk; !(chunk = await reader.read()).done; size += chunk.value.length) {
    if (size + chunk.value.length > bytes.length) break;
    bytes.set(chunk.value, size);
    add(chunk.value.length);
  }
  if (size !== bytes.length) throw new Error(`${name}: incomplete, or of another version`);
  // Where there is not enough space, the page works online only.
  if (!cached) await cache?.put(url, new Response(bytes)).catch(() => {});
  return bytes;
}

async function translate(translator, { number, lines }) {
  for (const [index, line] of lines.entries()) {
    if (!translations.has(line)) translations.set(line, await translator.translate(line));
    self.postMessage({ number, index, text: translations.get(line) });
    if (translations.size > MAX_CACHED) translations.delete(translations.keys().next().value);
    await new Promise((resolve) => setTimeout(resolve)); // a newer text may have arrived
    if (number !== latest) return;
  }
  self.postMessage({ number, done: true });
}

const fail = (error) => self.postMessage({ error: error.message });
const loading = load();
loading.catch(fail);
self.onmessage = async ({ data }) => {
  latest = data.number;
  const translator = await loading;
  if (data.number === latest) await translate(translator, data).catch(fail);
};
