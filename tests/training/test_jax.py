"""The JAX backend in a separate process: training, validation, resuming and decoding."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run
from tests.systems import toy_data

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
