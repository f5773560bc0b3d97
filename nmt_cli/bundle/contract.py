"""The contract of a bundle's tensors: names, types and shapes, given its [model] table.

Axes: B sentences, S source positions, K beams, P columns of the caches, C candidates. The decoder
writes its K new columns into the caches from column ``write_at`` on, and attends to all P.

A bundle of precision float16 may have float16 instead of float, the same type for an output and
the input of the next call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmt_cli.bundle.manifest import GraphSpec, TensorSpec
from nmt_cli.recipe.architecture import ModelConfig, Shape, architecture_of


def encoder_contract(config: ModelConfig) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Inputs and outputs of the encoder."""
    return [TensorSpec("source", "int32", ("B", "S"))], _encoder_output(config)


def decoder_contract(
    config: ModelConfig, target_vocab: int
) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Inputs and outputs of one step of the decoder."""
    inputs = [
        TensorSpec("tokens", "int32", ("B", "K")),
        TensorSpec("position", "int32", (1,)),
        TensorSpec("ancestry", "bool", ("B", "K", "P")),
        TensorSpec("write_at", "int64", ("B",)),
        *_encoder_output(config),
        *_caches(config),
    ]
    outputs = [
        TensorSpec("scores", "float", ("B", "K", "C")),
        TensorSpec("ids", "int32", ("B", "K", "C")),
        TensorSpec("log_probs", "float", ("B", "K", target_vocab)),
        *_caches(config, "new_"),
    ]
    return inputs, outputs


def attention_contract(config: ModelConfig) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Inputs and outputs of the step that returns attention weights."""
    inputs, _ = decoder_contract(config, target_vocab=0)
    shape = ("B", *architecture_of(config).cross_attention(config), "K", "S")
    return inputs, [TensorSpec("attention", "float", shape), *_caches(config, "new_")]


def append_contract() -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Inputs and outputs of the graph that joins columns to caches and selects sentences.

    H, P, Q and D are free.
    """
    inputs = [
        TensorSpec("values", "float", ("B", "H", "P", "D")),
        TensorSpec("columns", "float", ("B", "H", "Q", "D")),
        TensorSpec("rows", "int64", ("R",)),
    ]
    return inputs, [TensorSpec("joined", "float", ("R", "H", "P + Q", "D"))]


def contract_breach(found: tuple[TensorSpec, ...], wanted: list[TensorSpec]) -> str:
    """Describe the first difference between a graph's tensors and the contract; "" if none."""
    by_name = {each.name: each for each in wanted}
    names = [each.name for each in found]
    for name in by_name:
        if names.count(name) != 1:
            return f"{name} is missing" if name not in names else f"{name} appears twice"
    for each in found:
        if each.name not in by_name:
            return f"{each.name} is not in the contract"
        if each != by_name[each.name]:
            return f"{each} should be {by_name[each.name]}"
    return ""


def graphs_breach(
    graphs: Sequence[GraphSpec],
    config: ModelConfig,
    target_vocab: int,
    precision: str,
) -> str:
    """Describe the first difference between a manifest's graphs and the contract; "" if none.

    Args:
        graphs: encoder, decoder, append and, if there is one, the step with attention weights.
        config: the manifest's [model] table.
        target_vocab: size of the target vocabulary.
        precision: of the bundle.
    """
    contracts = (
        encoder_contract(config),
        decoder_contract(config, target_vocab),
        append_contract(),
        attention_contract(config),
    )[: len(graphs)]
    for graph, contract in zip(graphs, contracts, strict=True):
        for found, wanted in zip((graph.inputs, graph.outputs), contract, strict=True):
            if precision == "float16":
                wanted = _with_types_of(found, wanted)
            breach = contract_breach(found, wanted)
            if breach:
                return f"{graph.file}: {breach}"
    encoder, decoder, _, *attention = graphs
    for step in (decoder, *attention):
        given = {each.name: each.dtype for each in (*encoder.outputs, *step.outputs)}
        for each in step.inputs:
            if given.get(each.name, given.get(f"new_{each.name}", each.dtype)) != each.dtype:
                return f"{step.file}: {each.name} is not of the type of the output it comes from"
    return ""


def _with_types_of(found: tuple[TensorSpec, ...], wanted: list[TensorSpec]) -> list[TensorSpec]:
    """Return the contract with float16 where a tensor found has it instead of float."""
    half = {each.name for each in found if each.dtype == "float16"}
    return [
        replace(each, dtype="float16") if each.name in half and each.dtype == "float" else each
        for each in wanted
    ]


def _encoder_output(config: ModelConfig) -> list[TensorSpec]:
    return _floats(architecture_of(config).encoder_output(config))


def _caches(config: ModelConfig, prefix: str = "") -> list[TensorSpec]:
    return _floats(architecture_of(config).caches(config), prefix)


def _floats(shapes: Mapping[str, Shape], prefix: str = "") -> list[TensorSpec]:
    return [TensorSpec(f"{prefix}{name}", "float", shape) for name, shape in shapes.items()]
