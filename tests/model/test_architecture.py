"""Architectures report the correct parameter counts and tensor shapes of their models."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nmt_cli.model
from nmt_cli.model import build_model, step_graph_of
from nmt_cli.recipe.model import ARCHITECTURES, model_config
from tests.model.models import VOCAB, batch

# Together they cover every key of [model] that affects the number of weights.
TABLES: list[dict[str, Any]] = [
    {"norm": "post", "embeddings": "source-target"},
    {"positions": "learned", "max_positions": 9, "embeddings": "target-softmax"},
    {"positions": "learned", "max_positions": 9, "shared_positions": True, "embeddings": "none"},
    {"key_dim": 3, "value_dim": 16, "heads": 3, "d_model": 14, "attention_bias": False},
    {"activation": "swiglu", "encoder_layers": 3, "decoder_layers": 1, "layer_drop": 0.5},
    {"pad_ids": [0, 9], "output_bias": True, "activation": "swish"},
    {"output_bias": True, "embeddings": "none"},
    {"pad_ids": [0, 9], "decoder": "ssru", "attention_bias": False},
    {"architecture": "rnn", "encoder_layers": 1},
    {"architecture": "rnn", "input_feeding": False, "attention": "luong-dot"},
    {"architecture": "rnn", "attention": "luong-concat", "encoder_cell": "gru"},
    {
        "architecture": "rnn",
        "attention": "bahdanau",
        "decoder_cell": "gru",
        "decoder_layers": 1,
        "embeddings": "none",
    },
    {"architecture": "rnn", "attention": "none", "decoder_cell": "gru"},
    {
        "architecture": "rnn",
        "attention": "luong-dot",
        "attention_scale": True,
        "attentional_vector": False,
    },
]


@pytest.mark.parametrize("keys", TABLES, ids=str)
def test_parameters_and_tensors_match_the_model(keys: dict[str, Any]) -> None:
    table = {"d_model": 16, "feed_forward": 24, "heads": 2, "encoder_layers": 2}
    config = model_config({**table, "decoder_layers": 2, **keys}, "test")
    target_vocab = VOCAB if config.embeddings in ("all", "source-target") else VOCAB + 4
    model = build_model(config, VOCAB, target_vocab, seed=1)
    assert config.count_parameters(VOCAB, target_vocab) == model.count_params()
    assert model.name == config.architecture

    graph = step_graph_of(model)
    assert graph.config == config
    source, target = batch()
    sizes = {"B": 3, "S": 7, "K": 2, "P": 0}

    def sized(shape: tuple[int | str, ...]) -> tuple[int, ...]:
        return tuple(sizes.get(axis, axis) for axis in shape)

    output = graph.encode(source)
    shapes = [sized(shape) for shape in config.encoder_output().values()]
    assert [tuple(tensor.shape) for tensor in output] == shapes
    caches = [np.zeros(sized(shape), np.float32) for shape in config.caches().values()]
    ancestry = np.broadcast_to(np.eye(2, dtype=bool), (3, 2, 2))
    step = target[:, :2], np.array([0], np.int32), ancestry, output, caches
    sizes["P"] = 2
    if config.attends:
        weights, grown = graph.step_attention(*step)
        assert tuple(weights.shape) == sized(("B", *config.cross_attention(), "K", "S"))
    else:
        *_, grown = graph.step(*step)
    shapes = [sized(shape) for shape in config.caches().values()]
    assert [tuple(cache.shape) for cache in grown] == shapes


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_describes_its_default_model(name: str) -> None:
    config = ARCHITECTURES[name]()
    assert asdict(config)["architecture"] == name
    assert config.problem() is None
    assert config.summary().startswith("A ")
    assert config.widest_product() >= config.d_model**2
    assert next(iter(config.encoder_output())) == "source_mask"
    assert Path(nmt_cli.model.__file__).with_name(f"{name}.py").exists()


def test_reading_a_recipe_imports_no_model() -> None:
    script = (
        "import json, sys\n"
        "from nmt_cli.recipe.reading import recipe_from\n"
        "recipe_from({'model': {'architecture': 'rnn'}}, 'test')\n"
        "print(json.dumps(list(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"nmt_cli.model", "keras", "tensorflow", "jax", "numpy", "onnxruntime"}
