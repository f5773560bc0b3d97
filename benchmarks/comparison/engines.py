"""Export a run for several engines, and measure them in turns."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from itertools import chain, product
from operator import eq
from pathlib import Path
from typing import Any

from comparison.cells import spread
from comparison.plan import Text, latency_rows
from comparison.process import Process, in_turns
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import nmt_cli
from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, FLOAT32, ExportOptions
from nmt_cli.text.tokenizer import Tokenizer
from nmt_cli.training.run import Run

SCRIPT = Path(__file__).parents[1] / "engines.py"

Tree = dict[str, Any]


@dataclass(frozen=True)
class Engine:
    """An engine that translates with a run's weights.

    Attributes:
        format: of ``nmt export``.
        weights: forms of weights to measure.
        packages: that its users install, its own first.
        sizes: of batches to try, in sentences or tokens.
        beam_sizes: to measure.
    """

    name: str
    format: str
    weights: tuple[str, ...]
    packages: tuple[str, ...]
    sizes: tuple[int | str, ...] = (16, 64, 256)
    beam_sizes: tuple[int, ...] = (1, 4)


_BOTH, _TOKENS = (FLOAT32, "int8"), (1024, 2048, 4096)
_TORCH = ("transformers", "torch", "sentencepiece")
# The others' translations are compared with those of the first one's first weights.
ENGINES = (
    Engine("nmt", "onnx", _BOTH, ("nmt_cli",), ("own",)),
    Engine("CTranslate2", "ctranslate2", _BOTH, ("ctranslate2", "sentencepiece"), _TOKENS),
    Engine("Marian", "marian", (FLOAT32,), ("pymarian",)),
    Engine("Firefox", "firefox", ("int8",), ("fxtranslate",), (1,), beam_sizes=(1,)),
    Engine("transformers", "huggingface", (FLOAT32,), _TORCH),
)


@dataclass(frozen=True)
class Model:
    """A run's weights in the form of an engine."""

    engine: Engine
    weights: str
    folder: Path

    def start(self, text: Text, threads: int, single: bool) -> Process:
        """Start a process that loads the model, for single sentences or for batches."""
        process = Process(SCRIPT, self.engine.name)
        job = {"format": self.engine.format, "folder": str(self.folder), "single": single}
        process.ask(job | {"threads": threads, "limit": text.limit})
        return process


# Of a measurement: model, beam size, and whether sentences come one at a time.
_Key = tuple[Model, int, bool]
_Answers = Mapping[_Key, Sequence[Tree]]


def exports(
    run: Run, place: Path, say: Callable[[str], None], engines: Sequence[Engine] = ENGINES
) -> Iterator[Model]:
    """Export a run for each engine that is installed and has its architecture, unverified.

    Args:
        say: receives a line for each engine that is left out.
    """
    for engine in engines:
        exporter = EXPORTERS[engine.format]
        unverified = replace(exporter, optional=(*exporter.optional, "verify"))
        try:
            for package in engine.packages:
                metadata.distribution(package)
            for weights in engine.weights:
                folder = place / f"{engine.format}-{weights}"
                precision = weights if weights in exporter.quantizations else FLOAT32
                options = ExportOptions(output=folder, precision=precision, verify=False)
                unverified.export(run, options)
                yield Model(engine, weights, folder)
        except metadata.PackageNotFoundError as error:
            say(f"{engine.name} left out: {error.name} is not installed")
        except NmtError as error:
            if engine is ENGINES[0]:
                raise
            say(f"{engine.name} left out: {error.message}")


