// Reads [settings, examples] as JSON; prints the ids of each example's line and the final
// translation. Arguments: the folder of text.js and, if ids matter, the model of the tokenizer.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [folder, model] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, name)));
const { TextPath } = await load("text.js");
const { SentencePiece } = await load("sentencepiece.js");
const tokenizer = model ? new SentencePiece(await readFile(model)) : { encode: () => [5] };
const [settings, examples] = await json(process.stdin);
const results = examples.map((example) => {
  const path = new TextPath({ ...settings, ...example.settings }, tokenizer);
  const { parts, write } = path.read(example.line);
  return { ids: parts, final: write(example.model_writes) };
});
console.log(JSON.stringify(results));
