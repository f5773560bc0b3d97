"""Checks of a bundle that need only the bundle, for ``nmt verify``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.bundle.manifest import Check, GraphSpec
from nmt_cli.errors import ModelError, first_line
from nmt_cli.host import without_warnings
from nmt_cli.runtime.load import Bundle
from nmt_cli.runtime.step_model import HINT
from nmt_cli.search.translator import translator_for

# Input that is hard for tokenizers and line handling.
HARD_LINES = (
    "",
    " ",
    "\t",
    "a",
    "Ação, coração e pão: ç ã õ é.",
    "naïve café — “quoted” … 100 % €5",
    "e\u0301 combining",
    "日本語 and 🙂👍🏽",
    "x" * 200,
    "1234567890 (a) [b] {c} <d> & | \\ / ~ ^ `",
)
# Two translations whose scores differ by less (nats) are a tie, not a difference.
TIE = 1e-4
# The same by precision: the order of additions depends on the batch, and rounding with it.
TIES = {"float32": TIE, "float16": 1e-2, "int8": 5e-2}
# By how much probabilities may miss a sum of 1; float16 is precise to 1e-3.
_SUM_TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "int8": 1e-4}
_DTYPES = {
    "float": np.float32,
    "float16": np.float16,
    "int32": np.int32,
    "bool": np.bool_,
    "int8": np.int8,
}

Tensors = dict[str, NDArray[Any]]


@without_warnings()
def check_bundle(bundle: Bundle) -> list[Check]:
    """Check a loaded bundle: its files, the signatures of its graphs, and that it translates."""
    manifest = bundle.manifest
    for graph in manifest.graphs.values():
        bundle.model.session(graph)
    tensors = sum(len(graph.inputs) + len(graph.outputs) for graph in manifest.graphs.values())
    tie = TIES[manifest.precision]
    translator = translator_for(bundle.model, bundle.tokenizers, manifest.decoding)
    single = (next(translator.translate([line])) for line in HARD_LINES)
    changed = sum(
        one.text != other.text and not abs(one.score - other.score) <= tie
        for one, other in zip(single, translator.translate(HARD_LINES), strict=True)
    )
    return [
        # Loading compares both, and refuses a bundle where they differ.
        Check.of(f"files with a different hash, of {len(manifest.files)}", 0, 0),
        Check.of(f"tensors that differ from the signatures, of {tensors}", 0, 0),
        *_graph_checks(bundle),
        Check.of(f"lines translated differently in a batch, of {len(HARD_LINES)}", changed, 0),
    ]


def _graph_checks(bundle: Bundle) -> list[Check]:
    """Run the graphs on axes of different sizes, and check their outputs."""
    manifest = bundle.manifest
    vocabulary, tolerance = manifest.vocabulary, _SUM_TOLERANCE[manifest.precision]
    sizes = {"B": 2, "S": 5, "K": 3, "C": min(3, vocabulary["target"]), "P": 6}
    rng = np.random.default_rng(0)
    feed: Tensors = {
        "source": rng.integers(0, vocabulary["source"], (2, 5), np.int32),
        "tokens": rng.integers(0, vocabulary["target"], (2, 3), np.int32),
        "position": np.array([2], np.int32),
        "write_at": np.array([3, 3], np.int64),
        "ancestry": np.ones((2, 3, 6), np.bool_),
    }
    for cache in manifest.caches:
        feed[cache.name] = np.ones(cache.sized(sizes), _DTYPES[cache.dtype])
    feed |= _outputs(bundle, manifest.encoder, feed, sizes)
    outputs = _outputs(bundle, manifest.decoder, feed, sizes)
    log_probs = outputs["log_probs"].astype(np.float64)
    at_ids = np.take_along_axis(log_probs, outputs["ids"].astype(np.int64), axis=2)
    best = np.sort(log_probs, axis=2)[..., ::-1][..., : sizes["C"]]
    distance = _distance_from_one(np.exp(log_probs))
    difference = float(max(np.abs(at_ids - best).max(), np.abs(outputs["scores"] - best).max()))
    checks = [
        Check.of("sum of all probabilities, difference from 1", distance, tolerance),
        Check.of("candidates, difference from the best log-probabilities", difference, TIE),
    ]
    if shortlist := manifest.shortlist:
        ids = [rng.permutation(vocabulary["target"])[: shortlist.size] for _ in range(2)]
        feed["shortlist"] = np.sort(np.array(ids, np.int32))
        feed |= _outputs(bundle, shortlist.columns, feed, sizes)
        sizes["C"] = min(sizes["C"], shortlist.size)
        scores = _outputs(bundle, shortlist.step, feed, sizes)["scores"]
        kept = np.take_along_axis(log_probs, feed["shortlist"][:, None].astype(np.int64), axis=2)
        best = np.sort(kept, axis=2)[..., ::-1][..., : sizes["C"]]
        best -= np.log(np.exp(kept).sum(axis=2, keepdims=True))
        name = "candidates of shortlists, difference from the best log-probabilities"
        difference = float(np.abs(scores - best).max())
        checks.append(Check.of(name, difference, TIES[manifest.precision]))
    if manifest.attention:
        weights = _outputs(bundle, manifest.attention, feed, sizes)["attention"]
        distance = _distance_from_one(weights.astype(np.float64))
        checks.append(Check.of("sum of attention weights, difference from 1", distance, tolerance))
    if manifest.self_attention:
        feed["target"] = feed["tokens"]
        sizes["T"] = 3
        sides = _outputs(bundle, manifest.self_attention, feed, sizes).values()
        distance = max(_distance_from_one(weights.astype(np.float64)) for weights in sides)
        name = "sum of self-attention weights, difference from 1"
        checks.append(Check.of(name, distance, tolerance))
    return checks


def _distance_from_one(values: NDArray[np.float64]) -> float:
    return float(np.abs(values.sum(axis=-1) - 1).max())


def _outputs(bundle: Bundle, graph: GraphSpec, feed: Tensors, sizes: Mapping[str, int]) -> Tensors:
    """Run a graph; return its outputs by name, of the types and shapes that it declares."""
    path = bundle.folder / graph.file
    names = [tensor.name for tensor in graph.outputs]
    inputs = {tensor.name: feed[tensor.name] for tensor in graph.inputs}
    session = bundle.model.session(graph)
    try:
        outputs = dict(zip(names, session.run(names, inputs), strict=True))
    except Exception as error:  # ONNX Runtime's exceptions have no common base
        raise ModelError(
            f"{path}: ONNX Runtime cannot run it ({first_line(error)})", HINT
        ) from None
    for tensor in graph.outputs:
        value = outputs[tensor.name]
        expected = (tensor.sized(sizes), np.dtype(_DTYPES[tensor.dtype]))
        if (value.shape, value.dtype) != expected:
            raise ModelError(
                f"{path}: {tensor.name} is {value.dtype} {value.shape}, not {expected[1]} "
                f"{expected[0]}",
                HINT,
            )
    return outputs
