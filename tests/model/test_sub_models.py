"""Encoder and decoder as models of their own, which take masks and return attention."""

import numpy as np
import pytest
from keras import ops

from nmt_cli.model.layers import MASKED, padding_mask, target_mask
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.model.sub_models import decoder_of, encoder_of
from nmt_cli.search.alignment import forced_attention
from nmt_cli.text.tokenizer import END_ID, START_ID
from tests.model.models import batch, logits, tiny

VARIANTS = [
    {},
    {"norm": "post", "heads": 1, "embeddings": "none", "positions": "learned"},
    {"norm": "pre", "final_norm": False, "encoder_layers": 1, "decoder_layers": 3},
]


@pytest.mark.parametrize("keys", VARIANTS)
def test_together_they_compute_the_model(keys):
    model = tiny(**keys)
    source, target = map(ops.convert_to_tensor, batch())
    mask = padding_mask(source, "float32")
    output, own = encoder_of(model)([source, mask])
    result, past, cross = decoder_of(model)([target, output, target_mask(target, "float32"), mask])
    np.testing.assert_allclose(result, logits(model, *batch()), rtol=1e-6, atol=1e-6)
    config, heads = model.get_layer("decoder_0").config, keys.get("heads", 2)
    assert own.shape == (3, config.encoder_layers, heads, 7, 7)
    assert past.shape == (3, config.decoder_layers, heads, 6, 6)
    assert cross.shape == (3, config.decoder_layers, heads, 6, 7)
    assert np.triu(past, 1).max() == 0
    assert np.asarray(own)[1, ..., 4:].max() == np.asarray(cross)[1, ..., 4:].max() == 0


def test_their_attention_is_that_of_the_search():
    model = tiny()
    source, target = [5, 9, 12, END_ID], [7, 4, 11]
    maps = forced_attention(KerasStepModel(model), source, target)
    ids, read = (ops.convert_to_tensor([row]) for row in (source, [START_ID, *target]))
    mask = padding_mask(ids, "float32")
    output, own = encoder_of(model)([ids, mask])
    _, past, cross = decoder_of(model)([read, output, target_mask(read, "float32"), mask])
    for weights, expected in ((own, maps.encoder), (past, maps.decoder), (cross, maps.cross)):
        np.testing.assert_allclose(weights[0], expected, atol=1e-6)


def test_other_masks_hide_other_tokens():
    model = tiny()
    source, target = map(ops.convert_to_tensor, batch())
    mask = np.zeros((3, 1, 1, 7), np.float32)
    mask[..., 2] = MASKED
    mask, seen = ops.convert_to_tensor(mask), padding_mask(source, "float32")
    output, own = encoder_of(model)([source, mask])
    assert np.asarray(own)[..., 2].max() == 0 < np.asarray(own)[..., 3].min()
    decoder = decoder_of(model)
    causal = target_mask(target, "float32")
    one, _, cross = decoder([target, output, causal, mask])
    other, _, _ = decoder([target, output, causal, seen])
    assert np.asarray(cross)[..., 2].max() == 0
    assert np.abs(np.asarray(one) - np.asarray(other)).max() > 1e-4


def test_they_have_the_weights_of_the_model():
    model = tiny()
    weights = [*encoder_of(model).weights, *decoder_of(model).weights]
    assert {id(weight) for weight in weights} == {id(weight) for weight in model.weights}
