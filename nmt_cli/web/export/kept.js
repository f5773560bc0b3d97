// What a translation must contain: numbers, code and addresses, as in nmt_cli/text/kept.py.

import { compiled, hasLetters, matches, replaced } from "./patterns.js";

const isLetter = (character) => /^\p{L}$/u.test(character ?? "");
const isAlphanumeric = (character) => /^[\p{L}\p{N}]$/u.test(character ?? "");
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
const overlaps = (spans, start, end) => spans.some(([first, last]) => first < end && start < last);

/** Finds items of texts and puts them into translations. An item is { start, end, written,
 * isNumber, isHour, standIn }: the first of `written` is what the translation has in its place; of an
 * hour, any of them. */
export class Kept {
  constructor(settings) {
    const { kept, numbers } = settings.constants;
    Object.assign(this, { settings, constants: kept });
    for (const name of ["PLAIN", "EMPHASIS", "RUN", "CODE_EDGES", "DIGITS", "HOUR"]) this[name] = compiled(kept[name]);
    for (const name of ["CODE_MARK", "QUANTITY", "WORD_AFTER", "SCRIPTED"])
      this[name] = compiled(kept[name], false);
    this.numbers = new Numbers(numbers, settings);
    const [source, target] = settings.languages;
    const hasDigits = source.century && target.decimal && !target.century;
    this.century = hasDigits && compiled([kept.CENTURY.replace("{}", source.century), 2]);
  }

  itemsOf(text) {
    const items = [];
    const add = (start, end, written, isNumber, isHour = false, standIn = "") => {
      if (!overlaps(items.map((item) => [item.start, item.end]), start, end))
        items.push({ start, end, written: [...new Set(written)], isNumber, isHour, standIn });
    };
    const code = this.settings.repair_code ? this.#code(text) : [];
    for (const [start, end] of code) add(start, end, [this.#written(text.slice(start, end))], false);
    for (const [start, end, [whole, hour]] of matches(this.HOUR, text)) {
      const hours = [Number(hour), (Number(hour) + 12) % 24].map(String);
      add(start, end, [whole, ...hours, ...hours.map((one) => one.padStart(2, "0"))], true, true);
    }
    for (const [start, end, number] of this.#centuries(text)) add(start, end, [number], false, false, number);
    for (const [start, end, written] of this.numbers.find(text))
      add(start, end, [...written, text.slice(start, end)], true);
    return this.#joined(text, items.toSorted((a, b) => a.start - b.start));
  }

  #written(code) {
    const [number] = code.match(this.SCRIPTED)?.[0] === code ? this.numbers.find(code) : [];
    return number ? number[2][0] + code.slice(number[1]) : code;
  }

  /** Returns [start, end, number] of each Roman numeral after "century". */
  #centuries(text) {
    if (!this.century) return [];
    return matches(this.century, text).flatMap(([start, , [whole, first, second]]) =>
      [first, second ?? ""].flatMap((numeral, index) => {
        const number = this.constants.NUMERALS.indexOf(numeral.toUpperCase());
        const from = start + (index ? whole.length - numeral.length : whole.search(/\s/) + 1);
        return number < 1 ? [] : [[from, from + numeral.length, String(number)]];
      }),
    );
  }

  #joined(text, items) {
    const joined = [];
    for (const item of items) {
      const last = joined.at(-1);
      const between = text.slice(last?.end, item.start);
      const areDigits = [last, item].every((one) => one?.isNumber && one.written.length === 1);
      if (last && (!between || (areDigits && "-/:.".includes(between)))) {
        const written = [last.written[0] + between + item.written[0]];
        joined[joined.length - 1] = { ...last, end: item.end, written, isNumber: false };
      } else joined.push(item);
    }
    return joined;
  }

