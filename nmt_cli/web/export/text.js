// The text path: what happens to a line before the source tokenizer and after the target one, as in
// nmt_cli/text/path.py, without what needs attention. tests/vectors/text_path.json has examples.

import { Kept } from "./kept.js";
import { compiled, found, hasLetters, isTitle, isUpper, matches, replaced } from "./patterns.js";
import { Sentences } from "./sentences.js";

const [UNKNOWN, END] = [1, 3];
const [WHOLE, STAND_INS, PIECES] = [0, 1, 2];
const CLOSING = { "(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "„": "“", '"': '"' };
const OPENING = Object.fromEntries(Object.entries(CLOSING).map(([open, close]) => [close, open]));

/** Returns a span without white space, opening signs at its start, and closing ones at its end,
 * whose other halves are elsewhere. */
function withoutEdges(text, start, end) {
  const inner = text.slice(start, end);
  start += inner.length - inner.trimStart().length;
  end = start + inner.trim().length;
  const isHalf = (sign, pairs, rest) => pairs[sign] && !rest.includes(pairs[sign]);
  while (start < end && isHalf(text[start], CLOSING, text.slice(start + 1, end))) start++;
  while (start < end && isHalf(text[end - 1], OPENING, text.slice(start, end - 1))) end--;
  return [start, end];
}

/** The path of a model's lines and translations. */
export class TextPath {
  /**
   * @param {object} settings - `text` of nmt_web.json: `constants` are those of Python's modules
   * @param {SentencePiece} tokenizer - of the source
   */
  constructor(settings, tokenizer) {
    const { sentences, steps, reading } = settings.constants;
    const path = { ...reading, ...settings.constants.path };
    Object.assign(this, { settings, tokenizer, path, steps });
    this.patterns = {};
    for (const constants of [steps, path])
      for (const [name, value] of Object.entries(constants))
        if (typeof value?.[0] === "string" && typeof value[1] === "number")
          this.patterns[name] = compiled(value);
    this.word = compiled(reading.WORD);
    this.blank = new RegExp(`^${settings.blank}$`, "u");
    this.sentences = new Sentences(sentences, settings.languages[0], settings.split_sentences);
    this.kept = new Kept(settings);
  }

  /**
   * Translates a line; a blank one stays as it is.
   * @param search - returns, for ids with END, a promise of { text, sum, mean }: a translation and
   *   the sum and mean of the log-probabilities of its tokens
   */
  async translate(line, search) {
    if (this.blank.test(line)) return line;
    let [text, wasRead] = ["", false];
    for (const part of await this.#translated(this.#units(line, this.sentences.texts(line), WHOLE), search)) {
      if (wasRead && part.isRead && (text.at(-1) ?? "") < this.path.WIDE) text += " ";
      text += part.text;
      wasRead = part.isRead;
    }
    return text;
  }

  /** Returns { text, isRead } of each unit, or of its parts. */
  async #translated(units, search) {
    const parts = [];
    for (const unit of units) {
      if (!unit.ids) parts.push(unit);
      else parts.push(...(await this.#translatedUnit(unit, search)));
    }
    return parts;
  }

  async #translatedUnit(unit, search) {
    const first = await search(unit.ids);
    const [text, isComplete] = this.#written(unit, first.text);
    if (!isComplete) {
      const units = this.#again(unit);
      if (units.length) return this.#translated(units, search);
      return [hasLetters(first.text) ? { text, isRead: true } : { text: unit.raw, isRead: false }];
    }
    const isDoubtful = first.mean < this.path.CERTAIN || this.#copies(unit, text);
    const other = this.settings.set_off_signs && isDoubtful && this.#second(unit);
    if (!other) return [{ text, isRead: true }];
    const second = await search(other.ids);
    const [otherText, isOtherComplete] = this.#written(other, second.text);
    const isBetter = this.#copies(unit, first.text, false)
      ? second.sum > first.sum - this.path.MAX_LOSS
      : second.mean > first.mean;
    return [{ text: isOtherComplete && isBetter ? otherText : text, isRead: true }];
  }

  /** Returns the final translation of a unit, and whether it is complete. */
  #written(unit, translation) {
    let text = translation.replace(this.patterns.LINE_BREAK, " ");
    for (const edit of unit.after) text = edit(text);
    const { source, items } = unit;
    let isComplete;
    [text, isComplete] = this.kept.restored(source, items, text, unit.capitals);
    if (items.length && unit.attempt !== PIECES)
      isComplete &&= source.toLowerCase() !== text.toLowerCase();
    return [text, isComplete && this.#hasWords(source, text)];
  }

  #hasWords(source, translation) {
    const { WIDE, WIDE_LETTERS, MIN_LETTERS, MIN_SHARE } = this.path;
    const [there, letters] = [translation, source].map((text) =>
      (text.match(/\p{L}/gu) ?? []).reduce((sum, sign) => sum + (sign >= WIDE ? WIDE_LETTERS : 1), 0),
    );
    return there > 0 && (letters < MIN_LETTERS || there >= MIN_SHARE * letters);
  }

  #copies({ source }, translation, capitals = true) {
    const words = matches(this.patterns.COPIED, source)
      .map(([, , match]) => match.slice(1).find(Boolean))
      .filter((word) => capitals || !isUpper(word));
    const isSame = source.toLowerCase() === translation.toLowerCase();
    return isSame || words.some((word) => translation.includes(word));
  }

  /** Reads a unit in another way, since its translation was not complete. */
  #again(unit) {
    const { source, items } = unit;
    if (unit.attempt === PIECES) return [];
    if (unit.attempt === WHOLE && items.length)
      return this.#units(source, [[0, source.length]], STAND_INS);
    let spans = this.sentences.clauses(source);
    if (items.length) {
      const bounds = [...items.map(({ start }) => start), source.length];
      spans = bounds.map((end, index) => [index ? items[index - 1].end : 0, end]);
    } else if (spans.length === 1) return [];
    return this.#units(source, spans, PIECES);
  }

  #second(unit) {
    if (unit.read.trim().split(/\s+/).length > this.path.MAX_WORDS) return null;
    const [second] = this.#encoded(this.#unit(unit.raw, unit.attempt, true));
    return second.read === unit.read || second.isCut ? null : second;
  }

  #units(text, spans, attempt) {
    return this.#parts(text, spans, attempt).flatMap((unit) => this.#encoded(unit));
  }

  /** Returns units without ids for parts of a text, and for what is between them. */
  #parts(text, spans, attempt) {
    const units = [];
    let done = 0;
    for (const span of [...spans, [text.length, text.length]]) {
      const [start, end] = withoutEdges(text, ...span);
      if (done < start) units.push(this.#unit(text.slice(done, start), null));
      if (start < end) units.push(this.#unit(text.slice(start, end), attempt));
      done = Math.max(end, done);
    }
    return units;
  }

  /** Reads a text; without an attempt, or words, it stays, but for its numbers. */
  #unit(raw, attempt, isSecond = false) {
    const isShown = attempt === null || !hasLetters(raw);
    const source = isShown ? raw : raw.replace(this.patterns.INVISIBLE, "");
    let items = this.kept.itemsOf(source);
    if (isShown || !this.#isLanguage(source, items)) {
      const edits = items.map(({ start, end, written }) => [start, end, written[0]]);
      return { text: replaced(source, edits), isRead: false };
    }
    items = this.kept.withStandIns(source, items, attempt === STAND_INS);
    const unit = { raw, source, items, attempt, edits: [], capitals: false, after: [] };
    if (this.settings.fold_capitals) this.#foldCapitals(unit);
    this.#keepEllipses(unit);
    if (isSecond) {
      this.#setOffSigns(unit);
      this.#setOffSlashes(unit);
      this.#foldLabels(unit);
    }
    const hidden = items.filter(({ standIn }) => standIn);
    const edits = hidden.map((item) => [item.start, item.end, this.kept.shown(source, item)]);
    return { ...unit, read: replaced(source, [...unit.edits, ...edits]) };
  }

  #isLanguage(text, items) {
    const { LONG, MIN_LANGUAGE } = this.path;
    const rest = replaced(text, items.map(({ start, end }) => [start, end, " "]));
    if (text.length <= LONG) return hasLetters(rest);
    const words = matches(this.patterns.LANGUAGE, rest);
    const letters = words.reduce((sum, [start, end]) => sum + end - start, 0);
    return letters >= MIN_LANGUAGE * text.replaceAll(" ", "").length;
  }

  /** Adds ids to a unit that the model reads, and cuts it if it is too long. */
  #encoded(unit) {
    if (unit.isRead === false) return [unit];
    const ids = this.tokenizer.encode(unit.read);
    const longest = this.settings.max_source;
    if (ids.length <= longest) return [{ ...unit, ids: [...(ids.length ? ids : [UNKNOWN]), END] }];
    const { PARTS, PART_TOKENS } = this.path;
    const limit = Math.min(longest, Math.max(Math.floor(longest / PARTS), PART_TOKENS));
    const partsOf = (spans) => this.#parts(unit.raw, spans, unit.attempt);
    const isShort = (...span) =>
      partsOf([span]).every(({ read }) => !read || this.tokenizer.encode(read).length <= limit);
    return partsOf(this.sentences.cut(unit.raw, isShort)).map((part) =>
      part.read ? { ...part, isCut: true, ids: [...this.tokenizer.encode(part.read), END] } : part,
    );
  }

  // The steps, as in nmt_cli/text/steps.py.

  #words({ source, items }) {
    const isFree = ([start, end]) => !items.some((item) => item.start < end && start < item.end);
    return matches(this.word, source).filter(isFree);
  }

  #foldCapitals(unit) {
    const words = this.#words(unit);
    if (!words.some(([start, end]) => end - start >= this.steps.MIN_LETTERS)) return;
    if (!words.every(([, , [word]]) => isUpper(word))) return;
    unit.capitals = true;
    const [[start, end, [first]], ...others] = words;
    unit.edits.push([start, end, first[0] + first.slice(1).toLowerCase()]);
    for (const [from, to, [word]] of others) unit.edits.push([from, to, word.toLowerCase()]);
  }

  #keepEllipses(unit) {
    const { ELLIPSIS, ELLIPSES } = this.patterns;
    const signs = unit.source.match(ELLIPSIS);
    if (!signs) return;
    const sign = signs.includes("…") ? "…" : signs[0];
    unit.after.push((text) => text.replace(ELLIPSES, sign));
    if (/[.…]$/.test(unit.source) && found(ELLIPSIS, unit.source.slice(-2)))
      unit.after.push((text) => text.replace(/[.…]*$/, "") + sign);
  }

  #setOffSigns(unit) {
    const { source, items } = unit;
    let isSetOff = false;
    for (const [start, end, [signs]] of matches(this.patterns.OPENING, source)) {
      const word = matches(this.word, source, end).find(([first]) => first === end)?.[2][0];
      if (!word || items.some((item) => item.start < end && start < item.end)) continue;
      const [joined, apart] = [signs + word, `${signs} ${word}`].map((text) => this.tokenizer.encode(text));
      if (joined.length <= apart.length) continue;
      unit.edits.push([end, end, " "]);
      isSetOff = true;
    }
    if (isSetOff) unit.after.push((text) => text.replace(this.patterns.SPACE_AFTER_SIGN, "$1"));
  }

  #setOffSlashes(unit) {
    const { SLASH, SPACED_SLASH } = this.patterns;
    const slashes = matches(SLASH, unit.source).filter(
      ([start, end]) => !unit.items.some((item) => item.start < end && start < item.end),
    );
    if (!slashes.length) return;
    unit.edits.push(...slashes.map(([start, end]) => [start, end, " / "]));
    unit.after.push((text) => text.replace(SPACED_SLASH, "/"));
  }

  #foldLabels(unit) {
    const words = this.#words(unit);
    const isLong = ([, , [word]]) => word.length > 1;
    unit.capitals ||= words.some(isLong) && words.every(([, , [word]]) => isUpper(word));
    if (!words.length || words.length > this.steps.MAX_LABEL) return;
    const isSentence = unit.source.search(this.patterns.SENTENCE) >= 0;
    if ((!isTitle(words[0][2][0]) || isSentence) && !unit.capitals) return;
    for (const [start, end, [word]] of words) {
      const lower = word.toLowerCase();
      const [capitalized, folded] = [word[0].toUpperCase() + lower.slice(1), lower].map(
        (text) => this.tokenizer.encode(text).length,
      );
      if (isTitle(word) && folded === 1 && capitalized > 1) unit.edits.push([start, end, lower]);
    }
    if (unit.capitals)
      unit.edits = words.map(([start, end, [word]]) => [start, end, word.toLowerCase()]);
    unit.after.push((text) => text.replace(this.patterns.FIRST, (first) => first.toUpperCase()));
  }
}
