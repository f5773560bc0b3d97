// The text path: what happens to a line before the source tokenizer and after the target one, as in
// nmt_cli/text/path.py. tests/vectors/text_path.json has examples.

const [UNKNOWN, END] = [1, 3];

// The setting that switches a step on, and the step, in the order of lines. With the settings, a
// step makes a function of a line and whether an earlier step changed it; that returns the line as
// the next step gets it and, if the translation is to be edited, how.
const STEPS = [
  ["fold_capitals", foldCapitals],
  ["repair_code", repairCode],
];

/** The path of a model's lines and translations. */
export class TextPath {
  /**
   * @param {object} settings - `text` of nmt_web.json
   * @param {SentencePiece} tokenizer - of the source
   */
  constructor(settings, tokenizer) {
    this.tokenizer = tokenizer;
    this.maxSource = settings.max_source;
    this.blank = new RegExp(`^${settings.blank}$`, "u");
    this.sentenceEnd = new RegExp(settings.sentence_end, "g");
    this.steps = STEPS.filter(([name]) => settings[name]).map(([, step]) => step(settings));
  }

  /** Returns { parts, write }: the ids of each part of a line, END included, and a function that
   * makes the line's translation from the translations of its parts. A blank line has no part. */
  read(line) {
    let text = line;
    const edits = [];
    for (const step of this.steps) {
      const [changed, edit] = step(text, text !== line);
      text = changed;
      if (edit) edits.unshift(edit);
    }
    const parts = this.blank.test(line) ? [] : this.#parts(text);
    const write = (translations) => {
      const joined = parts.length ? translations.join(" ") : line;
      // Byte tokens can spell a line break.
      return edits.reduce((edited, edit) => edit(edited), joined.replace(/[\r\n]+/g, " "));
    };
    return { parts: parts.map((ids) => [...ids, END]), write };
  }

  #parts(text) {
    const ids = this.tokenizer.encode(text);
    if (ids.length <= this.maxSource) return [ids.length ? ids : [UNKNOWN]];
    const sentences = text.replace(this.sentenceEnd, "$1\n").split("\n");
    return sentences.flatMap((sentence) => {
      const sentenceIds = this.tokenizer.encode(sentence);
      const count = Math.ceil(sentenceIds.length / this.maxSource);
      const size = Math.ceil(sentenceIds.length / count);
      return Array.from({ length: count }, (_, part) =>
        sentenceIds.slice(part * size, (part + 1) * size),
      );
    });
  }
}

/** Lets the model read a line in capitals in lower case; its translation gets capitals. */
function foldCapitals({ capitals }) {
  const code = new RegExp(capitals.code, "u");
  return (line) => {
    const letters = line.match(/\p{L}/gu)?.length ?? 0;
    const isUpper = line === line.toUpperCase() && line !== line.toLowerCase();
    const isFolded = isUpper && letters >= capitals.min_letters && !code.test(line);
    return isFolded ? [line.toLowerCase(), (text) => text.toUpperCase()] : [line];
  };
}

/** Corrects code, addresses and long numbers of a line that its translation misspells. */
function repairCode({ code: settings }) {
  const runs = new RegExp(settings.run, "gu");
  const mark = new RegExp(settings.mark, "u");
  const edges = new RegExp(settings.edges, "gu");

  function piecesOf(text) {
    const trimmed = [...text.matchAll(runs)].map((match) => {
      const code = match[0].replace(edges, "");
      return { code, start: match.index + match[0].indexOf(code) };
    });
    return trimmed.filter(
      ({ code }) =>
        code.length >= settings.min_characters && /^[\x00-\x7f]*$/.test(code) && mark.test(code),
    );
  }

  function repaired(source, translation) {
    const known = new Set(piecesOf(source).map(({ code }) => code));
    const pieces = piecesOf(translation);
    const written = new Set(pieces.map(({ code }) => code));
    const lost = [...known].filter((code) => !written.has(code));
    const wrong = pieces.filter(({ code }) => !known.has(code));
    if (Math.max(lost.length, wrong.length) > settings.max_pieces) return translation;
    // It may still be a part of longer code of the translation.
    const missing = lost.filter((code) => !translation.includes(code));
    const pairs = missing.flatMap((right) =>
      wrong.map(({ code, start }) => ({ right, code, start, common: commonShare(right, code) })),
    );
    pairs.sort((one, other) => other.common - one.common);
    const [used, edits] = [new Set(), new Map()];
    for (const pair of pairs) {
      if (pair.common < settings.min_common || used.has(pair.right)) continue;
      if (edits.has(pair.start)) continue;
      used.add(pair.right);
      edits.set(pair.start, pair);
    }
    for (const start of [...edits.keys()].sort((one, other) => other - one)) {
      const { code, right } = edits.get(start);
      translation = translation.slice(0, start) + right + translation.slice(start + code.length);
    }
    return translation;
  }

  return (line, isChanged) => (isChanged ? [line] : [line, (text) => repaired(line, text)]);
}

/** Returns the share of the longer text's characters that both begin and end with. */
function commonShare(one, other) {
  const [shorter, longer] = [one.length, other.length].sort((a, b) => a - b);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  return (start + end) / longer;
}
