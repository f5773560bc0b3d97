"""``nmt export --ctranslate2``: a run to a folder that CTranslate2 translates with."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops
from numpy.typing import NDArray

from nmt_cli import __version__
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.metrics import evaluate
from nmt_cli.export.verify import FORCED_SENTENCES, LOGIT_TOLERANCE, TRANSLATED_SENTENCES
from nmt_cli.files import replacing_folder
from nmt_cli.model.layers import positions
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe import DecodingConfig
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.runtime.ctranslate2_translator import (
    FORMAT,
    SETTINGS,
    TOKENIZER,
    CTranslate2Translator,
    import_ctranslate2,
    load_ctranslate2,
)
from nmt_cli.search.beam import SearchOptions
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text.tokenizer import END_ID, START_ID, UNK_ID, Tokenizer, TokenizerSpec
from nmt_cli.training.run import Run
from nmt_cli.training.train import trained_model

# How weights may be stored; on a processor that cannot compute in it, CTranslate2 converts.
QUANTIZATIONS = (
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
    "float16",
    "bfloat16",
)
# Share of sentences that must be translated like the trained model, or tied, or cut at their
# limit. The searches are two programs: where finished hypotheses leave ours a narrower beam,
# theirs stays wide; and at the limit ours prefers what is finished, theirs what scores best.
LEAST_ALIKE = 0.97
# BLEU and chrF that quantized weights may cost on the held-out lines.
MOST_LOST = 1.0
# CTranslate2's own default limit of sources; its translations end at 256.
LONGEST = 1024
# Of one search: several wait for each other at every product where other work takes a core.
VERIFIED_THREADS = 1


def export_ctranslate2(
    run: Run,
    checkpoint: Path,
    decoding: DecodingConfig,
    folder: Path,
    quantization: str | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, int | float]:
    """Write, verify and put in place the CTranslate2 model of a run.

    Args:
        run, checkpoint, decoding, folder, say: as
            :func:`nmt_cli.export.onnx_bundle.export_onnx`.
        quantization: how weights are stored, one of QUANTIZATIONS; None: as float32.

    Returns:
        What was compared, and how it came out.

    Raises:
        NmtError: ctranslate2 is not installed, the run is damaged, the verification fails,
            or the folder cannot be written.
    """
    import_ctranslate2()  # before the model is loaded, which takes longer
    if quantization not in (None, *QUANTIZATIONS):
        raise NmtError(
            f"unknown quantization '{quantization}'", "choose one of " + ", ".join(QUANTIZATIONS)
        )
    model, _ = trained_model(run, checkpoint)
    graph = StepGraph(model)
    with replacing_folder(folder, SETTINGS) as work:
        say("converting the weights")
        shutil.copytree(run.folder / "tokenizer", work / TOKENIZER)
        settings = {"format": FORMAT, "decoding": asdict(decoding)}
        (work / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        _write(graph, run, decoding, work, None)
        say("verifying against the trained model")
        report = _verify(run, KerasStepModel(model), decoding, work)
        if quantization:
            exact = _translate_held_out(run, work)
            _write(graph, run, decoding, work, quantization)
            say(f"verifying the weights in {quantization} against those in float32")
            report.update(_compare_quantized(run, exact, _translate_held_out(run, work)))
        card = _card(run, decoding, quantization, report)
        (work / "MODEL_CARD.md").write_text(card, encoding="utf-8")
    for key, value in report.items():
        say(f"  {key}: {value}")
    return report


def write_ctranslate2(
    graph: StepGraph,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    folder: Path,
    quantization: str | None = None,
    frame_start: bool = False,
    longest: int = LONGEST,
) -> None:
    """Write a model's weights and vocabularies as CTranslate2 reads them.

    Args:
        graph: the step graphs of the model.
        source_tokens, target_tokens: a string for every id, no two alike; the same strings
            for UNK, START and END on both sides.
        folder: where to; exists.
        quantization: how weights are stored, one of QUANTIZATIONS; None: as float32.
        frame_start: whether sources begin with START; all end with END.
        longest: source or translation that can be read, in tokens.

    Raises:
        NmtError: ctranslate2 is not installed, or the strings are not as said above.
    """
    _check_tokens(source_tokens, target_tokens)
    depths = (len(graph.encoder_layers), graph.depth)
    spec = import_ctranslate2().specs.TransformerSpec.from_config(
        depths, graph.heads, pre_norm=graph.encoder_norm is not None
    )
    _encoder(spec.encoder, graph)
    _decoder(spec.decoder, graph)
    # CTranslate2's own positions are another formula (tensor2tensor's).
    table = ops.convert_to_numpy(positions(ops.arange(longest), graph.target_embedding.d_model))
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = table
    spec.register_source_vocabulary(list(source_tokens))
    spec.register_target_vocabulary(list(target_tokens))
    spec.config.unk_token = target_tokens[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = target_tokens[START_ID]
    spec.config.eos_token = target_tokens[END_ID]
    spec.config.add_source_bos, spec.config.add_source_eos = frame_start, True
    spec.config.layer_norm_epsilon = graph.encoder_layers[0].epsilon
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


def _check_tokens(*sides: Sequence[str]) -> None:
    """CTranslate2 knows tokens by their strings alone."""
    for tokens in sides:
        if len(set(tokens)) != len(tokens):
            twice = next(each for each in tokens if tokens.count(each) > 1)
            raise NmtError(f"CTranslate2 cannot tell tokens apart: {twice!r} stands for two ids")
    for at in (UNK_ID, START_ID, END_ID):
        if len({tokens[at] for tokens in sides}) > 1:
            raise NmtError(f"CTranslate2 needs one string for token {at} on both sides")


def _encoder(spec: Any, graph: StepGraph) -> None:
    spec.embeddings[0].weight = _array(graph.source_embedding.matrix)
    for layer, of in zip(spec.layer, graph.encoder_layers, strict=True):
        _self_attention(layer.self_attention, of)
        _feed_forward(layer.ffn, of)
    if graph.encoder_norm:
        _norm(spec.layer_norm, graph.encoder_norm)


def _decoder(spec: Any, graph: StepGraph) -> None:
    spec.embeddings.weight = _array(graph.target_embedding.matrix)
    for layer, of in zip(spec.layer, graph.decoder_layers, strict=True):
        _self_attention(layer.self_attention, of)
        _linear(layer.attention.linear[0], of.cross.query)
        _linear(layer.attention.linear[1], of.cross.key_value)
        _linear(layer.attention.linear[2], of.cross.output_projection)
        _norm(layer.attention.layer_norm, of.cross_norm)
        _feed_forward(layer.ffn, of)
    if graph.decoder_norm:
        _norm(spec.layer_norm, graph.decoder_norm)
    if graph.dense_logits:
        _linear(spec.projection, graph.dense_logits)
    else:
        spec.projection.weight = _array(graph.target_embedding.matrix)


def _self_attention(spec: Any, layer: Any) -> None:
    """The fused projection is CTranslate2's own layout too."""
    _linear(spec.linear[0], layer.attention.query_key_value)
    _linear(spec.linear[1], layer.attention.output_projection)
    _norm(spec.layer_norm, layer.attention_norm)


