// Uses the pages of two nmt serve, the second with keys, as a user does, and prints JSON with what
// they showed after each step. Standard input is JSON: "text", of two lines, and "file", its name
// and content. Pictures go to a third argument, a folder.

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import axe from "axe-core";
import { chromium } from "playwright-core";

const [executablePath, url, guarded, pictures] = process.argv.slice(2);
const given = JSON.parse(await text(process.stdin));
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
args.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
const browser = await chromium.launch({ executablePath, args });
const context = await browser.newContext({ viewport: { width: 1100, height: 640 } });
context.setDefaultTimeout(120_000); // on a busy machine
const page = await context.newPage();
const [problems, foreign, found] = [[], [], {}];
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
context.on("request", (request) => {
  const origin = new URL(request.url()).origin;
  if (![url, guarded].includes(`${origin}/`)) foreign.push(request.url());
});

const source = page.getByLabel("Text to translate");
const target = page.getByLabel("Translation", { exact: true });
const line = target.getByRole("button").first();
const alternatives = page.getByRole("region", { name: "Alternatives" }).getByRole("button");
const marked = () => page.locator(".marked").allTextContents();

async function translation() {
  await page.locator('output[aria-busy="false"]').waitFor();
  return target.textContent();
}

async function type(words) {
  await source.fill("");
  await source.pressSequentially(words, { delay: 5 });
}

/** What the page says once it matches; errors of the server are also in the console. */
async function status(pattern) {
  const found = await page.getByRole("status").filter({ hasText: pattern }).textContent();
  while (problems.at(-1)?.startsWith("Failed to load resource")) problems.pop();
  return found;
}

async function check(name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  for (const violation of (await page.evaluate(`${axe.source}; axe.run()`)).violations) {
    problems.push(`${name}: ${violation.help}: ${violation.nodes[0].html}`);
  }
  const [width, most] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (width > most) problems.push(`${name}: ${width} pixels wide`);
}

async function open(address) {
  await page.goto(address);
  await page.locator("#from option").nth(1).waitFor({ state: "attached" });
}

await open(url);
const dropped = page.waitForEvent("requestfailed");
await page.route("**/translate", () => {}, { times: 1 }); // which never answers
await Promise.all([page.waitForRequest("**/translate"), type("Bom")]);
await type(given.text);
found.dropped = (await dropped).failure().errorText;
found.typed = await translation();
const texts = (...ids) => Promise.all(ids.map((id) => page.locator(`#${id}`).textContent()));
found.shown = await texts("count", "model");

await target.locator("[data-word]").nth(1).hover();
found.hovered = await marked();
await check("light");
const word = await page.locator("#echo [data-word]").nth(1).boundingBox();
await page.mouse.move(word.x + word.width / 2, word.y + word.height / 2);
found.hoveredSource = await marked();
await page.mouse.move(0, 0);
await source.press("Control+Home");
await page.locator("#echo .marked").waitFor();
found.cursor = await marked();

await line.click();
await alternatives.first().waitFor();
found.alternatives = await alternatives.allTextContents();
await page.keyboard.press("Escape");
found.hidden = await alternatives.first().isHidden();
await page.keyboard.press("Enter"); // the line has the focus again
await alternatives.nth(1).click();
found.chosen = await target.textContent();
await line.press("Enter");
await alternatives.first().waitFor();
await page.emulateMedia({ colorScheme: "dark" });
await check("dark");
found.dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
await page.setViewportSize({ width: 320, height: 640 });
await check("phone");

await page.getByRole("button", { name: "Swap languages" }).click();
await page.locator('output[aria-busy="true"]').waitFor();
found.swapped = [await source.inputValue(), await translation()];
await page.getByLabel("From").selectOption("auto");
await page.getByLabel("To", { exact: true }).selectOption("en");
await type("Bom dia!");
found.detected = await status("Detected");

const dataTransfer = await page.evaluateHandle(([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name));
  return data;
}, given.file);
await page.dispatchEvent("body", "dragover", { dataTransfer });
await page.dispatchEvent("body", "drop", { dataTransfer });
const downloaded = page.waitForEvent("download");
await page.getByRole("link", { name: "Download" }).click();
const download = await downloaded;
found.file = [download.suggestedFilename(), await readFile(await download.path(), "utf-8")];
await check("file");
const file = { name: "a.doc", mimeType: "", buffer: Buffer.from("a") };
await page.locator("#file").setInputFiles(file);
found.badFile = await status("a.doc: ");

await context.setOffline(true);
await type("a");
found.offline = await status("answer");
await context.setOffline(false);
const refusal = { status: 429, headers: { "Retry-After": "1" }, json: { error: "Slowdown" } };
await page.route("**/translate", (route) => route.fulfill(refusal), { times: 1 });
await type("Bom dia!");
found.slow = await status("Slowdown");
found.later = await translation();

await type("This text is in English, and it stays.");
found.stays = [await status("already"), await translation()];
await page.getByLabel("From").selectOption("pt");
await type("Nobody swapped the languages of this text.");
found.already = await status("already");
await type("Good morning!"); // too short to be certain
await page.locator("#status").filter({ hasText: /^$/ }).waitFor({ state: "attached" });
found.short = (await translation()) !== "";
await source.press("Tab");
await page.keyboard.press("Enter"); // Clear
const cleared = [await source.inputValue(), await translation()];
found.cleared = [...cleared, ...(await texts("status", "count"))];
found.focused = await page.evaluate(() => document.activeElement.id);
await page.getByLabel("From").selectOption("auto");
found.unknown = await texts("model");
await check("cleared");

await page.getByRole("link", { name: "requests" }).click();
await page.getByText("POST /suggest").click();
found.docs = await page.locator("details[open] td").allTextContents();
found.requests = await page.locator("summary code").allTextContents();
await check("docs");

await open(guarded);
await type("Bom dia!");
found.noKey = await status("key");
await page.getByLabel("API key").fill("wrong");
found.wrongKey = await status("Invalid");
await page.getByLabel("API key").fill("sesame");
found.withKey = await translation();
await check("keys");
console.log(JSON.stringify({ ...found, foreign, problems }));
await browser.close();
