// Types the text of standard input into the page of a URL, and prints JSON: "shown", the
// translation; "offline", the translation after a reload without a network; "title"; "foreign", the
// requests to other servers; "problems", the errors of the page.

import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
const given = await text(process.stdin);
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
args.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
const browser = await chromium.launch({ executablePath, args });
const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
const page = await context.newPage();
const [problems, foreign] = [[], []];
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
context.on("request", (request) => {
  if (new URL(request.url()).origin !== new URL(url).origin) foreign.push(request.url());
});

async function translation() {
  const timeout = 120_000; // loading included, on a busy machine
  await page.locator("h1", { hasText: " to " }).waitFor({ timeout });
  const [source, target] = await page.locator("label").allTextContents();
  await page.getByLabel(source).fill(given);
  const output = page.getByLabel(target);
  await page.locator('output[aria-busy="true"]').waitFor({ timeout });
  await page.locator('output[aria-busy="false"]').waitFor({ timeout });
  return output.textContent();
}

await page.goto(url);
const shown = await translation();
const title = await page.title();
const width = await page.evaluate(() => document.documentElement.scrollWidth);
if (width > 360) problems.push(`${width} pixels wide`);
await page.evaluate(() => navigator.serviceWorker.ready);
await context.setOffline(true);
await page.reload();
const offline = await translation();
console.log(JSON.stringify({ shown, offline, title, foreign, problems }));
await browser.close();
