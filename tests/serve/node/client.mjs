// What DeepL's client for Node gets from a server: node client.mjs URL KEY FOLDER
import * as deepl from "deepl-node";
import { readFile, writeFile } from "node:fs/promises";

const [url, key, folder] = process.argv.slice(2);
const client = new deepl.DeepLClient(key, { serverUrl: url, maxRetries: 0 });
const found = {};

async function message(promise) {
    try {
        await promise;
        return "";
    } catch (error) {
        return `${error.constructor.name}: ${error.message}`;
    }
}

found.text = await client.translateText("proton beam", null, "de");
found.list = (await client.translateText(["proton beam", "feixe de prótons"], null, "fr")).map(
    (result) => [result.text, result.detectedSourceLang, result.billedCharacters],
);
const markup = await client.translateText("<p>My First Heading</p>", "en", "de", {
    tagHandling: "html",
    splitSentences: "nonewlines",
    modelType: "latency_optimized",
});
found.markup = [markup.text, markup.modelTypeUsed];
found.usage = (await client.getUsage()).character.count > 0;
found.sources = (await client.getSourceLanguages()).map((language) => language.code).slice(0, 3);
found.formality = (await client.getTargetLanguages()).some((one) => one.supportsFormality);
found.pairs = (await client.getGlossaryLanguagePairs()).length > 0;

const entries = new deepl.GlossaryEntries({ entries: { proton: "Proton" } });
const glossary = await client.createGlossary("node", "en", "de", entries);
found.glossary = [glossary.name, glossary.entryCount, glossary.sourceLang, glossary.targetLang];
found.entries = (await client.getGlossaryEntries(glossary)).entries();
found.listed = (await client.listGlossaries()).map((one) => one.name);
found.terms = (await client.translateText("proton", "en", "de", { glossary })).text;
await client.deleteGlossary(glossary);
found.deleted = await message(client.getGlossary(glossary.glossaryId));

const several = await client.createMultilingualGlossary("several", [
    { sourceLangCode: "en", targetLangCode: "de", entries },
    { sourceLangCode: "de", targetLangCode: "en", entries },
]);
await client.updateMultilingualGlossaryName(several, "renamed");
const id = several.glossaryId;
const more = new deepl.GlossaryEntries({ entries: { beam: "Strahl" } });
const dictionary = { sourceLangCode: "en", targetLangCode: "de", entries: more };
await client.updateMultilingualGlossaryDictionary(id, dictionary);
const both = await client.getMultilingualGlossaryDictionaryEntries(id, "en", "de");
found.both = Object.keys(both.entries.entries()).sort();
await client.replaceMultilingualGlossaryDictionary(id, dictionary);
await client.deleteMultilingualGlossaryDictionary(id, "de", "en");
const left = await client.getMultilingualGlossary(id);
found.left = [left.name, left.dictionaries.map((one) => [one.sourceLangCode, one.entryCount])];
await client.deleteMultilingualGlossary(id);

await writeFile(`${folder}/in.txt`, "proton beam\n");
const status = await client.translateDocument(`${folder}/in.txt`, `${folder}/out.txt`, "en", "de");
found.document = [status.status, await readFile(`${folder}/out.txt`, "utf8")];
found.wrong = await message(client.translateText("proton beam", "en", "xx"));
console.log(JSON.stringify(found));
