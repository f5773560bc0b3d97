"""Measure the speed gained by each rule of the graph pass.

Exports a run with more and more of the rules, and translates the same text with each export, in
turns.

    python benchmarks/graph_pass.py runs/docs-pt-en text.pt --limit 200 --repeats 5
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import onnx

import nmt_cli
from nmt_cli.host import import_keras
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    lines = arguments.text.read_text(encoding="utf-8").splitlines()[: arguments.limit]
    with tempfile.TemporaryDirectory() as folder:
        systems = make_systems(arguments, Path(folder))
        times: dict[str, list[float]] = {name: [] for name in systems}
        tokens = 0
        for turn in range(arguments.repeats + 1):  # the first is not counted
            for name, (translator, _) in systems.items():
                start = time.perf_counter()
                translations = list(translator.translate(lines))
                if turn:
                    times[name].append(time.perf_counter() - start)
                tokens = sum(len(translation.tokens) for translation in translations)
    print(f"| {arguments.precision}, one thread, beam {arguments.beam_size} | nodes | tokens/s |")
    print("|---|---|---|")
    for name, (_, nodes) in systems.items():
        middle, least, most = (f(times[name]) for f in (statistics.median, min, max))
        speed = f"{tokens / middle:,.0f} ({tokens / most:,.0f} to {tokens / least:,.0f})"
        print(f"| {name} | {nodes} | {speed} |")


def make_systems(arguments: argparse.Namespace, folder: Path) -> dict[str, tuple[Translator, int]]:
    """By name: the translator, and the number of nodes of its decoder."""
    import_keras()
    from nmt_cli.export.exporter import EXPORTERS, ExportOptions
    from nmt_cli.export.onnx.graph_pass import RULES, apply_rules
    from nmt_cli.training.run import Run

    run = Run.open(arguments.run)
    names = list(RULES)
    systems: dict[str, tuple[Translator, int]] = {}
    for count in range(len(names) + 1):
        name = f"+ {names[count - 1]}" if count else "as tf2onnx gives it"
        place = folder / str(count)

        def some_rules(model, rules=tuple(names[:count])):
            return apply_rules(model, rules)

        with patch("nmt_cli.export.onnx.graphs.apply_rules", some_rules):
            given = ExportOptions(output=place, precision=arguments.precision, verify=False)
            EXPORTERS["onnx"].export(run, given)
        options = DecodingOptions(beam_size=arguments.beam_size, length_penalty=0.0)
        translator = nmt_cli.open(place, threads=1).translator(options)
        nodes = len(onnx.load(place / "decoder.onnx", load_external_data=False).graph.node)
        systems[name] = (translator, nodes)
    return systems


if __name__ == "__main__":
    main()
