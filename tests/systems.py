"""Small recipes, prepared data and runs that are created within seconds."""

import shutil
from pathlib import Path
from unittest import mock

import numpy as np

from nmt_cli.data.prepare import prepare
from nmt_cli.data.prepared import Prepared
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import recipe_from
from nmt_cli.training.checkpoint import TrainingState, read_checkpoint, save_checkpoint
from nmt_cli.training.model import compiled_model
from nmt_cli.training.run import Run

WORDS = ["um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez"]
WORDS += ["casa", "gato", "água", "pão", "café", "sol"]


# Every kind of dropout.
DROPOUTS = {
    "dropout": 0.2,
    "attention_dropout": 0.2,
    "activation_dropout": 0.2,
    "word_dropout": 0.2,
    "layer_drop": 0.3,
}


def write_toy_corpus(folder: Path, pairs: int = 300, seed: int = 0) -> None:
    """Write train.xx, lines of random words, and train.yy, the same words reversed."""
    rng = np.random.default_rng(seed)
    lines = [list(rng.choice(WORDS, rng.integers(1, 7))) for _ in range(pairs)]
    for suffix, text in (("xx", lines), ("yy", [line[::-1] for line in lines])):
        (folder / f"train.{suffix}").write_text(
            "".join(" ".join(line) + "\n" for line in text), encoding="utf-8"
        )


def toy_recipe(root: Path, **sections: dict[str, object]) -> Recipe:
    """Return a tiny recipe for :func:`write_toy_corpus`; ``sections`` override its tables."""
    tree: dict[str, dict[str, object]] = {
        "data": {"source": "xx", "target": "yy", "root": str(root), "train": ["train"]},
        "tokenizer": {"vocab_size": 320, "character_coverage": 1.0},
        "model": {
            "d_model": 32,
            "feed_forward": 64,
            "heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
        },
        "training": {
            "batch_tokens": 256,
            "max_steps": 12,
            "warmup_steps": 20,
            "validate_every": 6,
            "validate_sentences": 4,
            "log_every": 3,
        },
        "decoding": {"max_length": 24},
    }
    for section, values in sections.items():
        tree[section] = {**tree.get(section, {}), **values}
    return recipe_from({"name": "toy", **tree}, where="toy recipe")


def toy_data(folder: Path, **sections: dict[str, object]) -> tuple[Recipe, Prepared]:
    """Return a recipe and its prepared data under ``folder``."""
    write_toy_corpus(folder)
    recipe = toy_recipe(folder, **sections)
    return recipe, prepare(recipe, folder / "prepared")


def untrained_run(folder: Path, seed: int = 19, **sections: dict[str, object]) -> Run:
    """Return a run with random weights and biases, which is enough for parity tests.

    It has two decoder layers, so that mixed-up caches are noticed. With the default seed, it
    writes letters: translations without any would be refused.
    """
    sections["model"] = {"decoder_layers": 2, **sections.get("model", {})}
    recipe, prepared = toy_data(folder, **sections)
    run = Run.create(folder / "run", recipe, prepared)
    model = compiled_model(run)
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        value = weight + rng.normal(scale=0.3, size=weight.shape)
        weight.assign(weight.constraint(value) if weight.constraint else value)
    save_checkpoint(run.checkpoint(1), model, TrainingState(step=1))
    return run


def rewound(run: Run, folder: Path, step: int) -> Path:
    """Return a copy of a run as if it had been killed after it saved this step."""
    shutil.copytree(run.folder, folder)
    copy = Run.open(folder)
    for path in (*copy.checkpoints(), copy.best):
        if path.exists() and read_checkpoint(path, only_state=True)[1].step > step:
            path.unlink()
    assert copy.last == copy.checkpoint(step)
    return folder


def export_bundle(
    run: Run,
    folder: Path,
    precision: str = "float32",
    verify: bool = False,
    attention: str | None = None,
    shortlist: int = 0,
) -> Path:
    """Export a run's last weights, silently; ``shortlist`` is the size of shortlists."""
    options = ExportOptions(
        output=folder,
        checkpoint=run.last,
        precision=precision,
        verify=verify,
        attention=attention,
        shortlist=bool(shortlist),
        prepared=run.folder.parent / "prepared",
        force=True,
    )
    with mock.patch("nmt_cli.export.onnx.bundle.SHORTLIST_SIZE", shortlist):
        EXPORTERS["onnx"].export(run, options)
    return folder