  #code(text) {
    const spans = matches(this.PLAIN, text).map(([start, end]) => [start, end]);
    const blanked = spans.map(([start, end]) => [start, end, " ".repeat(end - start)]);
    const rest = replaced(text, blanked).replace(this.EMPHASIS, " $1 ");
    for (const [start, , [run]] of matches(this.RUN, rest)) {
      const code = run.replace(this.CODE_EDGES, "");
      if (code.length < this.constants.MIN_CODE || !/^[\x00-\x7f]*$/.test(code)) continue;
      if (!this.CODE_MARK.test(code) || code.match(this.QUANTITY)?.[0] === code) continue;
      const first = start + run.indexOf(code);
      spans.push([first, first + code.length]);
    }
    return spans;
  }

  /** Gives numbers to the items that the model must not read: those beside letters, or all. */
  withStandIns(text, items, all) {
    const free = this.constants.STAND_INS.map(String).filter((number) => !text.includes(number));
    const isHidden = (item) =>
      all || (!item.isNumber && (isLetter(text[item.end]) || isLetter(text[item.start - 1])));
    return items.map((item) => (isHidden(item) ? { ...item, standIn: free.shift() ?? "" } : item));
  }

  #isBeforeWord(text, item) {
    return text.slice(item.end).search(this.WORD_AFTER) === 0;
  }

  /** Returns what the model reads instead of an item. */
  shown(text, item) {
    const before = isLetter(text[item.start - 1]) ? " " : "";
    return before + item.standIn + (this.#isBeforeWord(text, item) ? " " : "");
  }

  /** Puts items into a translation; returns it, and whether it has all of them. */
  restored(source, items, text, capitals) {
    const [taken, edits, missing] = [[], [], []];
    const put = ([start, end], item) => {
      taken.push([start, end]);
      const isAfterLetter = item.standIn && isLetter(source[item.start - 1]);
      if (isAfterLetter && isAlphanumeric(text[start - 2]) && text[start - 1] === " ") start--;
      if (item.standIn && this.#isBeforeWord(source, item) && text[end] === " ") end++;
      if (!item.isHour || item.standIn) edits.push([start, end, item.written[0]]);
    };
    for (const item of items) {
      const forms = item.standIn ? [item.standIn] : item.written;
      const spans = forms.flatMap((form) => this.#find(text, form, item.isNumber || item.standIn));
      spans.push(...this.#numbers(text, item));
      const span = spans.find(([start, end]) => !overlaps(taken, start, end));
      if (span) put(span, item);
      else missing.push(item);
    }
    if (capitals) {
      const words = matches(/[\p{L}\p{N}_]+/gu, text);
      for (const [start, end, [word]] of words)
        if (!overlaps(taken, start, end)) edits.push([start, end, word.toUpperCase()]);
    }
    const rest = text.replace(/[^]/g, (sign, index) => (overlaps(taken, index, index + 1) ? "" : sign));
    const isLeft = items.some(({ standIn }) => standIn && this.#find(rest, standIn, true).length);
    return [replaced(text, edits), !missing.length && !isLeft];
  }

  #find(text, form, isNumber) {
    const [before, after] = isNumber ? ["(?<!\\p{Nd})(?<!\\p{Nd}[.,])", "(?!\\p{Nd}|[.,]\\p{Nd})"] : ["", ""];
    return form ? matches(new RegExp(before + escaped(form) + after, "gu"), text) : [];
  }

  /** Returns where a translation has a number with other separators. */
  #numbers(text, item) {
    const digits = (number) => number.replace(/\P{Nd}/gu, "");
    if (!item.isNumber || item.standIn) return [];
    return matches(this.DIGITS, text).filter(([, , [raw]]) => digits(raw) === digits(item.written[0]));
  }
}

/** Finds numbers, and writes them as the target language does, as nmt_cli/text/numbers.py. */
class Numbers {
  constructor(constants, settings) {
    [this.source, this.target] = settings.languages;
    for (const name of ["COORDINATES"]) this[name] = compiled(constants[name]);
    for (const name of ["JOINED_BEFORE", "JOINED_AFTER", "VERSION", "NAME"])
      this[name] = compiled(constants[name], false);
    this.run = compiled(settings.numbers[0]);
    this.number = compiled(settings.numbers[1], false);
  }

  /** Returns [start, end, written] of each run of digits. */
  find(text) {
    const fixed = matches(this.COORDINATES, text);
    const converts = this.source.decimal && this.target.decimal;
    return matches(this.run, text).map(([start, end, [raw]]) => {
      const isFixed = fixed.some(([first, last]) => first <= start && end <= last);
      const match = converts ? raw.match(this.number) : null;
      if (match?.[0] !== raw || isFixed || this.#isOther(text, start, end)) return [start, end, [raw]];
      return [start, end, this.#written(raw, match.groups, text.slice(Math.max(0, start - 40), start))];
    });
  }

  #written(raw, parts, before) {
    const { decimal, group } = this.target;
    if (parts.grouped) {
      const groups = parts.grouped.split(/\P{Nd}/u);
      const isAddress = groups.length === 4 && groups.every((digits) => Number(digits) < 256);
      const decimals = parts.decimals ? decimal + parts.decimals : "";
      return [isAddress ? raw : groups.join(group) + decimals];
    }
    const final = parts.plain + decimal + parts.rest;
    // A comma never separates the parts of a version.
    if (this.source.decimal !== ".") return [final];
    const name = before.match(this.NAME);
    if (this.VERSION.test(before) || name?.groups.inner) return [raw];
    return name ? [raw, final] : [final];
  }

  /** Returns whether digits are part of something that is no number. */
  #isOther(text, start, end) {
    const number = text.slice(start, end);
    const before = text.slice(Math.max(0, start - 20), start).match(this.JOINED_BEFORE);
    const after = text.slice(end).match(this.JOINED_AFTER);
    const isAfter = after?.index === 0;
    if (before?.groups.sign) return !isRange(before.groups.number, number, before.groups.sign);
    if (isAfter && after.groups.sign) return !isRange(number, after.groups.number, after.groups.sign);
    return Boolean(before || isAfter);
  }
}

function isRange(first, last, sign) {
  const [low, high] = [first, last].map((number) => Number(number.replace(/\P{Nd}/gu, "")));
  return "-–".includes(sign) && low < high && first[0] !== "0" && last[0] !== "0";
}
