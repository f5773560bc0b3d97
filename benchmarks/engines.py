"""Compare engines that translate with the weights of one run.

    python benchmarks/engines.py RUN --text FILE [--limit N] [--repeats N] [--threads N] [--json]

Exports the run for nmt, CTranslate2, Marian, Firefox's engine and transformers, as far as they are
installed and have its architecture. Reports target tokens per second of the whole text, in each
engine's best batches, and of one sentence at a time with its median latency; the lines that are
translated as by nmt in float32; start-up (a fresh process that translates one line), peak memory,
and the size of the installation and of the model. Tokens are the run's target tokenizer's for all
engines. Each engine has a process for batches and one for single sentences; engines take turns, and
may use as many cores as they have threads. There is no length penalty, because the formulas differ.

Needs Linux, the extra train, and the engines: ctranslate2, pymarian, fxtranslate, and transformers
with torch.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comparison.answers import WORKER, write_answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("run", type=Path, help="a run of nmt train or nmt import")
    add("--text", type=Path, required=True, help="source sentences")
    add("--limit", type=int, help="use only the first N lines")
    add("--repeats", type=int, default=5, help="rounds per measurement (default: 5)")
    add("--threads", type=int, default=1, help="of each engine (default: 1)")
    add("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()

    from nmt_cli.errors import NmtError

    try:
        result = _measured(options)
    except NmtError as error:
        sys.exit(str(error))
    print(json.dumps(result) if options.json else "\n".join(table(result)))


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    from comparison.engines import exports, measure
    from comparison.plan import Text
    from machine import compile_nmt, machine, versions

    from nmt_cli.host import import_keras
    from nmt_cli.text.lines import read_lines
    from nmt_cli.training.run import Run

    left_out: list[str] = []
    compile_nmt()
    import_keras()
    run = Run.open(options.run)
    tokenizers = run.tokenizers()
    lines = read_lines(options.text)[: options.limit]
    text = Text.of(lines, tokenizers.source, run.recipe.decoding)
    with tempfile.TemporaryDirectory(prefix="nmt-engines-") as place:
        models = list(exports(run, Path(place), left_out.append))
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
        rows = measure(models, text, tokenizers.target, options.repeats, options.threads)
    packages = {model.engine.packages[0] for model in models} - {"nmt_cli"}
    return {
        "model": run.recipe.label,
        "machine": machine(),
        "versions": versions("onnxruntime", *sorted(packages)),
        "settings": {"threads": options.threads, "repeats": options.repeats},
        "text": {"lines": len(text.lines), "left_out": text.left_out},
        "left_out": left_out,
        "rows": rows,
    }


def table(result: dict[str, Any]) -> Iterator[str]:
    """Format the results in Markdown."""
    machine, settings = result["machine"], result["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    yield (
        f"{result['model']}, {result['text']['lines']} lines, {settings['repeats']} repeats, "
        f"threads: {settings['threads']}; {machine['date']}, {machine['cpu']} "
        f"({' '.join(machine['instructions'])}); {versions}"
    )
    yield from ("", *(f"- {line}" for line in result["left_out"]), "")
    heads = list(result["rows"][0])
    rows = [[_cell(row.get(head, "")) for head in heads] for row in result["rows"]]
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    """Three digits at least; of a spread, the median with the minimum and maximum."""
    if isinstance(value, dict):
        return "{} ({}-{})".format(*(_cell(value[name]) for name in ("median", "min", "max")))
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return str(value)


if __name__ == "__main__":
    if sys.argv[1:] == [WORKER]:
        from comparison.engine_worker import answers

        write_answers(answers())
    else:
        main()
