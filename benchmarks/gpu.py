"""Train and translate on a GPU, and print one table.

    python benchmarks/gpu.py [--recipe NAME] [--set KEY=VALUE] [--steps N] [--device D] [--work DIR]

Needs the extra ``gpu`` (docs/training.md). It trains the recipe, the phrasebook by default, in each
precision, exports the float32 run in float32 and float16, and translates the recipe's first test
set with both on the device, at beam 4 and beam 1, and with float32 on the CPU, to compare. The
trainings use what Keras finds; with ``KERAS_BACKEND=jax``, JAX. Exports are verified on the CPU.

``identical`` is how many of the device's translations are those of the float32 bundle on the CPU.
Speed is in target tokens per second: the median of a training's log lines, without the first one,
and the best of three rounds of translating, END included.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import nmt_cli
from nmt_cli.cli.lookup import find_recipe
from nmt_cli.data.corpus import read_corpus
from nmt_cli.errors import NmtError
from nmt_cli.host import processor
from nmt_cli.runtime.step_model import find_provider
from nmt_cli.training.log import read_log

PRECISIONS, EXPORTED = ("float32", "mixed_bfloat16", "mixed_float16"), ("float32", "float16")
BEAMS, ROUNDS = (4, 1), 3
Row = tuple[str, str, str, str, str]  # what, precision, device, tokens/s, identical


def nmt(*words: object) -> None:
    """Run a command, with its output on stderr; raise CalledProcessError if it fails."""
    command = [sys.executable, "-m", "nmt_cli", *map(str, words)]
    subprocess.run(command, stdout=sys.stderr, check=True)


def trained(work: Path, precision: str, recipe: str, settings: Sequence[str]) -> Row:
    """Train in a precision, in the folder of its name."""
    words = [f"--set={setting}" for setting in (*settings, f"training.precision={precision}")]
    places = ("-o", work / precision, "--prepared", work / "prepared", "--force")
    nmt("train", recipe, *words, *places)
    log = read_log(work / precision)
    speeds = [record["tokens_per_second"] for record in log if "tokens_per_second" in record]
    bleu = [record["validation_bleu"] for record in log if "validation_bleu" in record]
    what = f"train, validation BLEU {bleu[-1]:.1f}" if bleu else "train"
    # The first log line has the compilation; a training may be too short for another.
    speed = f"{statistics.median(speeds[1:] or speeds):,.0f}" if speeds else ""
    return what, precision, "Keras", speed, ""


def translated(
    bundle: Path, device: str, beam_size: int, lines: Sequence[str]
) -> tuple[list[str], float]:
    """Return the translations, and target tokens per second."""
    with nmt_cli.open(bundle, device=device) as model:
        list(model.translate(lines[:64], beam_size=beam_size))
        speeds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            translations = list(model.translate(lines, beam_size=beam_size))
            tokens = sum(len(translation.tokens) for translation in translations)
            speeds.append(tokens / (time.perf_counter() - began))
    return [translation.text for translation in translations], max(speeds)


def decoded(work: Path, device: str, lines: Sequence[str]) -> Iterator[Row]:
    """Export and translate."""
    for precision in EXPORTED:
        quantize = () if precision == "float32" else ("--quantize", precision)
        folder = work / f"export-{precision}"
        nmt("export", work / "float32", "--onnx", *quantize, "-o", folder, "--force")
    for beam_size in BEAMS:
        what = f"translate, beam {beam_size}"
        expected, speed = translated(work / "export-float32", "cpu", beam_size, lines)
        yield what, "float32", "cpu", f"{speed:,.0f}", ""
        for precision in EXPORTED:
            translations, speed = translated(work / f"export-{precision}", device, beam_size, lines)
            same = sum(map(str.__eq__, translations, expected))
            yield what, precision, device, f"{speed:,.0f}", f"{same:,} of {len(lines):,}"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Align the columns."""
    rows = [("what", "precision", "device", "tokens/s", "identical"), *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--recipe", default="phrasebook")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of the recipe")
    parser.add_argument("--steps", type=int, default=1000, help="of each training")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="that translates")
    parser.add_argument("--precision", action="append", help="to also train in; repeatable")
    parser.add_argument("--work", type=Path, help="folder to keep runs and exports in")
    options = parser.parse_args()
    few = f"training.log_every={max(1, min(50, options.steps // 4))}"
    settings = [few, *options.set, f"training.max_steps={options.steps}", "training.max_minutes=0"]
    precisions = dict.fromkeys(("float32", *(options.precision or PRECISIONS)))
    try:  # before any training
        find_provider(options.device)
        for precision in precisions:
            setting = f"training.precision={precision}"
            data = find_recipe(options.recipe, (*settings, setting)).data
        if not data.test:
            sys.exit(f"the recipe {options.recipe} names no test set; give --set data.test=[...]")
        lines = read_corpus(data.test[0], data).source
    except NmtError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory(prefix="nmt-gpu-") as place:
        work = options.work or Path(place)
        try:
            rows = [trained(work, precision, options.recipe, settings) for precision in precisions]
            rows += decoded(work, options.device, lines)
        except subprocess.CalledProcessError as error:
            sys.exit(f"nmt {error.cmd[3]} failed; its message is above")
    print(json.dumps({"nmt": nmt_cli.__version__, **processor()}))
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
