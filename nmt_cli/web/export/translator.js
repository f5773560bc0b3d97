// Translates lines as `nmt translate` does, in browsers and in Node.

import { SentencePiece } from "./sentencepiece.js";
import { TextPath } from "./text.js";

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
    const tokenizers = files.slice(1).map((bytes) => new SentencePiece(bytes));
    return new Translator(ort, settings, session, ...tokenizers);
  }

  constructor(ort, settings, session, source, target) {
    Object.assign(this, { session, source, target });
    const { decoding, repetition, tokenizer } = settings;
    this.path = new TextPath(settings.text, source);
    this.tensor = (type, values, sizes) => new ort.Tensor(type, values, sizes);
    this.options = {
      beam_size: this.#integer(decoding.beam_size),
      n_best: this.#integer(1),
      length_penalty: this.tensor("float64", [decoding.length_penalty], [1]),
      max_length: this.#integer(decoding.max_length),
    };
    this.loop = new RegExp(repetition.loop, "u");
    this.tokenLoop = new RegExp(repetition.token_loop, "su");
    this.ngramSizes = repetition.no_repeat;
    this.lengthPenalty = decoding.length_penalty;
    this.special = new Set(tokenizer.special);
  }

  /** Returns the translation of a line; a blank one stays as it is. */
  async translate(line) {
    return this.path.translate(line, (ids) => this.#translated(ids));
  }

  #integer(value) {
    return this.tensor("int64", [BigInt(value)], [1]);
  }

  /** Translates ids, for TextPath; searches again where the translation is empty or a loop. */
  async #translated(ids) {
    let [text, result] = [];
    for (const size of [0, ...this.ngramSizes]) {
      result = await this.#search(ids, size);
      if (!size && !result.ids.length) result = await this.#search(ids, size, 1);
      text = this.target.decode(result.ids);
      const mayRepeat = this.tokenLoop.test(String.fromCodePoint(...result.ids));
      if (!mayRepeat || !this.loop.test(text)) break;
      if (this.loop.test(this.source.decode(ids.filter((id) => !this.special.has(id))))) break;
    }
    const tokens = result.ids.length + 1;
    const sum = result.score * ((5 + tokens) / 6) ** this.lengthPenalty;
    return { text, sum, mean: sum / tokens };
  }

  async #search(ids, ngramSize, minLength = 0) {
    const source = this.tensor("int32", Int32Array.from(ids), [1, ids.length]);
    const limits = {
      min_length: this.#integer(minLength),
      no_repeat_ngram: this.#integer(ngramSize),
    };
    const feeds = { source, ...this.options, ...limits };
    const outputs = await this.session.run(feeds, ["ids", "scores"]);
    const score = Number(outputs.scores.data[0]);
    return { ids: [...outputs.ids.data].filter((id) => !this.special.has(id)), score };
  }
}
