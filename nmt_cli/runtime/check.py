"""``nmt verify``: checks of a bundle that need only the bundle."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.bundle.manifest import GraphSpec
from nmt_cli.bundle.report import Check
from nmt_cli.errors import NmtError, first_line
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


def check_bundle(bundle: Bundle) -> list[Check]:
    """Check a loaded bundle: its files, the contract of its graphs, and that it translates.

    Raises:
        NmtError: a graph cannot be run, or an output has another type or shape than declared.
    """
    manifest = bundle.manifest
    tensors = sum(len(graph.inputs) + len(graph.outputs) for graph in manifest.graphs)
    tie = TIES[manifest.precision]
    translator = translator_for(bundle.model, bundle.tokenizers, manifest.decoding)
    single = (next(translator.translate([line])) for line in HARD_LINES)
    changed = sum(
        one.text != other.text and not abs(one.score - other.score) <= tie
        for one, other in zip(single, translator.translate(HARD_LINES), strict=True)
    )
    return [
        # Loading has compared both, and refuses a bundle where they differ.
        Check.of(f"files with a different hash, of {len(manifest.files)}", 0, 0),
        Check.of(f"tensors that break the contract, of {tensors}", 0, 0),
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
    for each in manifest.caches:
        feed[each.name] = np.ones(each.sized(sizes), _DTYPES[each.dtype])
    feed |= _outputs(bundle, manifest.encoder, feed, sizes)
    found = _outputs(bundle, manifest.decoder, feed, sizes)
    log_probs = found["log_probs"].astype(np.float64)
    at_ids = np.take_along_axis(log_probs, found["ids"].astype(np.int64), axis=2)
    best = np.sort(log_probs, axis=2)[..., ::-1][..., : sizes["C"]]
    distance = _distance_from_one(np.exp(log_probs))
    furthest = float(max(np.abs(at_ids - best).max(), np.abs(found["scores"] - best).max()))
    checks = [
        Check.of("sum of all probabilities, difference from 1", distance, tolerance),
        Check.of("candidates, difference from the best log-probabilities", furthest, TIE),
    ]
    if short := manifest.shortlist:
        ids = [rng.permutation(vocabulary["target"])[: short.size] for _ in range(2)]
        feed["shortlist"] = np.sort(np.array(ids, np.int32))
        feed |= _outputs(bundle, short.columns, feed, sizes)
        sizes["C"] = min(sizes["C"], short.size)
        ranked = _outputs(bundle, short.step, feed, sizes)
        kept = np.take_along_axis(log_probs, feed["shortlist"][:, None].astype(np.int64), axis=2)
        best = np.sort(kept, axis=2)[..., ::-1][..., : sizes["C"]]
        best -= np.log(np.exp(kept).sum(axis=2, keepdims=True))
        furthest = float(np.abs(ranked["scores"] - best).max())
        name = "candidates of shortlists, difference from the best log-probabilities"
        checks.append(Check.of(name, furthest, TIES[manifest.precision]))
    if manifest.attention:
        weights = _outputs(bundle, manifest.attention, feed, sizes)["attention"]
        distance = _distance_from_one(weights.astype(np.float64))
        checks.append(Check.of("sum of attention weights, difference from 1", distance, tolerance))
    if manifest.self_attention:
        feed["target"] = feed["tokens"]
        sizes["T"] = 3
        sides = _outputs(bundle, manifest.self_attention, feed, sizes).values()
        distance = max(_distance_from_one(each.astype(np.float64)) for each in sides)
        name = "sum of self-attention weights, difference from 1"
        checks.append(Check.of(name, distance, tolerance))
    return checks


def _distance_from_one(values: NDArray[np.float64]) -> float:
    return float(np.abs(values.sum(axis=-1) - 1).max())


def _outputs(bundle: Bundle, graph: GraphSpec, feed: Tensors, sizes: Mapping[str, int]) -> Tensors:
    """Run a graph; its outputs by name, of the types and shapes that it declares."""
    path = bundle.folder / graph.file
    names = [each.name for each in graph.outputs]
    try:
        values = bundle.model.session(graph).run(
            names, {each.name: feed[each.name] for each in graph.inputs}
        )
    except Exception as error:  # ONNX Runtime's exceptions have no common base
        raise NmtError(f"{path}: ONNX Runtime cannot run it ({first_line(error)})", HINT) from None
    for each, value in zip(graph.outputs, values, strict=True):
        wanted = (each.sized(sizes), np.dtype(_DTYPES[each.dtype]))
        if (value.shape, value.dtype) != wanted:
            raise NmtError(
                f"{path}: {each.name} is {value.dtype} {value.shape}, not {wanted[1]} {wanted[0]}",
                HINT,
            )
    return dict(zip(names, values, strict=True))
