// Translates lines as `nmt translate` does, in browsers and in Node.

import { repairer } from "./text.js";
import { SentencePiece } from "./sentencepiece.js";

const [UNKNOWN, END] = [1, 3];

/** A model with its tokenizers. A line's translation depends on that line only. */
export class Translator {
  /**
   * @param ort - the module onnxruntime-web or onnxruntime-node
   * @param {object} settings - the content of nmt_web.json
   * @param {(name: string) => Promise<Uint8Array>} read - reads a file of the folder
   */
  static async load(ort, settings, read) {
    const { source, target } = settings.tokenizer;
    const files = await Promise.all(["model.onnx", source, target].map(read));
    const session = await ort.InferenceSession.create(files[0], { executionProviders: ["cpu"] });
    const [reader, writer] = files.slice(1).map((each) => new SentencePiece(each));
    return new Translator(ort, settings, session, reader, writer);
  }

  constructor(ort, settings, session, source, target) {
    Object.assign(this, { settings, session, source, target });
    const { decoding } = settings;
    this.tensor = (type, values, sizes) => new ort.Tensor(type, values, sizes);
    this.options = {
      beam_size: this.#integer(decoding.beam_size),
      n_best: this.#integer(1),
      length_penalty: this.tensor("float64", [decoding.length_penalty], [1]),
      max_length: this.#integer(decoding.max_length),
    };
    this.loop = new RegExp(settings.repetition.loop, "u");
    this.tokenLoop = new RegExp(settings.repetition.token_loop, "su");
    this.silent = new Set(settings.tokenizer.silent);
    this.blank = new RegExp(`^${settings.blank}$`, "u");
    this.codeInCapitals = new RegExp(settings.capitals.code, "u");
    this.repair = repairer(settings.code);
    this.sentenceEnd = new RegExp(settings.sentence_end, "g");
  }

  /** Returns the translation of a line; a blank one stays as it is. */
  async translate(line) {
    if (this.blank.test(line)) return line;
    const fold = this.settings.decoding.fold_capitals && this.#inCapitals(line);
    const texts = [];
    for (const ids of this.#segments(fold ? line.toLowerCase() : line)) {
      texts.push(await this.#translated(ids));
    }
    const text = texts.join(" ").replace(/[\r\n]+/g, " ");
    if (fold) return text.toUpperCase();
    return this.settings.decoding.repair_code ? this.repair(line, text) : text;
  }

  #inCapitals(line) {
    const letters = line.match(/\p{L}/gu)?.length ?? 0;
    const upper = line === line.toUpperCase() && line !== line.toLowerCase();
    return upper && letters >= this.settings.capitals.letters && !this.codeInCapitals.test(line);
  }

  #integer(value) {
    return this.tensor("int64", [BigInt(value)], [1]);
  }

  /** The ids of a line, or of the parts of a line that is too long. */
  #segments(line) {
    const longest = this.settings.decoding.max_source;
    const ids = this.source.encode(line);
    if (ids.length <= longest) return [ids.length ? ids : [UNKNOWN]];
    const sentences = line.replace(this.sentenceEnd, "$1\n").split("\n");
    return sentences.flatMap((sentence) => {
      const own = this.source.encode(sentence);
      const count = Math.ceil(own.length / longest);
      const size = Math.ceil(own.length / count);
      return Array.from({ length: count }, (_, at) => own.slice(at * size, (at + 1) * size));
    });
  }

  /** The translation of ids; searches again where it is empty or repeats itself. */
  async #translated(ids) {
    let text;
    for (const size of [0, ...this.settings.repetition.no_repeat]) {
      let found = await this.#search(ids, size);
      if (!size && !found.length) found = await this.#search(ids, size, 1);
      text = this.target.decode(found);
      if (!this.tokenLoop.test(String.fromCodePoint(...found)) || !this.loop.test(text)) break;
      if (this.loop.test(this.source.decode(ids.filter((id) => !this.silent.has(id))))) break;
    }
    return text;
  }

  async #search(ids, size, least = 0) {
    const framed = Int32Array.from([...ids, END]);
    const source = this.tensor("int32", framed, [1, framed.length]);
    const limits = { min_length: this.#integer(least), no_repeat_ngram: this.#integer(size) };
    const found = await this.session.run({ source, ...this.options, ...limits }, ["ids"]);
    return [...found.ids.data].filter((id) => !this.silent.has(id));
  }
}
