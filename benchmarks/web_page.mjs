// Translates the text of standard input with the page of a URL; prints JSON with seconds and text.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const [packages, executablePath, url] = process.argv.slice(2);
const { chromium } = createRequire(packages)("playwright-core");
const given = await text(process.stdin);
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
const browser = await chromium.launch({ executablePath, args });
const page = await browser.newPage();
page.setDefaultTimeout(600_000);
const since = (began) => (performance.now() - began) / 1000;

let began = performance.now();
await page.goto(url);
await page.getByText("Ready", { exact: true }).waitFor();
const loading = since(began);
await page.locator("textarea").first().fill(given);
await page.locator('output[aria-busy="true"]').waitFor();
began = performance.now();
await page.locator('output[aria-busy="false"]').waitFor();
const translating = since(began);
const shown = await page.locator("output").first().textContent();
console.log(JSON.stringify({ loading, translating, text: shown }));
await browser.close();
