// The page: shows what worker.js reports, and sends it the text.

import { page, say } from "./page.js";

const PAUSE = 300; // milliseconds without typing, after which a text is translated
let number = 0; // of the latest text
let lines = [""];
let translations = [""];
let timer;

async function nameLanguages() {
  const settings = await (await fetch("nmt_web.json")).json();
  for (const side of ["source", "target"]) {
    page[side].lang = settings[side];
    page[side].labels[0].textContent = settings.names[settings[side]];
  }
  const title = [page.source, page.target].map((pane) => pane.labels[0].textContent).join(" to ");
  document.title = `Translate ${title}`;
  document.querySelector("h1").textContent = title;
}

/** Shows the share of some work that is done; nothing when it is complete. */
function showProgress(share) {
  page.progress.hidden = share >= 1;
  page.progress.value = share;
}

function translate(worker) {
  lines = page.source.value.split("\n");
  translations = translations.slice(0, lines.length);
  page.target.ariaBusy = "true";
  worker.postMessage({ number: ++number, lines });
}

/**
 * Shows what the worker reports: { loaded, total } bytes, then { ready }; of a text's number,
 * { index, text } for each line, then { done }; or { error }.
 */
function receive(data) {
  if (data.error) {
    showProgress(1);
    say(`It does not work: ${data.error}. Reload the page to try again.`);
  } else if (data.total) {
    say(`Loading ${(data.total / 1e6).toFixed(1)} MB`);
    showProgress(Math.min(data.loaded / data.total, 0.99)); // the model has yet to start
  } else if (data.ready) {
    showProgress(1);
    say("Ready");
  } else if (data.number === number) {
    if (!data.done) translations[data.index] = data.text;
    page.target.textContent = translations.join("\n");
    page.copy.disabled = !page.target.textContent;
    showProgress(data.done ? 1 : (data.index + 1) / lines.length);
    // Screen readers then read the whole translation, once.
    if (data.done) page.target.ariaBusy = "false";
  }
}

const worker = new Worker("worker.js", { type: "module" });
worker.onmessage = ({ data }) => receive(data);
worker.onerror = () => receive({ error: "this browser cannot run the translator" });
page.source.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE, worker);
});
navigator.serviceWorker?.register("service-worker.js");
await nameLanguages();
if (page.source.value) translate(worker); // the browser restored it
