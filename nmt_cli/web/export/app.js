// The page: shows what worker.js reports, and sends it the text.

const PAUSE = 300; // milliseconds without typing, after which a text is translated
const names = ["source", "target", "status", "progress", "copy"];
const [source, target, status, progress, copy] = names.map((id) => document.getElementById(id));
let number = 0;
let shown = [""];
let lines = [""];
let timer;

function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code; // a recipe may have names that are no language codes
  }
}

async function nameLanguages() {
  const settings = await (await fetch("nmt_web.json")).json();
  for (const element of [source, target]) {
    element.lang = settings[element.id];
    element.labels[0].textContent = languageName(element.lang);
  }
  const title = [source, target].map((element) => element.labels[0].textContent).join(" to ");
  document.title = `Translate ${title}`;
  document.querySelector("h1").textContent = title;
}

/** Shows the share of some work that is done; nothing when it is complete. */
function showProgress(share) {
  progress.hidden = share >= 1;
  progress.value = share;
}

function translate(worker) {
  lines = source.value.split("\n");
  shown = shown.slice(0, lines.length);
  target.setAttribute("aria-busy", "true");
  worker.postMessage({ number: ++number, lines });
}

/**
 * Shows what the worker reports: { loaded, total } bytes, then { ready }; of a text's number,
 * { place, text } for each line, then { done }; or { error }.
 */
function receive(data) {
  if (data.error) {
    showProgress(1);
    status.textContent = `It does not work: ${data.error}. Reload the page to try again.`;
  } else if (data.total) {
    // The same text each time: screen readers read what changes.
    const text = `Loading ${(data.total / 1e6).toFixed(1)} MB`;
    if (status.textContent !== text) status.textContent = text;
    showProgress(Math.min(data.loaded / data.total, 0.99)); // the model has yet to start
  } else if (data.ready) {
    showProgress(1);
    status.textContent = "Ready";
  } else if (data.number === number) {
    if (!data.done) shown[data.place] = data.text;
    target.textContent = shown.join("\n");
    copy.disabled = !target.textContent;
    showProgress(data.done ? 1 : (data.place + 1) / lines.length);
    // Screen readers then read the whole translation, once.
    if (data.done) target.setAttribute("aria-busy", "false");
  }
}

async function copyTranslation() {
  await navigator.clipboard.writeText(target.textContent);
  status.textContent = "Copied";
}

const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => receive(data);
worker.onerror = () => receive({ error: "this browser cannot run the translator" });
source.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE, worker);
});
copy.addEventListener("click", copyTranslation);
copy.hidden = !navigator.clipboard; // pages of https or localhost have one
navigator.serviceWorker?.register("service-worker.js");
await nameLanguages();
if (source.value) translate(worker); // which the browser kept
