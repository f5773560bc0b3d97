// What both pages share: elements by id, the status, and the button that copies the translation.

const elements = [...document.querySelectorAll("[id]")];
export const page = Object.fromEntries(elements.map((element) => [element.id, element]));

/** Shows a status; screen readers read it when it changes. */
export function say(text) {
  if (page.status.textContent !== text) page.status.textContent = text;
}

page.copy.hidden = !navigator.clipboard; // only pages of https or localhost have one
page.copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(page.target.textContent);
  say("Copied");
});
