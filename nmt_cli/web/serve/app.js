// The page: sends the text to the server as LibreTranslate's clients do, and shows the answer.

import { page, say, showCount } from "./page.js";

const PAUSE = 200; // milliseconds without typing, after which a text is translated
const ALTERNATIVES = 3; // of a line
// A text in another language than the selected one: at least so many characters and so much percent.
const [MIN_DETECTED, CERTAIN] = [20, 80];
const chosen = new Map(); // lines with the alternatives that the user selected, by source
let [languages, models] = [[], []];
let lines = []; // of the translation: { source, text, pairs of spans }
let language = ""; // of the source, if known
let running = new AbortController();
let timer;
let earliest = 0; // when the server takes the next request, after it refused one

/** Returns the server's answer; an error has its message and, in seconds, its Retry-After. */
async function ask(path, fields, signal) {
  const options = { method: "POST", signal };
  if (page.key.value) fields.api_key = page.key.value;
  if (fields.file) {
    options.body = new FormData();
    for (const [name, value] of Object.entries(fields)) options.body.append(name, value);
  } else {
    options.body = JSON.stringify(fields);
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await fetch(path, options).catch((error) => {
    throw signal?.aborted ? error : new Error("The server does not answer");
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const error = new Error(answer.error ?? `The server reports status ${response.status}`);
  error.seconds = Number(response.headers.get("Retry-After"));
  throw error;
}

function report({ message, seconds }) {
  earliest = Date.now() + 1000 * (seconds ?? 0);
  say(`${message}.${seconds ? ` It takes requests again in ${seconds} s.` : ""}`);
}

const languageOf = (code) => languages.find((language) => language.code === code);
const languageName = (code) => languageOf(code)?.name ?? code;
const targetsOf = (code) => languageOf(code)?.targets ?? [];
const make = (name, fields) => Object.assign(document.createElement(name), fields);
const shifted = (span, offset) => span.map((index) => index - offset);

function listItem(element) {
  const item = make("li", {});
  item.append(element);
  return item;
}

/** Splits a text, its translation and the spans of aligned words in them, in code points. */
function linesOf(text, translation, alignments) {
  const translations = translation.split("\n");
  let [start, targetStart, next] = [0, 0, 0];
  return text.split("\n").map((source, number) => {
    const line = { source, text: translations[number], pairs: [] };
    const end = targetStart + [...line.text].length;
    for (; alignments?.[next]?.[1][0] < end; next++) {
      const [span, targetSpan] = alignments[next];
      line.pairs.push([shifted(span, start), shifted(targetSpan, targetStart)]);
    }
    start += [...source].length + 1;
    targetStart = end + 1;
    return line;
  });
}

/** Returns a text as nodes: an element for each word, with a name that aligned words share. */
function withWords(text, words) {
  const [nodes, points] = [[], [...text]];
  let end = 0;
  for (const [name, span] of words) {
    const word = make("span", { textContent: points.slice(...span).join("") });
    word.dataset.word = name;
    nodes.push(points.slice(end, span[0]).join(""), word);
    end = span[1];
  }
  return [...nodes, points.slice(end).join("")];
}

function lineElement(text, words, number) {
  const button = { className: "line", role: "button", ariaExpanded: "false", tabIndex: 0 };
  const element = make("span", text.trim() ? button : {});
  element.dataset.number = number;
  element.append(...withWords(text, words));
  return element;
}

function show(newLines) {
  lines = newLines.map((line) => chosen.get(line.source) ?? line);
  page.echo.replaceChildren();
  page.target.replaceChildren();
  let start = 0;
  lines.forEach(({ source, text, pairs }, number) => {
    // A word's name is its position in the source.
    const words = new Map(pairs.map(([span]) => [start + span[0], span]));
    page.echo.append(...withWords(source, [...words].sort(([one], [other]) => one - other)), "\n");
    const targets = pairs.map(([span, targetSpan]) => [start + span[0], targetSpan]);
    page.target.append(number ? "\n" : "", lineElement(text, targets, number));
    start += [...source].length + 1;
  });
  page.target.ariaBusy = "false"; // screen readers then read it, once
  page.copy.disabled = !page.target.textContent.trim();
}

async function translate() {
  const fields = { q: page.source.value, source: page.from.value, target: page.to.value };
  running = new AbortController();
  const { signal } = running;
  try {
    const answer = fields.q.trim()
      ? await ask("translate", { ...fields, alignments: true }, signal)
      : { translatedText: fields.q };
    const detected = answer.detectedLanguage?.language;
    language = detected ?? language;
    show(linesOf(fields.q, answer.translatedText, answer.alignments));
    showPair();
    const already = (detected ?? (await detect(fields.q, signal))) === fields.target;
    if (signal.aborted) return;
    if (already) say(`The text seems to be in ${languageName(fields.target)} already.`);
    else say(detected ? `Detected language: ${languageName(detected)}` : "");
  } catch (error) {
    if (signal.aborted) return;
    report(error);
    if (error.seconds) schedule();
  }
}

/** Returns the language of a text if that is certain. */
async function detect(q, signal) {
  if ([...q.trim()].length < MIN_DETECTED) return undefined;
  const [likeliest] = await ask("detect", { q }, signal).catch(() => []);
  return likeliest?.confidence >= CERTAIN ? likeliest.language : undefined;
}

/** Translates the text soon; nothing that was in its place before. */
function schedule() {
  showCount();
  running.abort();
  clearTimeout(timer);
  hideChoices();
  page.echo.textContent = `${page.source.value}\n`;
  page.target.ariaBusy = "true";
  timer = setTimeout(translate, Math.max(PAUSE, earliest - Date.now()));
}

/** Hides the alternatives and returns their line. */
function hideChoices() {
  page.choices.hidden = true;
  const line = page.target.querySelector("[aria-expanded=true]");
  if (line) line.ariaExpanded = "false";
  return line;
}

/** Requests the alternatives of a line of the translation, and shows them. */
async function offer(element) {
  if (!element || page.target.ariaBusy === "true" || !getSelection().isCollapsed) return;
  if (hideChoices() === element) return;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const { source } = lines[element.dataset.number];
  const fields = { q: source, source: language, target: page.to.value, alternatives: ALTERNATIVES };
  try {
    const answer = await ask("translate", { ...fields, alignments: true }, signal);
    const texts = [answer.translatedText, ...answer.alternatives];
    const alignments = [answer.alignments, ...answer.alternativeAlignments];
    const choices = texts.map((text, rank) => linesOf(source, text, alignments[rank])[0]);
    showChoices(element, [...new Map(choices.map((line) => [line.text, line])).values()]);
  } catch (error) {
    if (!signal.aborted) report(error);
  }
}

function showChoices(element, choices) {
  const { number } = element.dataset;
  const items = choices.map((line) => {
    const button = make("button", { type: "button", textContent: line.text });
    if (line.text === lines[number].text) button.ariaCurrent = "true";
    button.onclick = () => {
      hideChoices();
      chosen.set(line.source, line);
      show(lines);
      page.target.querySelector(`[data-number="${number}"]`).focus();
    };
    return listItem(button);
  });
  page.others.replaceChildren(...items);
  element.ariaExpanded = "true";
  page.choices.hidden = false;
  page.others.querySelector("button").focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

/** Marks the words of a name in both texts; none without one. */
function mark(name) {
  for (const word of page.panes.querySelectorAll(".marked")) word.classList.remove("marked");
  const words = page.panes.querySelectorAll(`[data-word="${name}"]`);
  for (const word of words) word.classList.add("marked");
}

function markAtCursor() {
  if (document.activeElement !== page.source) return;
  const cursor = [...page.source.value.slice(0, page.source.selectionStart)].length;
  const end = ({ dataset, textContent }) => Number(dataset.word) + [...textContent].length;
  const words = [...page.echo.querySelectorAll("[data-word]")];
  mark(words.find((word) => word.dataset.word <= cursor && cursor <= end(word))?.dataset.word);
}

/** Shows what depends on both languages: the model, and whether they can be swapped. */
function showPair() {
  const target = page.to.value;
  const model = models.find((model) => model.source === language && model.target === target);
  page.model.textContent = model ? `Model: ${model.name}` : "";
  page.swap.disabled = !targetsOf(target).includes(language);
}

/** Offers the languages that the source's can be translated to, one of them selected. */
function showTargets(code) {
  const from = page.from.value;
  const codes =
    from === "auto" ? languages.flatMap(({ targets }) => targets) : targetsOf(from);
  const unique = [...new Set(codes)];
  page.to.replaceChildren(...unique.map((target) => new Option(languageName(target), target)));
  page.to.value = unique.includes(code) ? code : unique[0];
  language = from === "auto" ? "" : from;
  [page.source.lang, page.target.lang] = [language, page.to.value];
  chosen.clear();
  showPair();
  schedule();
}

function swap() {
  const code = language;
  if (page.target.ariaBusy === "false") page.source.value = page.target.textContent;
  page.from.value = page.to.value;
  showTargets(code);
}

async function translateFiles(files) {
  for (const file of files) {
    say(`Translating ${file.name}`);
    const [source, target] = [page.from.value, page.to.value];
    try {
      const answer = await ask("translate_file", { source, target, file });
      // Relative: behind a proxy, the server may not know the address that the browser uses.
      const content = await fetch(`download_file/${answer.translatedFileUrl.split("/").pop()}`);
      const href = URL.createObjectURL(await content.blob());
      const download = `${target}_${file.name}`;
      page.files.append(listItem(make("a", { href, download, textContent: `Download ${download}` })));
      say(`Translated ${file.name}`);
    } catch (error) {
      report({ ...error, message: `${file.name}: ${error.message}` });
    }
  }
}

function listen() {
  const on = (element, name, listener) => element.addEventListener(name, listener);
  on(page.source, "input", schedule);
  on(page.key, "input", schedule);
  on(page.from, "change", () => showTargets(page.to.value));
  on(page.to, "change", () => showTargets(page.to.value));
  on(page.swap, "click", swap);
  on(page.target, "click", (event) => offer(event.target.closest(".line")));
  on(page.target, "keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.target.click();
  });
  on(page.choices, "keydown", ({ key }) => key === "Escape" && hideChoices().focus());
  on(page.panes, "pointermove", ({ clientX, clientY }) => {
    const elements = document.elementsFromPoint(clientX, clientY);
    mark(elements.find((element) => element.dataset.word)?.dataset.word);
  });
  on(page.panes, "pointerleave", () => mark());
  on(page.source, "blur", () => mark());
  on(document, "selectionchange", markAtCursor);
  on(page.open, "click", () => {
    page.file.value = ""; // so that the same file can be selected again
    page.file.click();
  });
  on(page.file, "change", () => translateFiles([...page.file.files]));
  for (const name of ["dragover", "dragleave", "drop"]) on(document, name, drag);
}

function drag(event) {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dropping", event.type === "dragover");
  if (event.type === "drop") translateFiles([...event.dataTransfer.files]);
}

async function start() {
  const get = async (path) => (await fetch(path)).json();
  let settings;
  [settings, languages] = await Promise.all([get("frontend/settings"), get("languages")]);
  const sources = languages.filter(({ targets }) => targets.length);
  const options = sources.map(({ name, code }) => new Option(name, code));
  page.from.replaceChildren(new Option("Auto-detect", "auto"), ...options);
  models = settings.models;
  page.count.dataset.limit = settings.charLimit;
  page.from.value = settings.language.source.code;
  page.keys.hidden = !settings.keyRequired;
  page.file.accept = settings.supportedFilesFormat.join();
  page.formats.textContent = settings.supportedFilesFormat.join(" ");
  listen();
  showTargets(settings.language.target.code);
}

start().catch(() => say("The server does not answer. Reload the page to try again."));
