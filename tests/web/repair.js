// Reads [settings, pairs of a source and its translation] as JSON; prints the repaired translations.

import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { repairer } = await import(pathToFileURL(process.argv[2]));
const [settings, pairs] = await json(process.stdin);
const repair = repairer(settings);
console.log(JSON.stringify(pairs.map(([source, translation]) => repair(source, translation))));
