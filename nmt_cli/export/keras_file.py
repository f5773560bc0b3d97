"""Writing a run's model as a .keras file, and comparing it with the run it was made from."""

import shutil
from pathlib import Path

import keras
import numpy as np

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.errors import NmtError
from nmt_cli.export.card import write_card
from nmt_cli.export.exporter import ExportOptions, Trained
from nmt_cli.export.verification import FORCED_SENTENCES, passed
from nmt_cli.runtime.check import HARD_LINES
from nmt_cli.search.batching import padded
from nmt_cli.text.tokenizer import START_ID

MODEL = "model.keras"
_USAGE = """\
    import keras
    import nmt_cli.model.{architecture}.network  # its layers

    model = keras.models.load_model("THIS_FOLDER/{model}")
    logits = model([source, target])

`source` is int32 [B, S], sentences with the end token, padded with 0; `target` is int32 [B, T], the
start token and the tokens so far. `logits` are float32 [B, T, V], of the token that follows each.
`{folder}/` has the tokenizer."""


def write(trained: Trained, options: ExportOptions, folder: Path) -> None:
    """Write the model and the tokenizer, unverified."""
    trained.step_model.graph.model.save(folder / MODEL)
    shutil.copytree(trained.run.folder / "tokenizer", folder / TOKENIZER)


def verify(trained: Trained, options: ExportOptions, folder: Path) -> Verification:
    """Compare a file's logits with its model's, and write the card with the report."""
    sources, targets = (
        [*side, *filter(str.strip, HARD_LINES)][:FORCED_SENTENCES]
        for side in trained.run.held_out()
    )
    tokenizers = trained.run.tokenizers()
    framed = [tokenizers.source.frame_source(ids) for ids in tokenizers.source.encode(sources)]
    started = [[START_ID, *ids] for ids in tokenizers.target.encode(targets)]
    batch = padded(framed), padded(started)
    models = trained.step_model.graph.model, keras.models.load_model(folder / MODEL)
    ours, theirs = (np.asarray(each(batch)) for each in models)
    name = f"logits that differ, of {ours.size:,}"
    check = Check.of(name, int((ours != theirs).sum()), 0)
    if not check.passed:
        raise NmtError(f"the export failed verification: {check}", "report this as a bug in nmt")
    report, kind = passed(trained, [check]), trained.run.recipe.model.architecture
    usage = _USAGE.format(architecture=kind, model=MODEL, folder=TOKENIZER)
    write_card(folder, trained, options.precision, "as a .keras file", usage, report)
    return report
