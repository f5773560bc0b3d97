// Reads [settings, line, model] for each of several lines as JSON; prints what the model reads, text
// to ids, and the final translations. A model maps texts to [translation, mean score]; texts that it
// does not have become the model's "".
// Arguments: the folder of text.js, and the model of the tokenizer.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [folder, model] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, name)));
const { TextPath } = await load("text.js");
const { SentencePiece } = await load("sentencepiece.js");
const tokenizer = new SentencePiece(await readFile(model));
const results = [];
for (const [settings, line, written] of await json(process.stdin)) {
  const reads = {};
  const search = async (ids) => {
    const read = tokenizer.decode(ids.slice(0, -1));
    reads[read] = ids;
    const [text, mean] = written[read] ?? written[""];
    return { text, sum: mean * ([...text].length + 1), mean };
  };
  const final = await new TextPath(settings, tokenizer).translate(line, search);
  results.push({ reads, final });
}
console.log(JSON.stringify(results));