def measure(
    models: Sequence[Model], text: Text, tokenizer: Tokenizer, repeats: int, threads: int
) -> list[Tree]:
    """Measure all models in turns.

    Args:
        tokenizer: of the target, which counts the tokens of all translations.

    Returns:
        A row for each model and beam size, ready for JSON: cells by their headings, spreads as
        dicts. What a model has once is in its first row.
    """
    whole, single = [text.lines], [[text.lines[row]] for row in latency_rows(len(text.lines))]
    calls: dict[_Key, Callable[[], Tree]] = {}
    with ExitStack() as stack:
        for model, is_single in product(models, (False, True)):
            process = stack.enter_context(closing(model.start(text, threads, is_single)))
            lines, sizes = (single, (1,)) if is_single else (whole, model.engine.sizes)
            for beam_size in model.engine.beam_sizes:
                calls[model, beam_size, is_single] = _fastest(process, lines, beam_size, sizes)
        answers = in_turns(calls, repeats)
    starts = {model: partial(_start_seconds, model, text, threads) for model in models}
    seconds = in_turns(starts, repeats + 1)  # the first only fills the page cache
    rows: list[Tree] = []
    for model in models:
        beam_sizes = model.engine.beam_sizes
        searches = [_search(model, beam, models[0], answers, tokenizer) for beam in beam_sizes]
        # All searches of a process share its peak.
        peaks = [answers[model, beam_sizes[-1], single][-1]["peak"] for single in (False, True)]
        once = {
            "peak MiB": peaks[0],
            "single, peak MiB": peaks[1],
            "start-up, s": spread(seconds[model][1:]),
            "installed MB": installed_bytes(model.engine.packages) / 1e6,
            "model MB": _size(model.folder) / 1e6,
        }
        rows += [searches[0] | once, *searches[1:]]
    return rows


def _fastest(
    process: Process, lines: list[list[str]], beam_size: int, sizes: Sequence[int]
) -> Callable[[], Tree]:
    """Return a call with the fastest size of batches, each of which is tried once."""
    questions = [{"calls": lines, "beam_size": beam_size, "size": size} for size in sizes]
    process.ask(questions[0])  # only warms up
    best = min(questions, key=lambda question: sum(process.ask(question)["seconds"]))
    return partial(process.ask, best)


def _search(
    model: Model, beam_size: int, first: Model, answers: _Answers, tokenizer: Tokenizer
) -> Tree:
    batches, single = (answers[model, beam_size, is_single] for is_single in (False, True))
    pair = [answers[one, beam_size, False][0]["translations"] for one in (model, first)]
    return {
        "engine": f"{model.engine.name}, {model.weights}",
        "beam": beam_size,
        "batch": batches[0]["size"],
        "tokens/s": _rates(batches, tokenizer),
        "single, tokens/s": _rates(single, tokenizer),
        "single, ms": 1000 * statistics.median(chain(*(answer["seconds"] for answer in single))),
        "same lines": statistics.mean(map(eq, *pair)),
    }


def _start_seconds(model: Model, text: Text, threads: int) -> float:
    """Seconds from the start of a process to the translation of one line."""
    began = time.perf_counter()
    with closing(model.start(text, threads, single=True)) as process:
        process.ask({"calls": [text.lines[:1]], "beam_size": 1, "size": 1})
        return time.perf_counter() - began


def _rates(answers: Sequence[Tree], tokenizer: Tokenizer) -> dict[str, float]:
    # END is a token, too.
    tokens = sum(len(ids) + 1 for ids in tokenizer.encode(answers[0]["translations"]))
    return spread([tokens / sum(answer["seconds"]) for answer in answers])


def installed_bytes(packages: Sequence[str]) -> int:
    """Size of packages and of all that they require."""
    sizes: dict[str, int] = {}
    waiting = list(packages)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in sizes:
            distribution = metadata.distribution(name)
            sizes[name] = sum(file.size or 0 for file in distribution.files or [])
            needed = map(Requirement, distribution.requires or [])
            environment = {"extra": ""}
            waiting += [
                item.name for item in needed if not item.marker or item.marker.evaluate(environment)
            ]
    if "nmt-cli" in sizes:  # in a development install, the list has no modules
        sizes["nmt-cli"] = _size(Path(nmt_cli.__file__).parent)
    return sum(sizes.values())


def _size(folder: Path) -> int:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths)