def _feed_forward(spec: Any, layer: Any) -> None:
    _linear(spec.linear_0, layer.feed.inner)
    _linear(spec.linear_1, layer.feed.outer)
    _norm(spec.layer_norm, layer.feed_norm)


def _linear(spec: Any, dense: Any) -> None:
    """A Dense kernel [in, out] as a weight [out, in]."""
    spec.weight = np.ascontiguousarray(_array(dense.kernel).T)
    spec.bias = _array(dense.bias)


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.scale), _array(norm.offset)


def _array(weight: Any) -> NDArray[np.float32]:
    # A copy: quantizing scales arrays in place.
    return np.array(ops.convert_to_numpy(weight), np.float32)


def _write(
    graph: StepGraph, run: Run, decoding: DecodingConfig, folder: Path, quantization: str | None
) -> None:
    tokenizers = run.tokenizers()
    framed = tokenizers.source.frame_source([])
    longest = max(LONGEST, decoding.max_length, decoding.max_source + len(framed))
    write_ctranslate2(
        graph,
        _tokens(tokenizers.source),
        _tokens(tokenizers.target),
        folder,
        quantization,
        frame_start=framed[0] == START_ID,
        longest=longest,
    )


def _tokens(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.tokens(range(tokenizer.vocab_size))


def _verify(
    run: Run, original: KerasStepModel, decoding: DecodingConfig, folder: Path
) -> dict[str, int | float]:
    """Hold the float32 model to the trained one's log-probabilities and translations."""
    source, target = run.held_out()
    source, target = source[:TRANSLATED_SENTENCES], target[:TRANSLATED_SENTENCES]
    pairs = list(zip(source, target, strict=True))[:FORCED_SENTENCES]
    report: dict[str, int | float] = {
        "log-probabilities, largest difference": compare_scores(
            original, _load(folder, decoding.beam_size), pairs
        ),
        "sentences with forced translations": len(pairs),
    }
    lines = [*source, *HARD_LINES]
    for beam_size in (1, 4):
        options = SearchOptions.of(decoding, beam_size, 0.0)
        ours = Translator(original, run.tokenizers(), options, decoding.max_source)
        counts = _compare(lines, ours, _load(folder, beam_size))
        report.update({f"{key}, beam {beam_size}": count for key, count in counts.items()})
    return report


def _load(folder: Path, beam_size: int) -> CTranslate2Translator:
    """Without a length penalty, as CTranslate2's is another formula than ours."""
    return load_ctranslate2(folder, beam_size, 0.0, intra_threads=VERIFIED_THREADS)


def compare_scores(
    original: KerasStepModel, exported: CTranslate2Translator, pairs: Sequence[tuple[str, str]]
) -> float:
    """Force reference translations through both models.

    Returns:
        The largest difference of two log-probabilities of the translations' own tokens.

    Raises:
        NmtError: it is beyond the tolerance; names sentence and position.
    """
    tokenizers = exported.tokenizers
    largest = 0.0
    for number, (source, target) in enumerate(pairs, start=1):
        (source_ids,), (target_ids,) = (
            tokenizers.source.encode([source]),
            tokenizers.target.encode([target]),
        )
        if not source_ids:  # CTranslate2 does not read what has no token
            continue
        (result,) = exported.model.score_batch(
            [tokenizers.source.tokens(source_ids)],
            [tokenizers.target.tokens(target_ids)],
            max_input_length=0,
        )
        expected = _forced(original, tokenizers.source.frame_source(source_ids), target_ids)
        differences = np.abs(expected - np.array(result.log_probs))
        largest = max(largest, float(differences.max()))
        if not differences.max() <= LOGIT_TOLERANCE:
            raise NmtError(
                f"verification failed: held-out sentence {number}, position "
                f"{int(differences.argmax())}: the log-probability of the reference's token is "
                f"off by {differences.max():.2g} (at most {LOGIT_TOLERANCE:g} allowed)",
                "please report this with the recipe; nothing was exported",
            )
    return float(f"{largest:.3g}")


def _forced(model: KerasStepModel, source: list[int], target: list[int]) -> NDArray[np.float64]:
    """Log-probabilities of a translation's tokens and of END behind them."""
    state = model.encode(np.array([source], np.int32))
    found = []
    for position, (last, token) in enumerate(
        zip([START_ID, *target], [*target, END_ID], strict=True)
    ):
        ancestry = np.ones((1, 1, position + 1), np.bool_)
        log_probs, state = model.log_probs(state, np.array([[last]], np.int32), ancestry)
        found.append(float(log_probs[0, 0, token]))
    return np.array(found)


def _compare(lines: Sequence[str], ours: Translator, theirs: Translator) -> dict[str, int]:
    """How many lines are translated alike, and how many of the others why not.

    Raises:
        NmtError: too few are; shows the first that differs.
    """
    pairs = list(zip(lines, ours.translate(lines), theirs.translate(lines), strict=True))
    differing = [each for each in pairs if each[1].text != each[2].text]
    untied = [each for each in differing if abs(each[1].score - each[2].score) > TIE]
    wrong = [each for each in untied if not is_cut(ours, *each)]
    if len(wrong) > (1 - LEAST_ALIKE) * len(lines):
        line, expected, found = wrong[0]
        raise NmtError(
            f"verification failed: at beam {ours.options.beam_size} CTranslate2 translates "
            f"{len(wrong)} of {len(lines)} held-out lines otherwise, such as {line[:80]!r} as "
            f"{found.text[:80]!r} (score {found.score:.4f}), the trained model as "
            f"{expected.text[:80]!r} ({expected.score:.4f})",
            "please report this with the recipe; nothing was exported",
        )
    return {
        "sentences translated alike": len(lines) - len(differing),
        "ties broken otherwise": len(differing) - len(untied),
        "cut at their limit otherwise": len(untied) - len(wrong),
        "translated otherwise": len(wrong),
    }


def is_cut(translator: Translator, line: str, *translations: Translation) -> bool:
    """Whether one of a line's translations is as long as may be; such have no END."""
    (ids,) = translator.tokenizers.source.encode([line])
    limit = translator.options.limit(len(translator.tokenizers.source.frame_source(ids)))
    return any(len(each.ids) >= limit for each in translations)


def _translate_held_out(run: Run, folder: Path) -> list[str]:
    return [each.text for each in _load(folder, 4).translate(run.held_out()[0])]


def _compare_quantized(
    run: Run, exact: Sequence[str], quantized: Sequence[str]
) -> dict[str, int | float]:
    """Hold the scores of translations with quantized weights to those with float32.

    Raises:
        NmtError: they lose too much.
    """
    same = sum(left == right for left, right in zip(exact, quantized, strict=True))
    report: dict[str, int | float] = {
        "sentences translated with quantized weights": len(exact),
        "of them as in float32": same,
    }
    if not exact:
        return report
    references = run.held_out()[1]
    for before, after in zip(
        evaluate(exact, references), evaluate(quantized, references), strict=True
    ):
        if before.value - after.value > MOST_LOST:
            raise NmtError(
                f"verification failed: quantized weights score {after.value:.1f} {before.name} "
                f"on the held-out lines, float32 {before.value:.1f}",
                "export without --quantize, or with another kind",
            )
        report[f"{before.name} in float32"] = round(before.value, 2)
        report[f"{after.name} with quantized weights"] = round(after.value, 2)
    return report


def _card(
    run: Run,
    decoding: DecodingConfig,
    quantization: str | None,
    report: dict[str, int | float],
) -> str:
    """MODEL_CARD.md: how to use the folder, with nmt and without."""
    recipe = run.recipe
    lines = [
        f"# {recipe.label}: {recipe.data.source} to {recipe.data.target}, for CTranslate2",
        "",
        f"Weights in {quantization or 'float32'}, exported by nmt {__version__}.",
        "",
        "## Use",
        "",
        *_usage(TokenizerSpec.read(run.folder / "tokenizer"), decoding),
        "",
        "Sources are given without start and end marks: `config.json` has CTranslate2 add them.",
        f"Lines longer than {decoding.max_source} tokens are better split into sentences first.",
        "CTranslate2's length penalty, `score / length ** alpha`, is not nmt's.",
        "",
        "## Training",
        "",
        f"Training text: {', '.join((*recipe.data.train, *recipe.data.synthetic))}. "
        "The licence of the model follows from that of its texts.",
        "",
        "## Verification",
        "",
        *(f"- {key}: {value}" for key, value in report.items()),
    ]
    return "\n".join(lines) + "\n"


def _usage(spec: TokenizerSpec, decoding: DecodingConfig) -> list[str]:
    lines = [
        "    from pathlib import Path",
        "    from nmt_cli.runtime.ctranslate2_translator import load_ctranslate2",
        "",
        '    for each in load_ctranslate2(Path("THIS_FOLDER")).translate(["Uma linha."]):',
        "        print(each.text)",
        "",
    ]
    if spec.kind == "wordpiece":
        return [
            *lines,
            f"Without nmt: cut text into pieces of `{TOKENIZER}/{spec.source}` as BERT's "
            f"WordPiece tokenizer does, lower-cased: {'yes' if spec.lowercase else 'no'}; pieces "
            "beginning with ## continue a word.",
        ]
    return [
        *lines,
        "Without nmt, with sentencepiece:",
        "",
        "    import ctranslate2, sentencepiece",
        "",
        "    load = sentencepiece.SentencePieceProcessor",
        f'    source = load(model_file="THIS_FOLDER/{TOKENIZER}/{spec.source}")',
        f'    target = load(model_file="THIS_FOLDER/{TOKENIZER}/{spec.target}")',
        '    model = ctranslate2.Translator("THIS_FOLDER")',
        '    pieces = source.encode("Uma linha.", out_type=str)',
        "    found = model.translate_batch(",
        f"        [pieces], beam_size={decoding.beam_size}, "
        f"length_penalty={decoding.length_penalty:g}, max_decoding_length={decoding.max_length}",
        "    )",
        "    print(target.decode(found[0].hypotheses[0]))",
    ]
