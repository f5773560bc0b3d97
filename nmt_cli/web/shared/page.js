// What both pages share: elements by id, the status, the number of characters, and the buttons that
// clear the text and copy the translation.

const elements = [...document.querySelectorAll("[id]")];
export const page = Object.fromEntries(elements.map((element) => [element.id, element]));

/** Shows a status; screen readers read it when it changes. */
export function say(text) {
  if (page.status.textContent !== text) page.status.textContent = text;
}

/** Shows the number of the text's characters, of at most a limit, if there is one. */
export function showCount() {
  const format = (number) => Number(number).toLocaleString("en");
  const [size, limit] = [[...page.source.value].length, page.count.dataset.limit];
  page.count.textContent = `Characters: ${format(size)}${limit ? ` of ${format(limit)}` : ""}`;
  page.count.classList.toggle("over", size > limit); // never without a limit
  page.clear.disabled = !size;
}

page.source.addEventListener("input", showCount);
page.clear.addEventListener("click", () => {
  page.source.value = "";
  page.source.dispatchEvent(new Event("input"));
  page.source.focus();
});
showCount(); // the browser may have restored a text
page.copy.hidden = !navigator.clipboard; // only pages of https or localhost have one
page.copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(page.target.textContent);
  say("Copied");
});
