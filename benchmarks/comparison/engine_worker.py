"""The process of an engine: loads a model, then translates what each line of its input lists.

Only the engine's own libraries are imported, so that start-up and memory are those of its users.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nmt_cli.host import peak_memory, without_warnings

MEBIBYTE = 2**20

# Translates lines with a beam, in batches of a size; searches without a length penalty.
Translate = Callable[[list[str], int, int], list[str]]


def _nmt(folder: Path, job: dict[str, Any]) -> Translate:
    from nmt_cli import DecodingOptions, open

    with without_warnings():
        model = open(folder, threads=job["threads"])

    def translate(lines: list[str], beam_size: int, size: int) -> list[str]:
        # The other engines neither split lines nor search again.
        options = DecodingOptions(
            beam_size=beam_size, length_penalty=0.0, no_repeat_ngram=0, split_sentences=False
        )
        return [translation.text for translation in model.translate(lines, options)]

    return translate


def _ctranslate2(folder: Path, job: dict[str, Any]) -> Translate:
    from comparison.plain_ctranslate2 import translator

    shares = (1, job["threads"]) if job["single"] else (job["threads"], 1)
    translate = translator(folder, *shares)
    return lambda lines, beam_size, size: translate(lines, beam_size, job["limit"], size)


def _marian(folder: Path, job: dict[str, Any]) -> Translate:
    from pymarian import Translator

    options = f"--cpu-threads {job['threads']} --normalize 0 --quiet --quiet-translation"
    model = Translator(f"-c {folder / 'decoder.yml'} {options}")
    return lambda lines, beam_size, size: model.translate(
        lines, beam_size=beam_size, mini_batch=size
    )


def _firefox(folder: Path, job: dict[str, Any]) -> Translate:
    from fxtranslate import Translator

    files = {path.name.partition(".")[0]: path.read_bytes() for path in folder.iterdir()}
    source, target = (files.get(name) or files["vocab"] for name in ("srcvocab", "trgvocab"))
    model = Translator(files["model"], source, target)
    return lambda lines, beam_size, size: [model.translate(line) for line in lines]


def _transformers(folder: Path, job: dict[str, Any]) -> Translate:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(job["threads"])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)

    def translate(lines: list[str], beam_size: int, size: int) -> list[str]:
        order = sorted(range(len(lines)), key=lambda row: len(lines[row]))
        texts = [""] * len(lines)
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = tokenizer([lines[row] for row in rows], return_tensors="pt", padding=True)
            found = model.generate(**batch, num_beams=beam_size, length_penalty=0.0)
            found = tokenizer.batch_decode(found, skip_special_tokens=True)
            for row, text in zip(rows, found, strict=True):
                texts[row] = text
        return texts

    return translate


LOADERS = {
    "onnx": _nmt,
    "ctranslate2": _ctranslate2,
    "marian": _marian,
    "firefox": _firefox,
    "huggingface": _transformers,
}


def answers() -> Iterator[dict[str, Any]]:
    """Load the model of the first line of standard input, and answer the others."""
    job = json.loads(sys.stdin.readline())
    translate = LOADERS[job["format"]](Path(job["folder"]), job)
    yield {}
    for line in sys.stdin:
        question, seconds, texts = json.loads(line), [], []
        for lines in question["calls"]:
            began = time.perf_counter()
            texts += translate(lines, question["beam_size"], question["size"])
            seconds.append(time.perf_counter() - began)
        answer = {"size": question["size"], "seconds": seconds, "translations": texts}
        yield answer | {"peak": peak_memory() / MEBIBYTE}
