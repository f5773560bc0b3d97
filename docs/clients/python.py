"""Translate lines with an nmt bundle, without nmt. Needs onnxruntime, numpy and sentencepiece.

    python python.py exports/mine-de-en --beam-size 4 < text.de > text.en

Written from docs/reference/bundle-format.md. It translates one sentence at a time; batches would
be faster. Of the text path, it has blank lines, sentences (by simpler rules) and texts in capitals.
`nmt translate` also knows abbreviations, keeps what separates sentences, numbers, code and
ellipses, removes invisible characters, and translates again where something was lost.
"""

import argparse
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reads it when it is imported

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

PAD, UNK, START, END = range(4)
STEPS_AHEAD = 8  # steps for which the caches grow at a time

SENTENCE_END = r"((?:[a-zß-ÿ0-9]{3}\.|[!?])[\"'”’»)\]]*)[ \t]+([\"'“‘«(¿¡]*[A-ZÀ-Þ])"
LINE_BREAK = re.compile(r"[ \t]*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")
WORD = re.compile(r"[^\W\d_]+")
BLANK = re.compile(
    "[\0-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)


class TextPath:
    """What happens to a line before the source tokenizer and after the target one."""

    def __init__(self, settings: dict[str, Any], tokenizer: SentencePieceProcessor) -> None:
        self.settings, self.tokenizer = settings, tokenizer

    def translate(self, line: str, search: Callable[[list[int]], str]) -> str:
        """Translate a line; ``search`` translates ids, END included. A blank line stays."""
        if BLANK.fullmatch(line):
            return line
        sentences = re.sub(SENTENCE_END, r"\1\n\2", line).split("\n")
        return " ".join(self.translated(sentence, search) for sentence in sentences)

    def translated(self, text: str, search: Callable[[list[int]], str]) -> str:
        """Translate a sentence, in parts if it is too long for the model."""
        words = WORD.findall(text)
        is_folded = all(map(str.isupper, words)) and max(map(len, words), default=0) >= 4
        is_folded &= self.settings["fold_capitals"]
        if is_folded:
            start = text.index(words[0])
            text = text[: start + 1] + text[start + 1 :].lower()
        ids, limit = self.tokenizer.encode(text) or [UNK], self.settings["max_source"]
        size = math.ceil(len(ids) / math.ceil(len(ids) / limit))
        parts = [ids[start : start + size] for start in range(0, len(ids), size)]
        translation = " ".join(search([*part, END]) for part in parts)
        translation = LINE_BREAK.sub(" ", translation)
        return translation.upper() if is_folded else translation


class Bundle:
    """The graphs and tokenizers of a bundle."""

    def __init__(self, folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["format"] != 3:
            sys.exit(f"{folder}: has format {manifest['format']}, not 3")
        for name, record in manifest["files"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != record["sha256"]:
                sys.exit(f"{folder / name}: is not the file that was exported")
        spec = json.loads((folder / "tokenizer/tokenizer.json").read_text(encoding="utf-8"))
        if spec["kind"] != "sentencepiece" or spec.get("punctuation"):
            sys.exit(f"{folder}: this client supports plain SentencePiece tokenizers only")
        paths = [str(folder / "tokenizer" / spec[side]) for side in ("source", "target")]
        self.source, self.target = (SentencePieceProcessor(model_file=path) for path in paths)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        options.intra_op_num_threads = 1  # the fastest for small models
        paths = [str(folder / manifest[graph]["file"]) for graph in ("encoder", "decoder")]
        self.encoder, self.decoder = (onnxruntime.InferenceSession(path, options) for path in paths)
        self.settings = {"fold_capitals": False, **manifest["decoding"]}
        self.path = TextPath(self.settings, self.source)
        shapes = {tensor["name"]: tensor["shape"] for tensor in manifest["decoder"]["inputs"]}
        outputs = {tensor["name"] for tensor in manifest["decoder"]["outputs"]}
        self.caches = {name: shapes[name] for name in shapes if f"new_{name}" in outputs}

    def translate(self, line: str, beams: int) -> str:
        """Translate a line; one without visible characters stays as it is."""
        return self.path.translate(line, lambda ids: self.target.decode(self.search(ids, beams)))

    def search(self, source: list[int], beams: int) -> list[int]:
        """Find the best translation of ids, without its end token; one beam is greedy."""
        ratio, extra = self.settings["length_ratio"], self.settings["length_extra"]
        limit = min(math.ceil(ratio * len(source)) + extra, self.settings["max_length"])
        names = [output.name for output in self.encoder.get_outputs()]
        ids = np.array([source + [PAD] * (-len(source) % 4)], np.int32)
        feed = dict(zip(names, self.encoder.run(names, {"source": ids}), strict=True))
        dtype = feed["source_mask"].dtype
        feed |= {name: np.zeros((1, s[1], 0, s[3]), dtype) for name, s in self.caches.items()}
        names = ["scores", "ids", *(f"new_{name}" for name in self.caches)]
        ancestry, tokens = np.zeros((beams, 0), np.bool_), np.full(beams, START)
        sums = np.where(np.arange(beams) > 0, -np.inf, 0).astype(np.float32)
        past, best, best_score, finished = [list[int]()] * beams, list[int](), -math.inf, 0
        for step in range(limit):
            first = step * beams
            if step % STEPS_AHEAD == 0:
                ancestry = np.pad(ancestry, [(0, 0), (0, STEPS_AHEAD * beams)])
                for name in self.caches:
                    feed[name] = np.pad(
                        feed[name], [(0, 0), (0, 0), (0, STEPS_AHEAD * beams), (0, 0)]
                    )
            ancestry[:, first : first + beams] = np.eye(beams)
            feed |= {"tokens": tokens[None].astype(np.int32), "ancestry": ancestry[None]}
            feed |= {"position": np.array([step], np.int32), "write_at": np.array([first])}
            scores, ids, *caches = self.decoder.run(names, feed)
            feed |= zip(self.caches, caches, strict=True)
            totals, ids = (sums[:, None] + scores[0]).ravel(), ids.ravel()
            order = np.lexsort((ids, -totals))[:beams]  # ties: lower token, then lower beam
            parents, tokens, sums = order // scores.shape[2], ids[order], totals[order]
            sums[beams - finished :] = -np.inf
            ancestry = ancestry[parents]
            past = [[*past[p], int(token)] for p, token in zip(parents, tokens, strict=True)]
            for slot in np.flatnonzero((tokens == END) & (sums > -np.inf)):
                score = float(sums[slot]) / self.penalty(step + 1)
                if score > best_score:
                    best, best_score = past[slot], score
                finished, sums[slot] = finished + 1, -np.inf
            if float(sums.max()) / self.penalty(limit) <= best_score:
                break
        return [token for token in best or past[sums.argmax()] if token not in (PAD, START, END)]

    def penalty(self, length: int) -> float:
        """Return the length penalty of a translation of ``length`` tokens."""
        return ((5 + length) / 6) ** self.settings["length_penalty"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Translate lines of standard input.")
    parser.add_argument("folder", type=Path, help="folder of the bundle")
    parser.add_argument("--beam-size", type=int, help="1 is greedy search; default: the bundle's")
    arguments = parser.parse_args()
    bundle = Bundle(arguments.folder)
    beam_size = arguments.beam_size or bundle.settings["beam_size"]
    sys.stdout.reconfigure(encoding="utf-8")
    for raw in sys.stdin.buffer:
        text = raw.decode().removesuffix("\n").removesuffix("\r")
        print(bundle.translate(text, beam_size), flush=True)
