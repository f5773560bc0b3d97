// SentencePiece's tokenizer: reads its .model files, and splits and joins text exactly as it does.
// Follows normalizer.cc, unigram_model.cc, bpe_model.cc and sentencepiece_processor.cc of
// https://github.com/google/sentencepiece; sums are rounded to float32 where it rounds them.

const SPACE = "▁";
const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6];
const [BPE, CHARACTERS] = [2, 4]; // without merges, BPE splits text into characters
const UNKNOWN_PENALTY = 10;
const MIN_LARGEST_SCORE = 2 ** -126; // where SentencePiece starts to look for the largest score

// Bytes of a UTF-8 character by the first four bits.
const LENGTHS = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A tokenizer. Texts are one line; ids are those of the .model file. */
export class SentencePiece {
  /** @param {Uint8Array} bytes - a .model file */
  constructor(bytes) {
    const model = message(bytes);
    const trainer = message(model.get(2)[0]);
    const normalizer = message(model.get(3)[0]);
    this.pieces = model.get(1).map((fields) => {
      const piece = message(fields);
      const score = piece.has(2) ? view(piece.get(2)[0]).getFloat32(0, true) : 0;
      return { text: decoder.decode(piece.get(1)[0]), score, type: piece.get(3)?.[0] ?? NORMAL };
    });
    this.isBpe = [BPE, CHARACTERS].includes(trainer.get(3)?.[0]);
    this.fallsBackToBytes = Boolean(trainer.get(35)?.[0]);
    this.unknownText = trainer.has(44) ? decoder.decode(trainer.get(44)[0]) : " ⁇ ";
    this.hasPrefix = Boolean(normalizer.get(3)?.[0] ?? 1);
    this.removesSpaces = Boolean(normalizer.get(4)?.[0] ?? 1);
    this.charsmap = normalizer.get(2)?.[0].length ? new Charsmap(normalizer.get(2)[0]) : null;
    this.#index();
  }

  #index() {
    const normal = this.pieces.filter(({ type }) => type === NORMAL);
    const scores = normal.map(({ score }) => score);
    const largest = scores.reduce((a, b) => Math.max(a, b), MIN_LARGEST_SCORE);
    this.unknownScore = Math.fround(
      scores.reduce((a, b) => Math.min(a, b), Infinity) - UNKNOWN_PENALTY,
    );
    this.unknown = this.pieces.findIndex(({ type }) => type === UNKNOWN);
    this.ids = new Map(); // of pieces that text may contain
    this.bytes = new Map();
    this.symbols = [];
    for (const [id, { text, type }] of this.pieces.entries()) {
      if (type === BYTE) this.bytes.set(parseInt(text.slice(3, 5), 16), id);
      if (![NORMAL, USER_DEFINED, UNUSED].includes(type)) continue;
      this.ids.set(text, id);
      if (type === USER_DEFINED) {
        const bytes = encoder.encode(text);
        this.symbols.push({ text, bytes });
        if (!this.isBpe) this.pieces[id].score = Math.fround(bytes.length * largest) - 0.1;
      }
    }
    this.symbols.sort((a, b) => b.bytes.length - a.bytes.length); // the longest comes first
    this.longest = Math.max(...[...this.ids.keys()].map((text) => [...text].length));
    this.hasInnerSpaces = [...this.ids.keys()].some((text) => text.lastIndexOf(SPACE) > 0);
  }

  /** Returns the ids of a text, without start and end. */
  encode(text) {
    const split = this.isBpe ? this.#merge.bind(this) : this.#likeliest.bind(this);
    const ids = [];
    let wasUnknown = false;
    for (const [piece, id] of split(this.normalize(text))) {
      const isUnknown = id === this.unknown;
      if (isUnknown && this.fallsBackToBytes) {
        for (const byte of encoder.encode(piece)) ids.push(this.bytes.get(byte));
      } else if (!isUnknown || !wasUnknown) ids.push(id);
      wasUnknown = isUnknown;
    }
    return ids;
  }

  /** Returns the text of ids. Ids of control pieces add nothing. */
  decode(ids) {
    let text = "";
    let bytes = [];
    const flush = () => {
      text += textOf(bytes);
      bytes = [];
    };
    for (const id of ids) {
      const { text: piece, type } = this.pieces[id];
      if (type === BYTE) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      flush();
      if (type === UNKNOWN) text += this.unknownText;
      else if (type !== CONTROL) {
        const strips = text === "" && (this.hasPrefix || this.removesSpaces);
        const rest = strips && piece.startsWith(SPACE) ? piece.slice(1) : piece;
        text += rest.replaceAll(SPACE, " ");
      }
    }
    flush();
    return text;
  }

  /** Returns a text as the pieces spell it: characters replaced, spaces marked. */
  normalize(text) {
    let bytes = encoder.encode(text);
    if (!this.removesSpaces) return this.#marked(bytes, false);
    while (bytes.length) {
      const [normalized, length] = this.#prefix(bytes);
      if (normalized !== " ") break;
      bytes = bytes.subarray(length);
    }
    return this.#marked(bytes, true).replace(/▁+$/, "");
  }

  #marked(bytes, removes) {
    if (!bytes.length) return "";
    const parts = this.hasPrefix ? [SPACE] : [];
    for (let wasSpace = removes; bytes.length; ) {
      let [normalized, length] = this.#prefix(bytes);
      bytes = bytes.subarray(length);
      if (wasSpace) normalized = normalized.replace(/^ +/, "");
      if (normalized) wasSpace = removes && normalized.endsWith(" ");
      parts.push(normalized.replaceAll(" ", SPACE));
    }
    return parts.join("");
  }

  /** The normalized beginning of some bytes, and how many bytes it replaces. */
  #prefix(bytes) {
    const symbol = this.symbols.find((candidate) =>
      candidate.bytes.every((byte, index) => bytes[index] === byte),
    );
    if (symbol) return [symbol.text, symbol.bytes.length];
    const replacement = this.charsmap?.longest(bytes);
    if (replacement) return replacement;
    const length = LENGTHS[bytes[0] >> 4];
    return [decoder.decode(bytes.subarray(0, length)), length];
  }

  /** The likeliest pieces by the unigram model, with their ids. */
  #likeliest(text) {
    const characters = [...text];
    const size = characters.length;
    const best = new Float32Array(size + 1);
    const from = new Int32Array(size + 1).fill(-1);
    const ids = new Int32Array(size + 1);
    for (let start = 0; start < size; start++) {
      const reach = (end, score, id) => {
        if (from[end] >= 0 && score <= best[end]) return;
        [best[end], from[end], ids[end]] = [score, start, id];
      };
      let piece = "";
      let hasOne = false;
      const last = Math.min(size, start + this.longest);
      for (let end = start + 1; end <= last; end++) {
        piece += characters[end - 1];
        const id = this.ids.get(piece);
        if (id === undefined || this.pieces[id].type === UNUSED) continue;
        reach(end, this.pieces[id].score + best[start], id);
        hasOne ||= end === start + 1;
      }
      if (!hasOne) reach(start + 1, Math.fround(this.unknownScore + best[start]), this.unknown);
    }
    const pieces = [];
    for (let end = size; end > 0; end = from[end]) {
      pieces.push([characters.slice(from[end], end).join(""), ids[end]]);
    }
    return pieces.reverse();
  }

  /** The pieces by byte-pair encoding, with their ids. */
  #merge(text) {
    // Merges of long lines take quadratic time, and no piece has a space inside: split at spaces.
    const words = this.hasInnerSpaces ? [text] : text.split(/(?=▁)/);
    return words.flatMap((word) => this.#mergeWord(word));
  }

  #mergeWord(word) {
    const parts = [];
    while (word) {
      const symbol = this.symbols.find(({ text }) => word.startsWith(text));
      const part = symbol?.text ?? String.fromCodePoint(word.codePointAt(0));
      parts.push({ text: part, frozen: symbol !== undefined });
      word = word.slice(part.length);
    }
    const halves = new Map(); // of merges into unused pieces, which are undone
    const scoreAt = (index) => {
      const [left, right] = [parts[index], parts[index + 1]];
      if (!left || !right || left.frozen || right.frozen) return -Infinity;
      const id = this.ids.get(left.text + right.text);
      if (id === undefined) return -Infinity;
      if (this.pieces[id].type === UNUSED) halves.set(this.pieces[id].text, [left.text, right.text]);
      return this.pieces[id].score;
    };
    const scores = parts.map((_, index) => scoreAt(index));
    while (parts.length > 1) {
      const best = scores.reduce((a, score, b) => (score > scores[a] ? b : a), 0);
      if (scores[best] === -Infinity) break;
      parts[best].text += parts[best + 1].text;
      parts.splice(best + 1, 1);
      scores.splice(best + 1, 1);
      scores[best] = scoreAt(best);
      if (best) scores[best - 1] = scoreAt(best - 1);
    }
    const whole = (text) => {
      const id = this.ids.get(text) ?? this.unknown;
      const undone = this.pieces[id].type === UNUSED && halves.get(text);
      return undone ? undone.flatMap(whole) : [[text, id]];
    };
    return parts.flatMap(({ text }) => whole(text));
  }
}

