"""Compare the decoding speed of nmt and CTranslate2 with the same weights.

    python benchmarks/against_ctranslate2.py RUN [--text FILE] [--limit N] [OPTIONS]
    python benchmarks/against_ctranslate2.py BUNDLE --ctranslate2-model FOLDER --text FILE

Reports target tokens and sentences per second, p50 and p95 latency, load time, peak memory and
whole processes, for each precision, beam size and batch, with the share of the rate of ONNX
Runtime's bare matrix product. Each side and thread setting has a process of its own, which loads
the model once. A first round, which is not counted, finds each side's best threads; then the sides
take turns. The length penalty is 0, because CTranslate2 uses a different formula.

Needs ``pip install '.[ctranslate2]'``, and ``.[train]`` to export a run.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from comparison.answers import WORKER


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("model", type=Path, help="a run, or a bundle with --ctranslate2-model")
    add("--ctranslate2-model", type=Path, metavar="FOLDER", help="the same weights in CTranslate2")
    add("--text", type=Path, help="source sentences (default: the run's held-out ones)")
    add("--limit", type=_count, help="use only the first so many lines")
    add("--precision", action="append", choices=["float32", "int8", "float16"], help="of a run")
    add("--beam-size", action="append", type=_count, help="repeatable (default: 4 and 1)")
    add(
        "--batch",
        action="append",
        type=lambda value: 0 if value == "own" else _count(value),
        metavar="N|own",
        help="sentences per batch; own: each side's batches, from text to text, and whole "
        "processes too; 1: for latency; repeatable (default: 32, 64, own and 1)",
    )
    add("--repeats", type=_count, default=5, help="rounds per measurement (default: 5)")
    add("--threads", type=_count, help="in total (default: all cores)")
    add("--forced-length", type=_count, default=0, help="tokens of every translation")
    add("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def _count(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return number


def main() -> None:
    from comparison.measure import measure
    from comparison.models import Models, bundle_models, run_models
    from comparison.plan import Plan, Text
    from comparison.table import table

    from nmt_cli.errors import NmtError
    from nmt_cli.host import cores
    from nmt_cli.models import kind_of
    from nmt_cli.text.lines import read_lines
    from nmt_cli.text.tokenizer import load_tokenizers

    options = parse()
    plan = Plan(
        list(dict.fromkeys(options.beam_size or (4, 1))),
        list(dict.fromkeys((32, 64, 0, 1) if options.batch is None else options.batch)),
        options.repeats,
        options.threads or cores(),
        options.forced_length,
    )

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def models(place: Path) -> Models:
        if kind_of(options.model) == "run":
            precisions = options.precision or ["float32", "int8"]
            return run_models(options.model, precisions, place, say)
        if not options.ctranslate2_model or not options.text:
            raise NmtError("a bundle needs --ctranslate2-model and --text", "or give the run")
        return bundle_models(options.model, options.ctranslate2_model)

    try:
        with tempfile.TemporaryDirectory(prefix="nmt-comparison-") as place:
            compared = models(Path(place))
            lines = read_lines(options.text or options.model / "held_out.source.txt")
            tokenizer = load_tokenizers(compared.tokenizer).source
            text = Text.of(lines[: options.limit], tokenizer, compared.decoding, plan.forced_length)
            result = measure(compared, text, plan, say)
    except NmtError as error:
        sys.exit(str(error))
    print(json.dumps(result) if options.json else "\n".join(table(result)))


if __name__ == "__main__":
    if sys.argv[1:] == [WORKER]:
        from comparison.worker import main as work

        work()
    else:
        main()
