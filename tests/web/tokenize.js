// Reads [lines, sequences of ids] as JSON; prints the ids of the lines and the texts of the ids.

import { readFile } from "node:fs/promises";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [script, model] = process.argv.slice(2);
const { SentencePiece } = await import(pathToFileURL(script));
const tokenizer = new SentencePiece(await readFile(model));
const [lines, sequences] = await json(process.stdin);
const ids = lines.map((line) => tokenizer.encode(line));
console.log(JSON.stringify([ids, sequences.map((each) => tokenizer.decode(each))]));
