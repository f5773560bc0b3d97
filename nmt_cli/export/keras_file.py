"""Write a run's model as a .keras file, and compare it with the trained model."""

import shutil
from pathlib import Path

import keras
import numpy as np

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.manifest import Check, Verification, require_passed
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import forced_pairs
from nmt_cli.search.segments import padded
from nmt_cli.text.tokenizer import START_ID

MODEL = "model.keras"


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the model and the tokenizer, unverified."""
    trained.step_model.graph.model.save(folder / MODEL)
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a file's logits with its model's, and write the card with the report."""
    sources, targets = zip(*forced_pairs(trained), strict=True)
    batch = padded(sources), padded([[START_ID, *ids] for ids in targets])
    models = trained.step_model.graph.model, keras.models.load_model(folder / MODEL)
    ours, theirs = (np.asarray(model(batch)) for model in models)
    name = f"logits that differ, of {ours.size:,}"
    checks = [Check.of(name, int((ours != theirs).sum()), 0)]
    require_passed(checks, MODEL, "please report this")
    report = trained.passed(checks)
    return trained.write_card(folder, options.precision, "as a .keras file", "keras", report)
