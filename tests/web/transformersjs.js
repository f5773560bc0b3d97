// Tokenizes and translates texts with a folder of `nmt export --transformersjs`.

import { text } from "node:stream/consumers";
import { dirname, basename } from "node:path";
import { env, pipeline } from "@huggingface/transformers";

const [folder, dtype] = process.argv.slice(2);
env.allowRemoteModels = false;
env.localModelPath = dirname(folder) + "/";
const translate = await pipeline("translation", basename(folder), { dtype });
const found = [];
for (const line of JSON.parse(await text(process.stdin))) {
  const [{ translation_text }] = await translate(line, { max_new_tokens: 40 });
  found.push([translate.tokenizer.encode(line), translation_text]);
}
console.log(JSON.stringify(found));
