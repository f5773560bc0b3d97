"""Models that Marian trains (pymarian), and small untrained runs and their exports."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import sentencepiece
import yaml

from nmt_cli.data.corpus import read_corpus
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.importing.marian import import_marian
from nmt_cli.export.marian import files, firefox, folder
from nmt_cli.export.trained import TrainedModel
from nmt_cli.recipe.config import DataConfig
from nmt_cli.training.checkpoint import inference_weights, read_checkpoint
from nmt_cli.training.run import Run
from tests.conftest import Once
from tests.systems import untrained_run

SSRU = "--dec-cell ssru --transformer-decoder-autoreg rnn"
PRE = "--transformer-preprocess n --transformer-postprocess da"
# By name: the options of a training, and whether the languages have one vocabulary.
SHAPES = {
    "post-norm": ("--tied-embeddings-all", True),
    "ssru": (f"{SSRU} --tied-embeddings-all --transformer-ffn-activation relu --enc-depth 3", True),
    "pre-norm": (f"{PRE} --tied-embeddings --transformer-postprocess-top n --dec-depth 1", False),
    "untied": ("--transformer-ffn-activation relu --enc-depth 1 --dec-depth 3", False),
    "tied layers": (
        f"{SSRU} {PRE} --tied-embeddings-src --dec-depth 3 --transformer-tied-layers 1 1 2 "
        "--output-omit-bias",
        True,
    ),
}
QUIET = ["--cpu-threads", "1", "--workspace", "256", "--quiet"]
TRAINING = (
    "--type transformer --dim-emb 64 --transformer-heads 4 --transformer-dim-ffn 128 --enc-depth 2 "
    "--dec-depth 2 --after-batches 500 --mini-batch 64 --maxi-batch 10 --learn-rate 0.003 "
    "--lr-warmup 100 --optimizer-params 0.9 0.98 1e-9 --clip-norm 1 --cpu-threads 1 --seed 7 "
    "--max-length 60 --workspace 512 --quiet"
)

LINES = ["Onde fica a farmácia?", "12 kg de pão ☃", ""]
DATA = {"source": "pt", "target": "en", "train": ["phrasebook:test"]}
MARIAN = {"norm": "post", "start": "zero", "positions": "marian", "output_bias": True}
# Untrained runs. Without padding and START, no vocabulary has a multiple of 8.
SMALL: dict[str, dict[str, Any]] = {
    "ssru": {
        "model": {**MARIAN, "decoder": "ssru", "encoder_layers": 2},
        "tokenizer": {"vocab_size": 403},
    },
    "separate": {
        "model": {**MARIAN, "embeddings": "target-softmax", "activation": "swish"},
        "tokenizer": {"vocab_size": 371, "joint": False},
    },
}


@pytest.fixture(scope="session")
def small(once: Once) -> Callable[[str], Run]:
    """A function that makes a small run of the phrasebook once."""

    def make(name: str) -> Run:
        folder = once(f"marian-{name}", lambda work: untrained_run(work, data=DATA, **SMALL[name]))
        return Run.open(folder / "run")

    return make


@pytest.fixture(scope="session")
def written(once: Once, small: Callable[[str], Run]) -> Callable[..., Path]:
    """A function that exports a small run once, unverified: for Marian, or for Firefox."""

    def make(name: str, for_firefox: bool = False) -> Path:
        place = f"marian-{name}-{'firefox' if for_firefox else 'folder'}"
        return once(place, lambda work: export(small(name), work / "pt-en", for_firefox)) / "pt-en"

    return make


def export(run: Run, output: Path, for_firefox: bool) -> None:
    """Export a run, unverified, to a new folder; with a shortlist if its data is there."""
    prepared = run.folder.parent / "prepared"
    shortlist = for_firefox and prepared.exists()
    options = ExportOptions(checkpoint=run.preferred, shortlist=shortlist, prepared=prepared)
    output.mkdir()
    with mock.patch("nmt_cli.export.onnx.bundle.CALIBRATION_PAIRS", 3):
        (firefox if for_firefox else folder).write(TrainedModel.open(run, options), options, output)


def weights_of(run: Run) -> dict[str, Any]:
    """Return the weights of a run, by path."""
    arrays = inference_weights(read_checkpoint(run.preferred)[0])
    return {name.removeprefix("weights/"): array for name, array in arrays.items()}


def again(path: Path, output: Path) -> Run:
    """Import what was exported, without changes."""
    return Run.open(import_marian(path, output, suppress_unknown=False))


def change(model: Path, **changes: Any) -> None:
    """Change tensors of a .npz file, or remove them with None."""
    with np.load(model) as archive:
        tensors = {name: archive[name] for name in archive} | changes
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    with model.open("wb") as stream:
        np.savez(stream, **kept)


def set_settings(model: Path, **changes: Any) -> None:
    """Change settings of a .npz file; names have _ in place of -."""
    with np.load(model) as archive:
        settings = yaml.safe_load(archive[files.SETTINGS].tobytes().rstrip(b"\0"))
    settings |= {name.replace("_", "-"): value for name, value in changes.items()}
    change(model, **{files.SETTINGS: files.settings_text(settings)})


@dataclass(frozen=True)
class Decoded:
    """What Marian translates a line to, and its log-probability."""

    text: str
    score: float


def pymarian(*words: object, stdin: str = "") -> str:
    """Run Marian; returns its output."""
    command = [sys.executable, "-m", "pymarian", *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def decode(folder: Path, lines: list[str], beam: int, *words: str) -> list[Decoded]:
    """Translate lines with the model and the vocabularies of a folder."""
    [model], vocabularies = folder.glob("model.npz"), sorted(folder.glob("*.spm"))
    given = ["-m", model, "--vocabs", vocabularies[0], vocabularies[-1], "-b", beam, *words]
    settings = [
        "--normalize",
        "0",
        "--n-best",
        "--cpu-threads",
        "1",
        "--workspace",
        "256",
        "--quiet",
    ]
    text = pymarian("decode", *given, *settings, stdin="".join(f"{line}\n" for line in lines))
    best: dict[int, Decoded] = {}
    for row in text.splitlines():
        number, translation, *_, score = row.split("|||")
        best.setdefault(int(number), Decoded(translation.strip(), float(score)))
    return [best[number] for number in range(len(lines))]


def score(folder: Path, source: Path, target: Path) -> list[float]:
    """Return the log-probabilities of the lines of a file, given those of another."""
    [model], vocabularies = folder.glob("model.npz"), sorted(folder.glob("*.spm"))
    texts = ["-t", source, target, "--vocabs", vocabularies[0], vocabularies[-1]]
    settings = QUIET
    return [float(line) for line in pymarian("score", "-m", model, *texts, *settings).splitlines()]


@pytest.fixture(scope="session")
def phrases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the phrasebook, and vocabularies of both languages and of each."""
    folder = tmp_path_factory.mktemp("phrases")
    data = DataConfig(source="pt", target="en")
    for split in ("train", "test"):
        corpus = read_corpus(f"phrasebook:{split}", data)
        for side, lines in (("pt", corpus.source), ("en", corpus.target)):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")
    for name, sides, size in (("both", ("pt", "en"), 1000), ("pt", "pt", 600), ("en", "en", 504)):
        sentencepiece.SentencePieceTrainer.train(
            input=[str(folder / f"train.{side}") for side in ([sides] if name == sides else sides)],
            model_prefix=str(folder / name),
            vocab_size=size,
            character_coverage=1.0,
            **{"eos_id": 0, "unk_id": 1, "bos_id": -1, "pad_id": -1, "minloglevel": 2},
        )
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
    return folder


