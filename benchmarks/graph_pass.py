"""What each rule of the graph pass is worth.

Exports a run with the rules taken in one after the other, and translates the same text with
each, in turns.

    python benchmarks/graph_pass.py runs/docs-pt-en text.pt --limit 200 --repeats 5
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import onnx

from nmt_cli.frameworks import import_keras
from nmt_cli.runtime.load import load_bundle
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
                found = list(translator.translate(lines))
                if turn:
                    times[name].append(time.perf_counter() - start)
                tokens = sum(len(each.ids) + 1 for each in found)
    print(f"| {arguments.precision}, one thread, beam {arguments.beam_size} | nodes | tokens/s |")
    print("|---|---|---|")
    for name, (_, nodes) in systems.items():
        middle, least, most = (f(times[name]) for f in (statistics.median, min, max))
        speed = f"{tokens / middle:,.0f} ({tokens / most:,.0f} to {tokens / least:,.0f})"
        print(f"| {name} | {nodes} | {speed} |")


def make_systems(arguments: argparse.Namespace, folder: Path) -> dict[str, tuple[Translator, int]]:
    """By name: the translator, and how many nodes its decoder has."""
    import_keras()
    from nmt_cli.export import onnx_graphs
    from nmt_cli.export.graph_pass import RULES
    from nmt_cli.export.onnx_bundle import export_onnx
    from nmt_cli.training.run import Run

    run = Run.open(arguments.run)
    names = list(RULES)
    systems: dict[str, tuple[Translator, int]] = {}
    write = onnx_graphs.write_graphs
    for count in range(len(names) + 1):
        name = f"+ {names[count - 1]}" if count else "as tf2onnx gives it"
        place = folder / str(count)

        def some_rules(graph, work, precision, rules=tuple(names[:count])):  # type: ignore[no-untyped-def]
            return write(graph, work, precision, rules)

        with patch("nmt_cli.export.onnx_bundle.write_graphs", some_rules):
            export_onnx(
                run,
                run.preferred,
                run.recipe.decoding,
                place,
                lambda line: None,
                arguments.precision,
                verify=False,
            )
        translator = one_thread(place, arguments.beam_size)
        nodes = len(onnx.load(place / "decoder.onnx", load_external_data=False).graph.node)
        systems[name] = (translator, nodes)
    return systems


def one_thread(bundle: Path, beam_size: int) -> Translator:
    from nmt_cli.runtime.device import Threads

    return load_bundle(
        bundle,
        DecodingOptions(beam_size=beam_size, length_penalty=0.0),
        threads=Threads(1, 1),
    )


if __name__ == "__main__":
    main()
