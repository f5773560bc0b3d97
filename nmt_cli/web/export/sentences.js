// Splits lines into what is translated by itself, as nmt_cli/text/sentences.py does.

import { compiled, isUpper, matches } from "./patterns.js";

const INITIALS = /^(?:[\p{L}\p{N}_]{1,2}\.)+[\p{L}\p{N}_]{1,2}$/u;
const LETTER = /^\p{L}$/u;

/** The sentences and clauses of texts of a language. */
export class Sentences {
  /** The constants are those of Python's module, and [pattern, flags] for patterns. */
  constructor(constants, language, splits) {
    Object.assign(this, { constants, splits });
    this.abbreviations = new Set(language.abbreviations);
    this.numbered = new Set(language.numbered);
    const names = ["SEPARATOR", "END", "LAST_WORD", "LABEL", "CLAUSE", "SPACE", "NUMBER"];
    this.patterns = Object.fromEntries(names.map((name) => [name, compiled(constants[name])]));
  }

  /** Returns the spans of what is translated by itself. */
  texts(line) {
    let start = 0;
    const spans = [];
    // Without capitals, every sentence begins in lower case.
    this.isLower = line === line.toLowerCase() && line !== line.toUpperCase();
    for (const [first, last] of [...matches(this.patterns.SEPARATOR, line), [line.length, 0]]) {
      if (first > start) spans.push(...this.#sentences(line, start, first));
      start = Math.max(start, last);
    }
    return spans;
  }

  #sentences(line, start, end) {
    const spans = [];
    if (!this.splits) return [[start, end]];
    for (const [first, last] of matches(this.patterns.LABEL, line, start, end).slice(0, 1)) {
      if (!this.#isLabel(line.slice(start, first), line.slice(last, end))) continue;
      spans.push([start, first]);
      start = last;
    }
    for (const [, last, match] of matches(this.patterns.END, line, start, end)) {
      const space = last - match.groups.space.length;
      if (!this.#ends(line, start, match, space, last, end)) continue;
      spans.push([start, space]);
      start = last;
    }
    return [...spans, [start, end]];
  }

  #isLabel(before, after) {
    const isLong = (word) => word.length >= this.constants.MIN_LETTERS;
    return (before.match(/\p{L}+/gu) ?? []).some(isLong) && isUpper(before) && !isUpper(after);
  }

  #ends(line, start, match, space, last, end) {
    let following = line.slice(last, last + 80);
    while (following && this.constants.OPENING.includes(following[0])) following = following.slice(1);
    const mayBeLower = this.isLower && [".", "!", "?"].includes(match.groups.stop);
    if (!following || (/^\p{Ll}/u.test(following) && !mayBeLower)) return false;
    if (match.groups.stop === "." && this.#isShort(line, start, match.index, following)) return false;
    return this.#isBalanced(line, start, match.index, space, last, end);
  }

  #isShort(line, start, stop, following) {
    const [[first]] = matches(this.patterns.LAST_WORD, line.slice(Math.max(start, stop - 40), stop));
    const word = line.slice(Math.max(start, stop - 40) + first, stop);
    const lower = word.toLowerCase();
    if (this.abbreviations.has(lower)) return true;
    if (this.numbered.has(lower) && following.search(this.patterns.NUMBER) === 0) return true;
    return (LETTER.test(word) && isUpper(word)) || INITIALS.test(lower);
  }

  #isBalanced(line, start, stop, space, last, end) {
    const { PAIRS, MAX_INNER } = this.constants;
    const text = line.slice(Math.max(start, stop - MAX_INNER), space);
    const later = line.slice(last, Math.min(end, last + MAX_INNER));
    const count = (sign) => text.split(sign).length - 1;
    for (const [opening, closing] of Object.entries(PAIRS)) {
      if (count(opening) > count(closing) && !text.startsWith(opening)) return !later.includes(closing);
    }
    return count('"') % 2 === 0 || text.startsWith('"') || !later.includes('"');
  }

  /** Returns the spans of clauses. */
  clauses(text) {
    const gaps = [[0, 0], ...matches(this.patterns.CLAUSE, text), [text.length]];
    return gaps.slice(1).map(([end], index) => [gaps[index][1], end]);
  }

  /** Cuts a text into short ones: near its middle, between clauses or words, or anywhere. */
  cut(text, isShort) {
    const [spans, waiting] = [[], [[0, text.length]]];
    while (waiting.length) {
      const [start, end] = waiting.pop();
      if (end - start < 2 || isShort(start, end)) {
        spans.push([start, end]);
        continue;
      }
      const [middle, size] = [(start + end) / 2, end - start];
      let gap = [Math.floor(middle), Math.floor(middle)];
      for (const [name, share] of [["CLAUSE", 0.3], ["SPACE", 0.5]]) {
        const gaps = matches(this.patterns[name], text, start + 1, end - 1);
        const near = gaps.toSorted((a, b) => Math.abs(a[0] - middle) - Math.abs(b[0] - middle))[0];
        if (!near || Math.abs(near[0] - middle) > share * size) continue;
        gap = near;
        break;
      }
      waiting.push([gap[1], end], [start, gap[0]]);
    }
    return spans;
  }
}
