"""The JAX backend in a separate process: training, validation, resuming and decoding."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.training.checkpoint import load_checkpoint
from nmt_cli.training.model import compiled_model, trained_model
from nmt_cli.training.run import Run
from tests.harness import nmt
from tests.systems import toy_data, toy_recipe, write_toy_corpus

LINES = ["um dois três", "casa gato água pão café sol", "seis", "nove dez", "sol sete"]

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from nmt_cli.data.prepared import Prepared
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.training.train import train
from tests.systems import rewound
from tests.training.test_jax import attention, translations
root = Path(sys.argv[1])
recipe, prepared = load_recipe(root / "toy.toml"), Prepared.open(root / "prepared")
run = train(recipe, prepared, root / "whole")
train(recipe, prepared, rewound(run, root / "parts", 3), resume=True)
(root / "jax.txt").write_text("\\n".join(translations(run)))
np.save(root / "jax.npy", attention(run))
"""


# Runs nmt where only the extra train-jax is installed; prints each command's exit code.
WITHOUT_TENSORFLOW = """
import json, sys
packages = ["tensorflow", "tensorflow_text", "tensorflow_datasets", "tensorboard", "matplotlib"]
packages += ["tf2onnx", "onnx", "onnx_ir", "onnxscript", "safetensors", "yaml"]
sys.modules.update(dict.fromkeys(packages))
from nmt_cli.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["nmt", *words]
    try:
        main()
    except SystemExit as end:
        print("code", end.code or 0, file=sys.stderr)
"""


def translator_of(run: Run) -> Translator:
    model, _ = trained_model(run, run.last)
    decoding = replace(run.recipe.decoding, max_source=64)
    options = DecodingOptions(beam_size=3)
    return translator_for(KerasStepModel(model), run.tokenizers(), decoding, options)


def translations(run: Run) -> list[str]:
    return [translation.text for translation in translator_of(run).translate(LINES)]


def attention(run: Run) -> np.ndarray:
    """Return the decoder's attention in forced decoding of targets with different lengths."""
    pairs = [([2, 5, 6, 7, 3], [4, 5, 6]), ([2, 8, 3], [7]), ([2, 9, 9, 3], [])]
    results = translator_of(run).force(pairs, attention=True)
    return np.concatenate([result.attention.ravel() for result in results])


def without_tensorflow(folder: Path, *commands: list[str]) -> tuple[list[str], str]:
    """Run commands in one new process; return the messages of each, with its code, and stdout."""
    done = nmt(json.dumps(commands), cwd=folder, command=[sys.executable, "-c", WITHOUT_TENSORFLOW])
    parts = done.err.split("code ")
    codes = [part.partition("\n")[0] for part in parts[1:]]
    texts = [part.partition("\n")[2] for part in parts[1:-1]]
    assert len(codes) == len(commands), done.err
    messages = zip([parts[0], *texts], codes, strict=True)
    return [f"{text}code {code}" for text, code in messages], done.out.decode()


def test_training_without_tensorflow_or_the_corpora(tmp_path: Path) -> None:
    """With no backend chosen, JAX trains; the text is gone once it is prepared."""
    write_toy_corpus(tmp_path, 60)
    recipe = toy_recipe(
        tmp_path,
        data={"max_tokens": 8},  # one width to compile
        training={"max_steps": 2, "validate_every": 2, "validate_sentences": 1},
        decoding={"max_length": 6, "beam_size": 1},
    )
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    (tmp_path / "text").write_text("um dois\n", encoding="utf-8")
    train = ["train", "toy.toml", "--set", "data.root=gone"]
    (first, whole, resumed, translated), out = without_tensorflow(
        tmp_path,
        ["prepare", "toy.toml"],
        train,
        [*train, "--resume", "--set", "training.max_steps=3"],
        ["translate", "-m", "runs/toy-xx-yy", "text"],
    )
    assert "pairs in prepared/toy-xx-yy" in first
    reason = "gone/train.xx: no such file"
    assert f"prepared/toy-xx-yy is used as it was prepared: {reason}\n" in whole
    assert "validation loss" in whole
    assert "trained 2 steps" in whole
    assert "resuming at step 2" in resumed
    assert "trained 3 steps" in resumed
    assert translated.endswith("code 0")
    assert len(out.splitlines()) == 1
    # TensorFlow continues the training: same weights, same state of the optimizer.
    run = Run.open(tmp_path / "runs" / "toy-xx-yy")
    with np.load(run.last) as arrays:
        model = compiled_model(run)
        state = load_checkpoint(run.last, model, training=True)
        assert state.step == 3
        for variable in model.optimizer.variables:
            name = f"optimizer/{variable.path.partition('/')[2]}"
            np.testing.assert_array_equal(variable, arrays[name], err_msg=name)
    assert translations(run)


def test_what_needs_tensorflow_names_the_extra(tmp_path: Path, tiny_run: Run) -> None:
    write_toy_corpus(tmp_path, 60)
    (tmp_path / "toy.toml").write_text(toy_recipe(tmp_path).dump(), encoding="utf-8")
    run = str(tiny_run.folder)
    data = {
        "tf2onnx": ["quickstart"],
        "tensorflow_text": ["prepare", "toy.toml", "--set", "tokenizer.kind=wordpiece"],
        "tensorflow_datasets": ["prepare", "toy.toml", "--set", 'data.train=["tfds:x:train"]'],
    }
    formats = ("--onnx", "--saved-model", "--huggingface", "--marian")
    exports = [["export", run, name, "-o", f"export{name}"] for name in formats]
    before = sorted(tmp_path.iterdir())
    messages = without_tensorflow(tmp_path, *data.values())[0]
    messages += without_tensorflow(tmp_path, *exports)[0]
    for package, message in zip([*data, *["tensorflow"] * 4], messages, strict=True):
        line = f"nmt: this command needs {package}; pip install 'nmt_cli[train]'\ncode 1"
        assert message.endswith(line), message
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    # What SSRUs need of JAX, recurrent models need as well: scans and the states of parents.
    [
        {"start": "zero", "output_bias": True},
        {"architecture": "rnn", "decoder_layers": 2, "dropout": 0.1},
    ],
    ids=str,
)
def test_jax_resumes_exactly_and_translates_like_tensorflow(tmp_path, model):
    recipe, _ = toy_data(
        tmp_path,
        data={"max_tokens": 12},  # two widths, each of which is compiled
        model=model,
        training={"max_steps": 6, "checkpoint_every": 3, "log_every": 2, "validate_every": 6},
        decoding={"max_length": 12},
    )
    (tmp_path / "toy.toml").write_text(recipe.dump(), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        check=True,
        timeout=400,
    )
    whole, parts = Run.open(tmp_path / "whole"), Run.open(tmp_path / "parts")
    with np.load(whole.last) as expected, np.load(parts.last) as arrays:
        assert arrays.files == expected.files
        for name in set(expected.files) - {"progress"}:
            np.testing.assert_array_equal(arrays[name], expected[name], err_msg=name)
    assert whole.best.exists()
    assert translations(parts) == (tmp_path / "jax.txt").read_text().split("\n")
    np.testing.assert_allclose(
        attention(parts), np.load(tmp_path / "jax.npy"), rtol=1e-4, atol=1e-6
    )
