"""Measure what each change to a recipe brings: one training per change.

    python benchmarks/ablation.py RECIPE --into FOLDER [--set KEY=VALUE] [--minutes M]
                                  [--steps N] [--change 'NAME: KEY=VALUE KEY=VALUE']...
                                  [--init-from RUN] [--pace | --table]

Each row has as many steps as fit into M minutes at its own pace, which a short run measures
first: other jobs on the machine then cost time but no quality. ``--pace`` only measures the pace of
all rows: start with it on an otherwise idle machine. With ``--steps``, each row has N steps
instead. Learning rate and warm-up are the recipe's, the schedule ends with the training, and the
checkpoint with the best validation score is evaluated with the recipe's beam. With ``--init-from``,
each row continues from the weights of a run, so that the rows compare text and training settings.

Results in FOLDER are kept, translations included: a finished row is not trained again, and a
stopped one is resumed. ``--table`` prints the results so far, first on the development set, on
which recipes should be chosen, then on each test set. BLEU is sacreBLEU's, with a 95% interval of
1,000 bootstrap samples; p is the p-value of the paired bootstrap test (Koehn 2004) against the
unchanged recipe.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, Result

from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.lines import read_lines
from nmt_cli.training import RUN
from nmt_cli.training.checkpoint import read_checkpoint
from nmt_cli.training.run import Run

NMT = [sys.executable, "-m", "nmt_cli"]
AS_IT_IS = "the recipe"
TIMED, WARM = 80, 40  # steps that are timed, and steps before them
DRAWS = 1000
# Keys that do not change the pace.
FREE = (
    "model.dropout",
    "model.norm",
    "training.label_smoothing",
    "training.schedule",
    "training.learning_rate",
    "training.warmup_steps",
    "training.curriculum",
)

CHANGES = {
    "subword sampling (0.2)": ["training.sample_subwords=0.2"],
    "R-Drop (1)": ["training.r_drop=1"],
    "dropout 0.2": ["model.dropout=0.2"],
    "dropout 0.4": ["model.dropout=0.4"],
    "2,000 pieces": ["tokenizer.vocab_size=2000"],
    "8,000 pieces": ["tokenizer.vocab_size=8000"],
    "wider: d 256": ["model.d_model=256", "model.feed_forward=1024"],
    "narrower: d 128": ["model.d_model=128", "model.feed_forward=512"],
    "post-norm": ["model.norm=post"],
    "batches of 2,048": ["training.batch_tokens=2048"],
    "label smoothing 0.2": ["training.label_smoothing=0.2"],
    "deep and shallow: 6+2": ["model.encoder_layers=6", "model.decoder_layers=2"],
    "attention and activation dropout 0.1": [
        "model.attention_dropout=0.1",
        "model.activation_dropout=0.1",
    ],
    "word dropout 0.1": ["model.word_dropout=0.1"],
    "moving average 0.999": ["training.ema=0.999"],
    "inverse square root": ["training.schedule=inverse-sqrt"],
    "linear": ["training.schedule=linear"],
    "layer drop 0.1": ["model.layer_drop=0.1"],
    "deeper: 6+6": ["model.encoder_layers=6", "model.decoder_layers=6"],
    "BPE": ["tokenizer.model=bpe"],
    "16,000 pieces": ["tokenizer.vocab_size=16000"],
    "R-Drop (5)": ["training.r_drop=5"],
    "curriculum, 5 epochs": ["training.curriculum=5"],
}


@dataclass(frozen=True)
class Row:
    """One training.

    Attributes:
        pace: seconds per step; 0 if not measured.
        minutes: wall time, validations included.
        epochs: passes over the data, with a fraction.
    """

    name: str
    settings: list[str]
    parameters: int
    pace: float
    steps: int
    epochs: float
    minutes: float


class Ablation:
    """The rows under a folder."""

    def __init__(
        self,
        recipe: str,
        settings: list[str],
        minutes: float,
        steps: int,
        folder: Path,
        initial: Path | None = None,
    ) -> None:
        self._recipe, self._settings, self._folder = recipe, settings, folder
        self._minutes, self._steps, self._initial = minutes, steps, initial

    def measure(self, name: str, changes: list[str]) -> None:
        """Time, train and translate one row, unless it is finished."""
        place, prepared = self._folder / slug(name), self._prepared(changes)
        if not (place / "row.json").exists():
            self._train_row(name, changes)
        data = Prepared.open(prepared)
        for part in ("dev", *data.tests):
            out = place / f"{part}.txt"
            if not out.exists():
                text = prepared / f"{part}.{data.languages[0]}.txt"
                command = [*NMT, "translate", str(text), "-m", str(place / "run"), "-o", str(out)]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

    def _train_row(self, name: str, changes: list[str]) -> None:
        place, prepared = self._folder / slug(name), self._prepared(changes)
        pace = 0.0 if self._steps else self.pace(name, changes)
        steps = self._steps or int(60 * self._minutes / pace)
        # First, so that --set can make validations rarer for a model with endless translations.
        ends = [f"training.validate_every={max(1, steps // 5)}", *self._settings, *changes]
        ends += ["training.max_minutes=0", f"training.max_steps={steps}"]
        began = time.monotonic()
        done = _steps_done(place / "run")
        if done < steps:
            self._train(ends, prepared, place / "run", "--resume" if done else "--force")
        minutes = (time.monotonic() - began) / 60
        said = (place / "run.log").read_text(encoding="utf-8")
        count, batches = (
            int(re.search(f"([0-9,]+) {noun}", said)[1].replace(",", ""))
            for noun in ("parameters", "batches per epoch")
        )
        row = Row(name, changes, count, pace, steps, steps / batches, minutes)
        with replacing(place / "row.json") as stream:
            json.dump(asdict(row), stream, indent=2)

    def pace(self, name: str, changes: list[str]) -> float:
        """Seconds per step; measured once, so that a resumed training has the same end."""
        if changes and all(change.partition("=")[0] in FREE for change in changes):
            return self.pace(AS_IT_IS, [])
        place = self._folder / slug(name)
        kept = place / "pace.json"
        if not kept.exists():
            short = [
                *self._settings,
                *changes,
                "training.max_minutes=0",
                f"training.max_steps={WARM + TIMED}",
                "training.schedule=inverse-sqrt",
            ]
            short += [f"training.log_every={WARM}", "training.validate_sentences=1"]
            self._train(short, self._prepared(changes), place / "timed", "--force")
            log = (place / "timed" / "log.jsonl").read_text(encoding="utf-8").splitlines()
            lines = [json.loads(line) for line in log if '"learning_rate"' in line]
            seconds = {line["step"]: line["seconds"] for line in lines}
            pace = (seconds[WARM + TIMED] - seconds[WARM]) / TIMED
            kept.write_text(json.dumps(pace), encoding="utf-8")
        return float(json.loads(kept.read_text(encoding="utf-8")))

    def _prepared(self, changes: list[str]) -> Path:
        """The folder of a row's data; rows that do not change it share one."""
        of_data = [change for change in changes if change.startswith(("data.", "tokenizer."))]
        return self._folder / slug(" ".join(["prepared", *of_data]))

    def _train(self, settings: list[str], prepared: Path, run: Path, how: str) -> None:
        run.parent.mkdir(parents=True, exist_ok=True)
        command = [*NMT, "train", self._recipe, "-o", str(run), "--prepared", str(prepared), how]
        for setting in settings:
            command += ["--set", setting]
        if self._initial:
            command += ["--init-from", str(self._initial)]
        with run.with_suffix(".log").open("a", encoding="utf-8") as log:
            if subprocess.run(command, stdout=log, stderr=log).returncode:
                sys.exit(f"{shlex.join(command)} failed: see {log.name}")

    def table(self) -> str:
        """Markdown tables of the development set and of each test set, best row first."""
        run = Run.open(self._folder / slug(AS_IT_IS) / "run")
        data = Prepared.open(self._folder / slug("prepared"))
        rows = [
            Row(**json.loads(path.read_text(encoding="utf-8")))
            for path in self._folder.glob("*/row.json")
            if all((path.parent / f"{name}.txt").exists() for name in ("dev", *data.tests))
        ]
        rows.sort(key=lambda row: row.name != AS_IT_IS)
        if not rows or rows[0].name != AS_IT_IS:
            sys.exit(f"{self._folder}: {AS_IT_IS} is not measured yet")
        length = f"{self._steps:,} steps" if self._steps else f"{self._minutes:g} minutes"
        parts = [f"{run.recipe.label}, {length} per row"]
        for test in ("dev", *data.tests):
            systems = [
                (row.name, read_lines(self._folder / slug(row.name) / f"{test}.txt"))
                for row in rows
            ]
            signatures, scores = PairedTest(
                systems, {"BLEU": BLEU()}, [data.text(test).target], "bs", DRAWS
            )()
            results = list(zip(rows, scores["BLEU"], strict=True))
            results.sort(key=lambda pair: -pair[1].score)
            parts.append(f"{test} ({signatures['BLEU']})")
            head = "| change | parameters | ms per step | steps | epochs | BLEU (95%) | p |"
            parts.append("\n".join([head, "|---|---|---|---|---|---|---|", *map(_line, results)]))
        return "\n\n".join(parts)


