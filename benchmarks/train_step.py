"""How fast a training step is: target tokens a second, ours against PyTorch's nn.Transformer.

Both train 4+4 pre-norm layers, d 256, feed-forward 1,024, 8 heads, one matrix of 8,000 x 256
for both embeddings and the softmax, dropout 0.1, cross-entropy smoothed by 0.1, Adam, on one
batch of 64 x 32 tokens in memory. Ours is what ``nmt train`` compiles and fits, its metrics
included. Each side is a process of its own and they take turns, so that a slow stretch of the
machine falls on both alike. What the machine can do at all is the faster library's float32
product of 2048 x 1024 by 1024 x 1024, timed in the same rounds.

    python benchmarks/train_step.py [--precision bfloat16] [--rounds N] [--steps N]

The target: at least 2,400 tokens a second, or at least as fast as PyTorch.
"""

import argparse
import importlib.util
import json
import math
import statistics
import subprocess
import sys
import time

# Before TensorFlow: nmt_cli sets its switches.
from nmt_cli.recipe import ModelConfig, Recipe, TrainingConfig

LAYERS, WIDTH, INNER, HEADS, VOCAB = 4, 256, 1024, 8, 8000
ROWS, LENGTH, DROPOUT, SMOOTHING = 64, 32, 0.1, 0.1
TARGET = 2400
# Floating-point operations of a step's matrix products; the backward pass has twice the forward's.
ATTENTION, FEED_FORWARD = 4 * WIDTH**2 + 2 * LENGTH * WIDTH, 2 * WIDTH * INNER  # multiplications
WORK = 6 * ROWS * LENGTH * (LAYERS * (3 * ATTENTION + 2 * FEED_FORWARD) + WIDTH * VOCAB)
PRODUCT, PRODUCTS = (2048, 1024, 1024), 8  # its size, and how many are timed in each round


def nmt_side(precision: str) -> tuple:
    """How to train some steps, and how to do one matrix product."""
    import numpy as np
    import tensorflow as tf

    from nmt_cli.training.run import Run
    from nmt_cli.training.train import compiled_model

    shape = ModelConfig(WIDTH, INNER, HEADS, LAYERS, LAYERS, DROPOUT, "pre", "all")
    policy = "float32" if precision == "float32" else f"mixed_{precision}"
    recipe = Recipe(model=shape, training=TrainingConfig(precision=policy))
    model = compiled_model(Run(None, recipe, VOCAB, VOCAB, ""))  # type: ignore[arg-type]
    source, target = np.random.default_rng(0).integers(4, VOCAB, (2, ROWS, LENGTH), np.int32)
    data = tf.data.Dataset.from_tensors(((source, target), target)).repeat()
    a, b = tf.random.normal(PRODUCT[:2]), tf.random.normal(PRODUCT[1:])
    return (
        lambda steps: model.fit(data, steps_per_epoch=steps, shuffle=False, verbose=0),
        lambda: tf.matmul(a, b).numpy(),
    )


def torch_side(precision: str) -> tuple:
    import torch
    from torch import nn
    from torch.nn import functional

    embedding = nn.Embedding(VOCAB, WIDTH)
    nn.init.normal_(embedding.weight, std=WIDTH**-0.5)
    transformer = nn.Transformer(
        WIDTH, HEADS, LAYERS, LAYERS, INNER, DROPOUT, batch_first=True, norm_first=True
    )
    optimizer = torch.optim.Adam([embedding.weight, *transformer.parameters()], fused=True)
    source, target = torch.randint(4, VOCAB, (2, ROWS, LENGTH))
    angles = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    positions = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH)

    def embed(ids: torch.Tensor) -> torch.Tensor:
        return functional.dropout(embedding(ids) * WIDTH**0.5 + positions, DROPOUT)

    def step() -> None:
        padding = torch.where(source == 0, float("-inf"), 0.0)  # additive, as the causal mask
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            output = transformer(
                embed(source), embed(target), tgt_mask=causal, tgt_is_causal=True, **masks
            )
            logits = functional.linear(output, embedding.weight).float().flatten(0, 1)
        loss = functional.cross_entropy(
            logits, target.flatten(), ignore_index=0, label_smoothing=SMOOTHING
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    a, b = torch.randn(PRODUCT[:2]), torch.randn(PRODUCT[1:])
    return lambda steps: [step() for _ in range(steps)], lambda: a @ b


SIDES = {"nmt": nmt_side, "torch": torch_side}


def serve(train, product) -> None:
    """Answer each number of steps read with [seconds a step, seconds a product]."""
    for line in sys.stdin:
        began = time.perf_counter()
        train(int(line))
        trained = time.perf_counter()
        for _ in range(PRODUCTS):
            product()
        ended = time.perf_counter()
        print(json.dumps([(trained - began) / int(line), (ended - trained) / PRODUCTS]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--rounds", type=int, default=7, help="timed (default: 7)")
    parser.add_argument("--steps", type=int, default=5, help="in each round (default: 5)")
    parser.add_argument("--serve", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(*SIDES[options.serve](options.precision))
    if not importlib.util.find_spec("torch"):
        sys.exit("PyTorch is missing, the other side of this benchmark: pip install torch==2.13.0")
    command = [sys.executable, "-W", "ignore", __file__, "--precision", options.precision]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    sides = {name: subprocess.Popen([*command, "--serve", name], **pipes) for name in SIDES}
    answers: dict[str, list[list[float]]] = {name: [] for name in SIDES}
    for timing in [False, *[True] * options.rounds]:  # the first round compiles and warms up
        for name, process in sides.items():
            print(options.steps if timing else 2, file=process.stdin, flush=True)
            answer = process.stdout.readline() or sys.exit(f"{name} failed, see above")
            answers[name] += [json.loads(answer)] if timing else []
    product = min(statistics.median(each for _, each in rows) for rows in answers.values())
    machine = 2e-9 * math.prod(PRODUCT) / product
    print(f"{options.precision}, {options.rounds} rounds; float32 product {machine:,.0f} GFLOP/s")
    print("side   tokens/s    min    max  GFLOP/s  of the product's rate")
    speed = {}
    for name, rows in answers.items():
        speeds = [ROWS * LENGTH / seconds for seconds, _ in rows]
        speed[name] = statistics.median(speeds)
        rate = 1e-9 * WORK * speed[name] / (ROWS * LENGTH)
        print(
            f"{name:<6} {speed[name]:8,.0f} {min(speeds):6,.0f} {max(speeds):6,.0f} {rate:8,.0f}"
            f"  {rate / machine:.0%}"
        )
    ratio = speed["nmt"] / speed["torch"]
    print(f"{TARGET:,} tokens/s: {'holds' if speed['nmt'] >= TARGET else 'missed'}")
    print(f"ratio to PyTorch {ratio:.2f} >= 1: {'holds' if ratio >= 1 else 'missed'}")


if __name__ == "__main__":
    main()
