"""Train Hugging Face's MarianMTModel on a recipe's data, as one more row of an ablation.

    python benchmarks/ablation.py RECIPE --minutes M --into FOLDER ...
    python benchmarks/marian.py RECIPE --minutes M --into FOLDER [--set KEY=VALUE]... [--rate R]
    python benchmarks/ablation.py RECIPE --minutes M --into FOLDER --table

The model has the recipe's sizes and dropout, and sees the same batches in the same order, with the
same label smoothing. As the rows of the ablation, it has as many steps as fit into M minutes at
its own pace, in the recipe's precision (mixed_bfloat16: PyTorch's autocast). Adam's rate rises to
R over the recipe's warm-up and falls with a cosine. PyTorch uses one thread, as rows are measured
on one core. Translations are those of ``generate`` with four beams. Needs torch and transformers.
"""

import argparse
import itertools
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

from ablation import TIMED, WARM, Row, slug
from train_sides import marian_config

from nmt_cli.data.batches import Position, training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.files import replacing
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

BEAMS, SENTENCES = 4, 32


class Training:
    """A Marian model, its optimizer and its batches."""

    def __init__(self, recipe: Recipe, prepared: Prepared, rate: float) -> None:
        import torch
        from transformers import MarianMTModel

        torch.manual_seed(recipe.seed)
        torch.set_num_threads(1)
        pair = prepared.tokenizers()
        vocab = [pair.source.vocab_size, pair.target.vocab_size]
        self.model = MarianMTModel(marian_config(recipe, vocab)).train()
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)
        self._recipe, self._rate = recipe, rate
        self.epochs = training_batches(recipe, prepared)

    def run(self, steps: int, end: int) -> float:
        """Train for so many steps of a schedule with ``end`` steps; return the last loss."""
        import torch
        from torch.nn.functional import cross_entropy

        config, loss = self._recipe.training, math.nan
        batches = itertools.islice(self.epochs.starting_at(Position()), steps)
        for step, (_, batch, _) in enumerate(batches, start=1):
            source, target_in, target_out = (torch.from_numpy(array).long() for array in batch)
            with torch.autocast("cpu", torch.bfloat16, config.precision == "mixed_bfloat16"):
                logits = self.model(
                    input_ids=source, attention_mask=source != PAD_ID, decoder_input_ids=target_in
                ).logits
            error = cross_entropy(
                logits.float().flatten(0, 1),
                target_out.flatten(),
                ignore_index=PAD_ID,
                label_smoothing=config.label_smoothing,
            )
            for group in self._optimizer.param_groups:
                group["lr"] = self._rate * _scale(step, config.warmup_steps, end)
            self._optimizer.zero_grad()
            error.backward()
            self._optimizer.step()
            loss = float(error.detach())
            if step % 50 == 0:
                print(f"step {step:,} of {end:,}  loss {loss:.3f}", flush=True)
        return loss

    def translate(self, prepared: Prepared, name: str) -> list[str]:
        """Translate a set of the prepared data."""
        import torch

        pair = prepared.tokenizers()
        encoded = pair.source.encode(prepared.text(name).source)
        ids = [pair.source.with_special_tokens(sentence) for sentence in encoded]
        translations = [""] * len(ids)
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
        self.model.eval()
        for begin in range(0, len(order), SENTENCES):
            rows = order[begin : begin + SENTENCES]
            source = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(ids[row]) for row in rows], batch_first=True, padding_value=PAD_ID
            )
            made = self.model.generate(
                input_ids=source,
                attention_mask=(source != PAD_ID).long(),
                num_beams=BEAMS,
                max_length=min(2 * source.shape[1] + 10, 250),
                suppress_tokens=[PAD_ID, START_ID],
                use_cache=True,
            )
            special = (PAD_ID, START_ID, END_ID)
            kept = [[token for token in row if token not in special] for row in made.tolist()]
            for row, text in zip(rows, pair.target.decode(kept), strict=True):
                translations[row] = text
        return translations


def _scale(step: int, warmup: int, end: int) -> float:
    """Linear warm-up, then half a cosine to zero."""
    if step < warmup:
        return step / warmup
    return (1 + math.cos(math.pi * (step - warmup) / max(end - warmup, 1))) / 2


def pace(recipe: Recipe, prepared: Prepared, place: Path) -> float:
    """Seconds per step; measured once."""
    kept = place / "pace.json"
    if not kept.exists():
        training = Training(recipe, prepared, 0.0)
        training.run(WARM, WARM)
        began = time.monotonic()
        training.run(TIMED, TIMED)
        kept.write_text(json.dumps((time.monotonic() - began) / TIMED), encoding="utf-8")
    return float(json.loads(kept.read_text(encoding="utf-8")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--minutes", type=float, default=12.5)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pace", action="store_true", help="only time the steps")
    options = parser.parse_args()
    recipe = load_recipe(Path(options.recipe), tuple(options.settings))
    prepared = Prepared.open(options.into / "prepared")
    name = f"MarianMTModel, rate {options.rate:g}"
    place = options.into / slug(name)
    place.mkdir(exist_ok=True)
    seconds = pace(recipe, prepared, place)
    print(f"{name}: {1000 * seconds:.0f} ms per step", flush=True)
    if options.pace:
        return
    steps, began = int(60 * options.minutes / seconds), time.monotonic()
    training = Training(recipe, prepared, options.rate)
    training.run(steps, steps)
    for part in ("dev", *prepared.tests):
        lines = training.translate(prepared, part)
        (place / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    count = sum(weights.numel() for weights in training.model.parameters())
    epochs = steps / len(training.epochs.order(0))
    minutes = (time.monotonic() - began) / 60
    with replacing(place / "row.json") as stream:
        json.dump(asdict(Row(name, [], count, seconds, steps, epochs, minutes)), stream, indent=2)


if __name__ == "__main__":
    main()
