"""How fast a training step is: target tokens a second, ours against PyTorch's nn.Transformer.

Both train 4+4 pre-norm layers, d 256, feed-forward 1,024, 8 heads, one matrix of 8,000 x 256
for both embeddings and the softmax, dropout 0.1, cross-entropy smoothed by 0.1, Adam, on one
batch of 64 x 32 tokens kept in memory. Ours is what ``nmt train`` compiles and fits, its
metrics included. Each side lives in a process of its own and they take turns, so that a slow
stretch of the machine falls on both alike. The matrix product (float32, 2048 x 1024 x 1024),
timed by both libraries in the same rounds, is what the machine can do at all.

    python benchmarks/train_step.py [--precision bfloat16] [--rounds N] [--steps N]

The target: at least 2,400 tokens a second, or at least as fast as PyTorch.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

LAYERS, WIDTH, INNER, HEADS, VOCAB = 4, 256, 1024, 8, 8000
ROWS, LENGTH = 64, 32
DROPOUT = SMOOTHING = 0.1
TARGET = 2400
PRODUCT = (2048, 1024, 1024)
PRODUCTS = 8  # timed in each round
SIDES = {"nmt": "nmt", "torch": "PyTorch"}

Side = tuple[Callable[[int], None], Callable[[], None]]  # train so many steps; one product


def nmt_side(precision: str) -> Side:
    import numpy as np
    import tensorflow as tf

    from nmt_cli.recipe import ModelConfig, Recipe, TrainingConfig
    from nmt_cli.training.run import Run
    from nmt_cli.training.train import compiled_model

    shape = ModelConfig(WIDTH, INNER, HEADS, LAYERS, LAYERS, DROPOUT, "pre", "all")
    policy = {"float32": "float32", "bfloat16": "mixed_bfloat16"}[precision]
    training = TrainingConfig(label_smoothing=SMOOTHING, precision=policy)
    recipe = Recipe(model=shape, training=training)
    model = compiled_model(Run(None, recipe, VOCAB, VOCAB, ""))  # type: ignore[arg-type]
    source, target = np.random.default_rng(0).integers(4, VOCAB, (2, ROWS, LENGTH), np.int32)
    # Target in and out are the same here: it makes no difference to the time.
    data = tf.data.Dataset.from_tensors(((source, target), target)).repeat()
    a, b = tf.random.normal(PRODUCT[:2]), tf.random.normal(PRODUCT[1:])
    return (
        lambda steps: model.fit(data, steps_per_epoch=steps, verbose=0),
        lambda: tf.matmul(a, b).numpy(),
    )


def torch_side(precision: str) -> Side:
    import torch
    from torch import nn
    from torch.nn import functional

    embedding = nn.Embedding(VOCAB, WIDTH)
    nn.init.normal_(embedding.weight, std=WIDTH**-0.5)
    transformer = nn.Transformer(
        WIDTH, HEADS, LAYERS, LAYERS, INNER, DROPOUT, batch_first=True, norm_first=True
    )
    optimizer = torch.optim.Adam(
        [*embedding.parameters(), *transformer.parameters()], lr=1e-4, fused=True
    )
    source, target = torch.randint(4, VOCAB, (2, ROWS, LENGTH))
    angles = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    positions = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH)

    def embed(ids: torch.Tensor) -> torch.Tensor:
        return functional.dropout(embedding(ids) * WIDTH**0.5 + positions, DROPOUT)

    def step() -> None:
        padding = torch.where(source == 0, float("-inf"), 0.0)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            output = transformer(
                embed(source),
                embed(target),
                tgt_mask=causal,
                src_key_padding_mask=padding,
                memory_key_padding_mask=padding,
                tgt_is_causal=True,
            )
            logits = functional.linear(output, embedding.weight)
        loss = functional.cross_entropy(
            logits.float().flatten(0, 1), target.flatten(), ignore_index=0,
            label_smoothing=SMOOTHING,
        )  # fmt: skip
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    a, b = torch.randn(PRODUCT[:2]), torch.randn(PRODUCT[1:])
    return lambda steps: [step() for _ in range(steps)] and None, lambda: a @ b and None