@pytest.fixture(scope="session")
def trained(phrases: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that trains a model of a shape once, and returns its folder."""
    pytest.importorskip("pymarian")
    models = tmp_path_factory.mktemp("marian")

    def make(name: str) -> Path:
        folder = models / name / "pt-en"
        if folder.exists():
            return folder
        folder.mkdir(parents=True)
        options, joint = SHAPES[name]
        names = {"vocab.spm": "both"} if joint else {"srcvocab.spm": "pt", "trgvocab.spm": "en"}
        for file, vocabulary in names.items():
            (folder / file).write_bytes((phrases / f"{vocabulary}.spm").read_bytes())
        vocabularies = [folder / file for file in names]
        texts = [phrases / "train.pt", phrases / "train.en"]
        # Options in the text come first: the last one counts, but each may be given only once.
        given = options.split()
        kept = _without(TRAINING.split(), given)
        work = folder / "model.npz", "-t", *texts, "--vocabs", vocabularies[0], vocabularies[-1]
        pymarian("train", "-m", *work, *kept, *given)
        for extra in folder.glob("model.npz.*"):
            extra.unlink()
        return folder

    return make


def _without(words: list[str], given: list[str]) -> list[str]:
    """Return options and their values without those that are given."""
    kept, skipping = [], False
    for word in words:
        if word.startswith("--"):
            skipping = word in given
        if not skipping:
            kept.append(word)
    return kept