/** Rules that replace characters: a double-array trie of Darts-clone, and texts that end with 0. */
class Charsmap {
  constructor(bytes) {
    const size = view(bytes).getUint32(0, true);
    this.trie = view(bytes.subarray(4, 4 + size));
    this.texts = bytes.subarray(4 + size);
  }

  /** The text that replaces the longest known prefix, and the prefix's length; or nothing. */
  longest(bytes) {
    const unit = (index) => this.trie.getUint32(4 * index, true);
    const child = (value) => (value >>> 10) << ((value & 0x200) >>> 6);
    let longest;
    let index = child(unit(0));
    for (let count = 0; count < bytes.length; ) {
      index ^= bytes[count];
      const value = unit(index);
      if ((value & 0x800000ff) !== bytes[count++]) break;
      index ^= child(value);
      if (value & 0x100) longest = [unit(index) & 0x7fffffff, count];
    }
    if (!longest) return undefined;
    const [start, length] = longest;
    return [decoder.decode(this.texts.subarray(start, this.texts.indexOf(0, start))), length];
  }
}

/** The fields of a protobuf message: arrays of numbers or bytes, by their numbers. */
function message(bytes) {
  const fields = new Map();
  let position = 0;
  const number = () => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = bytes[position++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (position < bytes.length) {
    const key = number();
    const wireType = key & 7;
    if (![0, 1, 2, 5].includes(wireType)) throw new Error("not a SentencePiece model");
    const size = wireType === 2 ? number() : { 1: 8, 5: 4 }[wireType];
    const value = wireType === 0 ? number() : bytes.subarray(position, (position += size));
    const field = Math.floor(key / 8);
    if (!fields.has(field)) fields.set(field, []);
    fields.get(field).push(value);
  }
  return fields;
}

/** The text of bytes; each byte that is not valid UTF-8 becomes U+FFFD. */
function textOf(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const length = LENGTHS[bytes[start] >> 4];
    try {
      text += decoder.decode(Uint8Array.from(bytes.slice(start, start + length)));
      start += length;
    } catch {
      text += "\ufffd";
      start += 1;
    }
  }
  return text;
}

function view(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
