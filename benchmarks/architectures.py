"""Compare architectures: quality after the same training time, and translation speed.

    python benchmarks/architectures.py --into FOLDER [--set KEY=VALUE] [--minutes M]
                                       [--pace | --table] [RECIPE...]

Trains each recipe like a row of benchmarks/ablation.py, with as many steps as fit into M minutes
at its own pace, and translates its test sets; then nmt bench measures it on lines of the first
test set, 32 per batch, beam 4. Training speed is that of the short run that times the steps. Start
with ``--pace`` on an otherwise idle machine, and leave it idle while decoding is measured. Results
in FOLDER are kept.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from ablation import AS_IT_IS, NMT, Ablation, Row, slug

from nmt_cli.data.prepared import Prepared
from nmt_cli.evaluate.scores import System, compare, count
from nmt_cli.text.lines import read_lines

ROOT = Path(__file__).parent.parent
RECIPES = (
    "transformer-small",
    "transformer-deep-shallow",
    "rnn-luong",
    "rnn-bahdanau",
)
PRECISIONS = ("float32", "int8")
LINES = 300


def decoding_speed(place: Path) -> dict[str, dict[str, float]]:
    """Target tokens per second by precision: median, minimum and maximum of five rounds."""
    kept = place / "decoding.json"
    if not kept.exists():
        prepared = Prepared.open(place / "prepared")
        text = prepared.folder / f"{prepared.tests[0]}.{prepared.languages[0]}.txt"
        bench = [*NMT, "bench", str(place / slug(AS_IT_IS) / "run"), "--text", str(text)]
        bench += ["--limit", str(LINES), "--beam-size", "4", "--batch", "32", "--json"]
        done = subprocess.run(bench, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        speeds = {
            cell["precision"]: cell["tokens_per_second"]
            for cell in json.loads(done.stdout)["cells"]
        }
        kept.write_text(json.dumps(speeds), encoding="utf-8")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def bleu(texts: list[str], references: list[str]) -> str:
    """BLEU with its 95% bootstrap interval."""
    counted = System("", texts, count(texts, [references]))
    score = next(result for result in compare([counted]) if result.metric == "BLEU")
    return f"{score.score:.2f} ({score.low:.1f}-{score.high:.1f})"


def line(name: str, place: Path) -> str:
    """One row of the table."""
    folder = place / slug(AS_IT_IS)
    row = Row(**json.loads((folder / "row.json").read_text(encoding="utf-8")))
    log = (folder / "timed" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    rates = [json.loads(entry) for entry in log if '"tokens_per_second"' in entry]
    cells = [name, f"{row.parameters / 1e6:.1f} M", f"{row.steps:,}", f"{row.epochs:.1f}"]
    data = Prepared.open(place / "prepared")
    for test in data.tests:
        texts = read_lines(folder / f"{test}.txt")
        cells.append(bleu(texts, data.text(test).target))
    cells.append(f"{rates[-1]['tokens_per_second']:,.0f}")
    speeds = decoding_speed(place)
    for speed in (speeds[precision] for precision in PRECISIONS):
        cells.append(f"{speed['median']:,.0f} ({speed['min']:,.0f}-{speed['max']:,.0f})")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pace", action="store_true", help="only time the steps")
    parser.add_argument("--table", action="store_true", help="only print the results so far")
    options = parser.parse_args()
    places = {name: options.into / name for name in options.recipes}
    for name, place in places.items():
        recipe = ROOT / "recipes" / f"{name}.toml"
        row = Ablation(str(recipe), options.settings, options.minutes, 0, place)
        if options.pace:
            print(f"{name}: {1000 * row.pace(AS_IT_IS, []):.0f} ms per step", flush=True)
        elif not options.table:
            row.measure(AS_IT_IS, [])
            print(f"{name}: trained", file=sys.stderr)
    trained = [name for name in places if (places[name] / slug(AS_IT_IS) / "row.json").exists()]
    rows = [] if options.pace else [line(name, places[name]) for name in trained]
    if rows:
        first = Prepared.open(options.into / options.recipes[0] / "prepared")
        heads = ["recipe", "parameters", "steps", "epochs"]
        heads += [f"{test} BLEU (95%)" for test in first.tests]
        heads += [
            "training tokens/s",
            *(f"decoding tokens/s, {precision}" for precision in PRECISIONS),
        ]
        print("\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *rows]))


if __name__ == "__main__":
    main()
