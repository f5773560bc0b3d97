"""Translate lines with an nmt bundle, without nmt. Needs onnxruntime, numpy and sentencepiece.

    python python.py exports/mine-de-en --beam-size 4 < text.de > text.en

Written from docs/reference/bundle-format.md. It translates one sentence at a time; batches would
be faster.
"""

import argparse
import hashlib
import itertools
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime reads it when it is imported

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

PAD, UNK, START, END = range(4)
STEPS_AHEAD = 8  # steps for which the caches grow at a time

SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"
BLANK = re.compile(
    "[\0-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)
# What makes a line in capitals not one, and what is code: docs/reference/bundle-format.md.
NO_CAPITALS = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
RUN = re.compile(r"""[^\x1c-\x1f\x85\ufeff\s"'`,;()<>\[\]“”‘’«»…!?]+""")
EDGES = re.compile(r"^\*+|[.:*-]+$")
CODE = re.compile(
    r"[_={}\\]|[A-Za-z][.:]\w|\w[.:][A-Za-z]|::|->|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d"
    r"|[$%@#][A-Za-z]|--[a-z]|//|^/\w|\w/\w+/|^\d{4,}$"
)


class TextPath:
    """What happens to a line before the source tokenizer and after the target one."""

    def __init__(self, settings: dict[str, Any], tokenizer: SentencePieceProcessor) -> None:
        self.settings, self.tokenizer = settings, tokenizer

    def read(self, line: str) -> tuple[list[list[int]], Callable[[list[str]], str]]:
        """Return the ids of each part of a line, END included; none if the line is blank.

        The function makes the line's translation from the translations of its parts.
        """
        letters = sum(map(str.isalpha, line))
        is_capital = line.isupper() and letters >= 5 and not NO_CAPITALS.search(line)
        is_folded = is_capital and self.settings["fold_capitals"]
        text = line.lower() if is_folded else line
        parts = [] if BLANK.fullmatch(line) else self.parts(text)

        def write(translations: list[str]) -> str:
            joined = re.sub(r"[\r\n]+", " ", " ".join(translations) if parts else line)
            if is_folded:
                return joined.upper()
            return repaired(line, joined) if self.settings["repair_code"] else joined

        return [[*ids, END] for ids in parts], write

    def parts(self, text: str) -> list[list[int]]:
        """Return the ids of a text, or those of its parts if it is too long for the model."""
        limit, ids = self.settings["max_source"], self.tokenizer.encode(text) or [UNK]
        if len(ids) <= limit:
            return [ids]
        parts = []
        for ids in self.tokenizer.encode(re.sub(SENTENCE_END, "\\1\n", text).split("\n")):
            size = math.ceil(len(ids) / max(1, math.ceil(len(ids) / limit)))
            parts += [ids[start : start + size] for start in range(0, len(ids), size or 1)]
        return parts


def repaired(source: str, translation: str) -> str:
    """Put the code of the source in place of similar code of the translation."""
    known = dict.fromkeys(code for code, _ in pieces_of_code(source))
    pieces = list(pieces_of_code(translation))
    written = {code for code, _ in pieces}
    lost = [code for code in known if code not in written]
    wrong = [(code, start) for code, start in pieces if code not in known]
    if max(len(lost), len(wrong)) > 100:
        return translation
    pairs = [
        (common_share(right, code), right, code, start)
        for right in lost
        if right not in translation
        for code, start in wrong
    ]
    used, edits = set[str](), dict[int, tuple[str, str]]()
    for share, right, code, start in sorted(pairs, key=lambda pair: -pair[0]):
        if share >= 0.2 and right not in used and start not in edits:
            used.add(right)
            edits[start] = code, right
    for start, (code, right) in sorted(edits.items(), reverse=True):
        translation = translation[:start] + right + translation[start + len(code) :]
    return translation


def pieces_of_code(text: str) -> Iterator[tuple[str, int]]:
    """Find each piece of code and where it starts."""
    for run in RUN.finditer(text):
        code = EDGES.sub("", run[0])
        if len(code) >= 4 and code.isascii() and CODE.search(code):
            yield code, run.start() + run[0].index(code)


def common_share(one: str, other: str) -> float:
    """Return the share of the longer text's characters that both begin and end with."""
    start = common_length(one, other)
    end = common_length(one[start:][::-1], other[start:][::-1])
    return (start + end) / max(len(one), len(other))


def common_length(one: str, other: str) -> int:
    """Return how many characters are the same from the beginning."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


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
        self.settings = {"fold_capitals": False, "repair_code": False, **manifest["decoding"]}
        self.path = TextPath(self.settings, self.source)
        shapes = {tensor["name"]: tensor["shape"] for tensor in manifest["decoder"]["inputs"]}
        outputs = {tensor["name"] for tensor in manifest["decoder"]["outputs"]}
        self.caches = {name: shapes[name] for name in shapes if f"new_{name}" in outputs}

    def translate(self, line: str, beams: int) -> str:
        """Translate a line; one without visible characters stays as it is."""
        parts, write = self.path.read(line)
        return write(self.target.decode([self.search(ids, beams) for ids in parts]))

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
