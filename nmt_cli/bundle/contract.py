"""The contract of a bundle's tensors: names, types and shapes, given its [model] table.

Axes: B sentences, S source positions, K beams, P columns of the caches, C candidates. The decoder
writes its K new columns into the caches from column ``write_at`` on, and attends to all P.

A bundle of precision float16 may have float16 instead of float, the same type for an output and
the input of the next call; one of precision int8 has int8 ``output_columns``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmt_cli.bundle.manifest import Manifest, TensorSpec
from nmt_cli.recipe.model import ModelConfig, Shape

Contract = tuple[list[TensorSpec], list[TensorSpec]]  # inputs, outputs


def encoder_contract(config: ModelConfig) -> Contract:
    """Return the contract of the encoder."""
    outputs = _floats(config.encoder_output())
    return [TensorSpec("source", "int32", ("B", "S"))], outputs


def decoder_contract(config: ModelConfig, target_vocab: int) -> Contract:
    """Return the contract of one step of the decoder."""
    caches = config.caches()
    inputs = [
        TensorSpec("tokens", "int32", ("B", "K")),
        TensorSpec("position", "int32", (1,)),
        TensorSpec("ancestry", "bool", ("B", "K", "P")),
        TensorSpec("write_at", "int64", ("B",)),
        *encoder_contract(config)[1],
        *_floats(caches),
    ]
    outputs = [
        TensorSpec("scores", "float", ("B", "K", "C")),
        TensorSpec("ids", "int32", ("B", "K", "C")),
        TensorSpec("log_probs", "float", ("B", "K", target_vocab)),
        *_floats(caches, "new_"),
    ]
    return inputs, outputs


def attention_contract(config: ModelConfig) -> Contract:
    """Return the contract of the step that returns attention weights."""
    inputs, (_, _, _, *caches) = decoder_contract(config, target_vocab=0)
    shape = ("B", *config.cross_attention(), "K", "S")
    return inputs, [TensorSpec("attention", "float", shape), *caches]


def self_attention_contract(config: ModelConfig) -> Contract:
    """Return the contract of the graph that returns self-attention, of T tokens that the decoder
    reads."""
    inputs = [TensorSpec("source", "int32", ("B", "S")), TensorSpec("target", "int32", ("B", "T"))]
    return inputs, _floats(config.self_attention())


def shortlist_contract(config: ModelConfig, size: int, precision: str) -> Contract:
    """Return the contract of the step that ranks only each sentence's shortlist."""
    inputs, (scores, ids, _, *caches) = decoder_contract(config, target_vocab=0)
    shortlist, gathered = columns_contract(config, size, precision)
    return [*inputs, *shortlist, *gathered], [scores, ids, *caches]


def columns_contract(config: ModelConfig, size: int, precision: str) -> Contract:
    """Return the contract of the graph that gathers the softmax layer's columns of shortlists.

    Entries are those of the columns' scales (int8) and of the bias, if there is one.
    """
    gathered = [TensorSpec("output_columns", "float", ("B", config.d_model, size))]
    vectors = (precision == "int8") + (config.output_bias or not config.ties_softmax)
    if vectors:
        gathered.append(TensorSpec("output_entries", "float", ("B", vectors, size)))
    return [TensorSpec("shortlist", "int32", ("B", size))], gathered


def append_contract() -> Contract:
    """Return the contract of the graph that joins columns to caches and selects sentences.

    H, P, Q and D are free.
    """
    inputs = [
        TensorSpec("values", "float", ("B", "H", "P", "D")),
        TensorSpec("columns", "float", ("B", "H", "Q", "D")),
        TensorSpec("rows", "int64", ("R",)),
    ]
    return inputs, [TensorSpec("joined", "float", ("R", "H", "P + Q", "D"))]


def contract_breach(found: Sequence[TensorSpec], wanted: Sequence[TensorSpec]) -> str:
    """Describe the first difference between a graph's tensors and the contract; "" if none."""
    theirs, ours = ({each.name: each for each in side} for side in (found, wanted))
    for name in (*ours, *theirs):
        if name not in theirs:
            return f"{name} is missing"
        if name not in ours:
            return f"{name} is not in the contract"
        if theirs[name] != ours[name]:
            return f"{theirs[name]} should be {ours[name]}"
    return ""


def graphs_breach(manifest: Manifest) -> str:
    """Describe the first difference between a manifest's graphs and the contract; "" if none."""
    config, short, precision = manifest.architecture, manifest.shortlist, manifest.precision
    pairs = [
        (manifest.encoder, encoder_contract(config)),
        (manifest.decoder, decoder_contract(config, manifest.vocabulary["target"])),
        (manifest.append, append_contract()),
    ]
    if manifest.attention:
        pairs.append((manifest.attention, attention_contract(config)))
    if manifest.self_attention:
        pairs.append((manifest.self_attention, self_attention_contract(config)))
    if short:
        pairs.append((short.columns, columns_contract(config, short.size, precision)))
        pairs.append((short.step, shortlist_contract(config, short.size, precision)))
    for graph, contract in pairs:
        for given, wanted in zip((graph.inputs, graph.outputs), contract, strict=True):
            found = [_as_float(each, precision) for each in given]
            if breach := contract_breach(found, wanted):
                return f"{graph.file}: {breach}"
    produced = [*manifest.encoder.outputs, *(short.columns.outputs if short else ())]
    for step in manifest.graphs:
        types = {each.name: each.dtype for each in (*produced, *step.outputs)}
        for each in step.inputs:
            if types.get(each.name, types.get(f"new_{each.name}", each.dtype)) != each.dtype:
                return f"{step.file}: {each.name} is not of the type of the output it comes from"
    return ""


def _as_float(tensor: TensorSpec, precision: str) -> TensorSpec:
    """Replace what a precision may have instead of float."""
    if precision == "float16" or (precision == "int8" and tensor.name == "output_columns"):
        return replace(tensor, dtype=tensor.dtype.replace(precision, "float"))
    return tensor


def _floats(shapes: Mapping[str, Shape], prefix: str = "") -> list[TensorSpec]:
    return [TensorSpec(f"{prefix}{name}", "float", shape) for name, shape in shapes.items()]
