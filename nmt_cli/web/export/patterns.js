// The patterns of nmt_cli/text/, which the settings have as Python writes them, for JavaScript.

const LETTERS = "[\\p{L}\\p{Nl}\\p{No}]";
const SETS = { w: "\\p{L}\\p{N}_", d: "\\p{Nd}", s: "\\s\\x1c-\\x1f\\x85" };
const ANCHORS = {
  A: "^",
  Z: "$",
  b: `(?:(?<=[${SETS.w}])(?![${SETS.w}])|(?<![${SETS.w}])(?=[${SETS.w}]))`,
};
const [IGNORE_CASE, VERBOSE] = [2, 64]; // flags of Python

/** Returns a pattern of Python, which is [text, flags], as a RegExp. */
export function compiled([pattern, flags], isGlobal = true) {
  const text = pattern.replaceAll("[^\\W\\d_]", LETTERS).replaceAll("[^\\W\\d]", `(?:${LETTERS}|_)`);
  let inClass = false;
  const converted = text.replace(/\\(.)|\(\?P<|[[\]]|\s/gsu, (token, escaped) => {
    if (escaped) {
      const set = SETS[escaped];
      if (set) return inClass ? set : `[${set}]`;
      if (SETS[escaped.toLowerCase()]) return `[^${SETS[escaped.toLowerCase()]}]`;
      if (ANCHORS[escaped]) return ANCHORS[escaped];
      const isKept = /[\p{L}\p{N}^$\\.*+?()[\]{}|/]/u.test(escaped) || (inClass && escaped === "-");
      return isKept ? token : escaped;
    }
    if (token === "(?P<") return "(?<";
    if (token === "[" || token === "]") {
      const isLiteral = inClass === (token === "[");
      if (!isLiteral) inClass = token === "[";
      return isLiteral ? `\\${token}` : token;
    }
    return flags & VERBOSE && !inClass ? "" : token;
  });
  return new RegExp(converted, `u${isGlobal ? "g" : ""}${flags & IGNORE_CASE ? "i" : ""}`);
}

/** Returns all matches of a global pattern in part of a text, as [start, end, match]. */
export function matches(pattern, text, start = 0, end = text.length) {
  pattern.lastIndex = start;
  const all = [...text.slice(0, end).matchAll(pattern)];
  pattern.lastIndex = 0;
  return all.map((match) => [match.index, match.index + match[0].length, match]);
}

/** Returns whether a global pattern matches somewhere. */
export const found = (pattern, text) => text.search(pattern) >= 0;

/** Replaces parts of a text: [start, end, new text], without overlaps. */
export function replaced(text, edits) {
  let [result, done] = ["", 0];
  for (const [start, end, added] of edits.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    result += text.slice(done, start) + added;
    done = end;
  }
  return result + text.slice(done);
}

export const hasLetters = (text) => /\p{L}/u.test(text);
export const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();
export const isTitle = (text) => isUpper(text[0]) && text.slice(1) === text.slice(1).toLowerCase();
