// Translates the lines of standard input with a folder of `nmt export --web`.

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import * as ort from "onnxruntime-node";

if (process.argv.length !== 3) {
  console.error("usage: node translate.js FOLDER < FILE");
  process.exit(2);
}
const folder = resolve(process.argv[2]);
const read = (name) => readFile(join(folder, name));
const { Translator } = await import(pathToFileURL(join(folder, "translator.js")));
const translator = await Translator.load(ort, JSON.parse(await read("nmt_web.json")), read);

const lines = (await text(process.stdin)).split("\n");
if (lines.at(-1) === "") lines.pop();
for (const line of lines) console.log(await translator.translate(line.replace(/\r$/, "")));