def _line(result: tuple[Row, Result]) -> str:
    row, score = result
    p = "" if score.p_value is None else f"{score.p_value:.3f}"
    pace = f"{1000 * row.pace:.0f}" if row.pace else "-"
    return (
        f"| {row.name} | {row.parameters / 1e6:.1f} M | {pace} | {row.steps:,} | "
        f"{row.epochs:.0f} | {score.score:.2f} ({score.mean - score.ci:.1f} to "
        f"{score.mean + score.ci:.1f}) | {p} |"
    )


def _steps_done(folder: Path) -> int:
    """The steps that a stopped training has done."""
    checkpoints = Run.open(folder).checkpoints() if (folder / RUN).exists() else []
    return read_checkpoint(checkpoints[-1])[1].step if checkpoints else 0


def slug(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--minutes", type=float, default=12.5)
    parser.add_argument("--steps", type=int, default=0, metavar="N")
    parser.add_argument("--change", action="append", default=[], metavar="'NAME: KEY=VALUE ...'")
    parser.add_argument("--init-from", type=Path, metavar="RUN", help="start from its weights")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pace", action="store_true", help="only time the steps")
    parser.add_argument("--table", action="store_true", help="only print the results so far")
    options = parser.parse_args()
    try:  # before any training
        load_recipe(Path(options.recipe), tuple(options.settings))
        if options.init_from:
            Run.open(options.init_from)
    except NmtError as error:
        sys.exit(f"error: {error}")
    changes = CHANGES
    if options.change:
        named = (change.partition(": ") for change in options.change)
        changes = {name: shlex.split(settings) for name, _, settings in named}
    ablation = Ablation(
        options.recipe,
        options.settings,
        options.minutes,
        options.steps,
        options.into,
        options.init_from,
    )
    for name, settings in {AS_IT_IS: [], **changes}.items():
        if options.pace:
            print(f"{name}: {1000 * ablation.pace(name, settings):.0f} ms per step", flush=True)
        elif not options.table:
            ablation.measure(name, settings)
            print(f"{name}: done", file=sys.stderr)
    if not options.pace:
        print(ablation.table())


if __name__ == "__main__":
    main()
