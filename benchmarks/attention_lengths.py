"""Compare recurrent models with and without attention on sentences of different lengths.

    python benchmarks/attention_lengths.py --into FOLDER [--steps N] [--set KEY=VALUE]...

Each line of text is 1 to 5 sentences of the phrasebook, in random order. A model with Luong
attention and one with `model.attention = "none"`, the same otherwise, train on 10,000 lines for the
same number of steps; `nmt evaluate --by length` scores them on 500 lines of the test set. Needs no
data. A model that is already in FOLDER is not trained again.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

from nmt_cli.data.corpus import sentence_pairs

NMT = [sys.executable, "-m", "nmt_cli"]
SIZES = {"train": 10_000, "dev": 200, "test": 500}
MAX_SENTENCES = 5
RECIPE = """
extends = "phrasebook.toml"

[data]
train = ["train"]
dev = ["dev"]
test = ["test"]

[model]
architecture = "rnn"
encoder_layers = 1
decoder_layers = 1
encoder_cell = "gru"
decoder_cell = "gru"

[training]
batch_tokens = 2048
clip_norm = 1.0
learning_rate = 0.5
max_minutes = 0.0
validate_every = 500

[decoding]
split_sentences = false
"""


def write_texts(folder: Path) -> None:
    """Write SPLIT.pt and SPLIT.en of each split, the same on each call."""
    rng = np.random.default_rng(1)
    for split, lines in SIZES.items():
        pairs = sentence_pairs(split)
        counts = rng.integers(1, MAX_SENTENCES + 1, lines)
        rows = [rng.integers(0, len(pairs), count) for count in counts]
        for side in ("pt", "en"):
            text = "".join(" ".join(pairs[index][side] for index in row) + "\n" for row in rows)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")


def main() -> None:
    """Train what is missing, and print the scores by length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    write_texts(options.into)
    recipes = Path(__file__).parent.parent / "recipes"
    recipe = options.into / "lengths.toml"
    recipe.write_text(RECIPE.replace("phrasebook.toml", str(recipes / "phrasebook.toml")))
    settings = [f"data.root={options.into}", f"training.max_steps={options.steps}", *options.set]
    models = []
    for attention in ("luong-general", "none"):
        run = options.into / attention
        models += ["-m", str(run)]
        if (run / "best.npz").exists():
            continue
        command = [*NMT, "train", str(recipe), "-o", str(run)]
        command += ["--prepared", str(options.into / "prepared"), "--force"]
        for setting in (*settings, f"model.attention={attention}"):
            command += ["--set", setting]
        subprocess.run(command, check=True)
    text = ["--source", options.into / "test.pt", "--reference", options.into / "test.en"]
    subprocess.run([*NMT, "evaluate", *models, *text, "--by", "length"], check=True)


if __name__ == "__main__":
    main()
