"""Compare the decoding speed of a Transformer base with CTranslate2, on random weights.

6+6 post-norm layers, d 512, feed-forward 2,048, 8 heads, a vocabulary of 8,000, as initialised
from seed 1. Sources are 30 random words of one token each, and every translation is forced to 30
tokens, so that the work does not depend on the weights.

    python benchmarks/decoding.py [--tokenizer-from RUN] [--lines N] [OPTIONS]

OPTIONS are passed on to benchmarks/against_ctranslate2.py.

Needs ``pip install '.[train,ctranslate2]'``.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.text.tokenizer import Tokenizer, load_tokenizers
from nmt_cli.training.checkpoint import TrainingState, save_checkpoint
from nmt_cli.training.model import compiled_model
from nmt_cli.training.run import Run

VOCAB, WORDS, SEED = 8000, 30, 1
CONFIG = TransformerConfig(
    d_model=512,
    feed_forward=2048,
    heads=8,
    encoder_layers=6,
    decoder_layers=6,
    norm="post",
    embeddings="all",
)


def made_up_lines(tokenizer: Tokenizer, count: int) -> list[str]:
    """Lines of WORDS words, each of which is one token."""
    texts = [tokenizer.decode([[token]])[0] for token in range(4, tokenizer.vocab_size)]
    encoded = tokenizer.encode(texts)
    words = [text for text, ids in zip(texts, encoded, strict=True) if text and len(ids) == 1]
    rng = random.Random(SEED)
    lines: list[str] = []
    while len(lines) < count:
        line = " ".join(rng.choices(words, k=WORDS))
        if len(tokenizer.encode([line])[0]) == WORDS:
            lines.append(line)
    return lines


def make_run(folder: Path, tokenizer_from: Path, lines: int) -> None:
    """Write a run folder as nmt train does, without training."""
    folder.mkdir()
    recipe = Recipe(name="base", seed=SEED, model=CONFIG)
    run = Run(VOCAB, VOCAB, "none", folder=folder, recipe=recipe)
    tokenizers = load_tokenizers(tokenizer_from / "tokenizer")
    sizes = tokenizers.source.vocab_size, tokenizers.target.vocab_size
    if sizes != (VOCAB, VOCAB) or tokenizers.source is not tokenizers.target:
        sys.exit(f"{tokenizer_from}: needs one joint vocabulary of {VOCAB:,}, not {sizes}")
    text = made_up_lines(tokenizers.source, lines)
    run.write(tokenizer_from / "tokenizer", text, text)
    save_checkpoint(run.checkpoint(1), compiled_model(run), TrainingState(step=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer-from", type=Path, default=Path("runs/docs-pt-en"))
    parser.add_argument("--lines", type=int, default=128, help="sources (default: 128)")
    parser.add_argument("--length", type=int, default=30, help="of translations (default: 30)")
    options, others = parser.parse_known_args()
    if not (options.tokenizer_from / "tokenizer").is_dir():
        sys.exit(f"{options.tokenizer_from}: no run; name one with --tokenizer-from")
    with tempfile.TemporaryDirectory(prefix="nmt-decoding-") as place:
        run = Path(place) / "base"
        make_run(run, options.tokenizer_from, options.lines)
        script = Path(__file__).with_name("against_ctranslate2.py")
        command = [sys.executable, str(script), str(run), *others]
        command += ["--forced-length", str(options.length)]
        sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
