"""Translate lines with an nmt bundle, without nmt. Needs onnxruntime, numpy and sentencepiece.

    python python.py exports/mine-de-en --beam-size 4 < text.de > text.en

Written from docs/reference/bundle-format.md. It translates one sentence at a time; batches would
be faster.
"""

import argparse
import hashlib
import json
import math
import os
import re
import sys
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reads it when it is imported

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

PAD, UNK, START, END = range(4)
SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"
ROOM = 8  # steps for which the caches grow at a time


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
        self.settings = manifest["decoding"]
        shapes = {each["name"]: each["shape"] for each in manifest["decoder"]["inputs"]}
        outputs = {each["name"] for each in manifest["decoder"]["outputs"]}
        self.caches = {name: shapes[name] for name in shapes if f"new_{name}" in outputs}

    def translate(self, line: str, beams: int) -> str:
        """Translate a line; one without visible characters stays as it is."""
        if not any(map(str.isprintable, line.replace(" ", ""))):
            return line
        pieces, most = [self.source.encode(line) or [UNK]], self.settings["max_source"]
        if len(pieces[0]) > most:
            sentences = self.source.encode(re.sub(SENTENCE_END, "\\1\n", line).split("\n"))
            pieces = []
            for ids in filter(None, sentences):
                size = math.ceil(len(ids) / math.ceil(len(ids) / most))
                pieces += [ids[at : at + size] for at in range(0, len(ids), size)]
        found = self.target.decode([self.search([*ids, END], beams) for ids in pieces])
        return re.sub(r"[\r\n]+", " ", " ".join(found))

    def search(self, source: list[int], beams: int) -> list[int]:
        """Find the best translation of framed ids, without its end token; one beam is greedy."""
        ratio, extra = self.settings["length_ratio"], self.settings["length_extra"]
        limit = min(math.ceil(ratio * len(source)) + extra, self.settings["max_length"])
        names = [each.name for each in self.encoder.get_outputs()]
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
            if step % ROOM == 0:
                ancestry = np.pad(ancestry, [(0, 0), (0, ROOM * beams)])
                for name in self.caches:
                    feed[name] = np.pad(feed[name], [(0, 0), (0, 0), (0, ROOM * beams), (0, 0)])
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
        return [each for each in best or past[sums.argmax()] if each not in (PAD, START, END)]

    def penalty(self, length: int) -> float:
        """Return the length penalty of a translation of so many tokens."""
        return ((5 + length) / 6) ** self.settings["length_penalty"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Translate lines of standard input.")
    parser.add_argument("folder", type=Path, help="of the bundle")
    parser.add_argument("--beam-size", type=int, help="1 is greedy search; default: the bundle's")
    given = parser.parse_args()
    bundle = Bundle(given.folder)
    sys.stdout.reconfigure(encoding="utf-8")
    for raw in sys.stdin.buffer:
        text = raw.decode().removesuffix("\n").removesuffix("\r")
        print(bundle.translate(text, given.beam_size or bundle.settings["beam_size"]), flush=True)
