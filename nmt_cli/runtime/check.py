"""``nmt verify``: what can be checked of a bundle without the model it came from."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle.manifest import GraphSpec, Manifest
from nmt_cli.bundle.report import Check
from nmt_cli.errors import NmtError
from nmt_cli.runtime.load import checked_manifest, load_bundle
from nmt_cli.search.translator import Translator

# What tokenizers and line handling stumble over.
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
# Two hypotheses that a model scores this alike (nats) are one tie, not a mismatch.
TIE = 1e-4
# The same for graphs whose arithmetic rounds: another order of additions, as wider batches
# have, rounds otherwise here and there.
TIES = {"float32": TIE, "float16": 1e-2, "int8": 5e-2}
# Of the sum of all probabilities, 1; float16 holds a number to 1e-3.
_SUM_TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "int8": 1e-4}
_DTYPES = {"float": np.float32, "float16": np.float16, "int32": np.int32, "bool": np.bool_}
_NOTHING = 4  # its errors come as exceptions too


def check_bundle(folder: Path) -> tuple[Manifest, list[Check]]:
    """Check a bundle by itself: its files, its graphs' contract, and that they translate.

    Raises:
        NmtError: it cannot be loaded or run; names the file.
    """
    manifest = checked_manifest(folder)
    tensors = sum(len(graph.inputs) + len(graph.outputs) for graph in manifest.graphs)
    translator = load_bundle(folder)
    return manifest, [
        Check.of(f"files with another hash, of {len(manifest.files)}", 0, 0),
        Check.of(f"tensors outside the contract, of {tensors}", 0, 0),
        *_run_checks(folder, manifest),
        Check.of(
            f"lines that translate otherwise in a batch, of {len(HARD_LINES)}",
            _unlike_in_batch(translator, TIES[manifest.precision]),
            0,
        ),
    ]


def _unlike_in_batch(translator: Translator, tie: float) -> int:
    together = translator.translate(HARD_LINES)
    alone = (next(translator.translate([line])) for line in HARD_LINES)
    return sum(
        ours.text != theirs.text and not abs(ours.score - theirs.score) <= tie
        for ours, theirs in zip(alone, together, strict=True)
    )


def _run_checks(folder: Path, manifest: Manifest) -> list[Check]:
    """Run both graphs on sizes that all differ; hold what comes out to the contract."""
    vocabulary = manifest.vocabulary
    sizes = {"B": 2, "S": 5, "K": 3, "C": min(3, vocabulary["target"]), "P": 6}
    rng = np.random.default_rng(0)
    feed: dict[str, NDArray[Any]] = {
        "source": rng.integers(0, vocabulary["source"], (2, 5), np.int32),
        "tokens": rng.integers(0, vocabulary["target"], (2, 3), np.int32),
        "position": np.array([2], np.int32),
        "write_at": np.array([3, 3], np.int64),
    }
    feed["ancestry"] = np.ones((2, 3, 6), np.bool_)
    for each in manifest.caches:
        feed[each.name] = np.ones(each.sized(sizes), _DTYPES[each.dtype])
    feed |= _outputs(folder, manifest.encoder, feed, sizes)
    found = _outputs(folder, manifest.decoder, feed, sizes)
    attention = []
    if manifest.attention:
        weights = _outputs(folder, manifest.attention, feed, sizes)["attention"]
        rows = weights.astype(np.float64).sum(axis=-1)
        attention = [
            Check.of(
                "sum of attention weights, difference to 1",
                float(np.abs(rows - 1).max()),
                _SUM_TOLERANCE[manifest.precision],
            )
        ]
    log_probs = found["log_probs"].astype(np.float64)
    at_ids = np.take_along_axis(log_probs, found["ids"].astype(np.int64), axis=2)
    best = np.sort(log_probs, axis=2)[..., ::-1][..., : sizes["C"]]
    return [
        Check.of(
            "sum of all probabilities, difference to 1",
            float(np.abs(np.exp(log_probs).sum(axis=2) - 1).max()),
            _SUM_TOLERANCE[manifest.precision],
        ),
        Check.of(
            "candidates, difference to the best log-probabilities",
            float(max(np.abs(at_ids - best).max(), np.abs(found["scores"] - best).max())),
            TIE,
        ),
        *attention,
    ]


def _outputs(
    folder: Path, graph: GraphSpec, feed: dict[str, NDArray[Any]], sizes: dict[str, int]
) -> dict[str, NDArray[Any]]:
    """Run a graph.

    Raises:
        NmtError: it does not run, or an output is of another type or shape than it should.
    """
    path = folder / graph.file
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _NOTHING
    names = [each.name for each in graph.outputs]
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        values = session.run(names, {each.name: feed[each.name] for each in graph.inputs})
    except Exception as error:  # ONNX Runtime's own exceptions have no common base
        raise NmtError(
            f"{path}: verification failed: it does not run ({str(error).splitlines()[0][:160]})",
            "export the bundle again",
        ) from None
    for each, value in zip(graph.outputs, values, strict=True):
        wanted = (each.sized(sizes), np.dtype(_DTYPES[each.dtype]))
        if (value.shape, value.dtype) != wanted:
            raise NmtError(
                f"{path}: verification failed: {each.name} came out as {value.dtype} "
                f"{value.shape}, not {wanted[1]} {wanted[0]}",
                "export the bundle again",
            )
    return dict(zip(names, values, strict=True))
