"""The tokenizer.json of Hugging Face's tokenizers, as Transformers.js reads it."""

import base64
from itertools import chain
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.export.huggingface.pieces import read_spm
from nmt_cli.text.folder import TokenizerSpec
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from nmt_cli.training.run import Run

# Characters that become bytes if the vocabulary lacks them: Latin, Greek and Cyrillic; more Latin;
# punctuation and symbols; emoji.
_SPELLED = (
    range(0x21, 0x530),
    range(0x1E00, 0x1F00),
    range(0x2010, 0x27C0),
    range(0x1F300, 0x1FA00),
)


def fast_tokenizer(run: Run) -> dict[str, Any]:
    """Describe the tokenizer of a run.

    Raises:
        NmtError: it is not a unigram model with one vocabulary for both languages.
    """
    source, target = run.tokenizers().source, run.tokenizers().target
    spec = TokenizerSpec.read(run.folder / "tokenizer")
    if not isinstance(source, SentencePieceTokenizer):
        raise unsupported(f"the tokenizer is '{spec.kind}'")
    ids = range(source.vocab_size)
    if target.vocab_size != len(ids) or source.tokens(ids) != target.tokens(ids):
        raise unsupported("source and target have separate vocabularies")
    model = read_spm(run.folder / "tokenizer" / spec.source)
    if model.trainer_spec.model_type != type(model.trainer_spec).UNIGRAM:
        raise unsupported("the tokenizer's model is not unigram")
    least = min(each.score for each in model.pieces if each.type == each.NORMAL)
    pieces = [[each.piece, _score(each, least)] for each in model.pieces]
    special = (PAD_ID, UNK_ID, START_ID, END_ID)
    end = pieces[END_ID][0]
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": number, "content": pieces[number][0], "special": True, "normalized": False}
            for number in special
        ],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model, source)},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end}}],
            "pair": [],
            "special_tokens": {end: {"id": end, "ids": [END_ID], "tokens": [end]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {"type": "Unigram", "unk_id": UNK_ID, "vocab": pieces},
    }


def unsupported(what: str) -> NmtError:
    """The error about a model that Transformers.js cannot run."""
    return NmtError(
        f"--transformersjs: {what}, which Transformers.js does not support",
        "export it with --web or --onnx --single-file, which support it",
    )


def _score(piece: Any, least: float) -> float:
    """The score of a piece, where the text should contain only normal ones and bytes."""
    scores = {piece.NORMAL: piece.score, piece.BYTE: 0.0}
    return scores.get(piece.type, least - 10)


def _normalizers(model: Any, tokenizer: SentencePieceTokenizer) -> list[dict[str, Any]]:
    spec, found = model.normalizer_spec, list[dict[str, Any]]()
    if spec.precompiled_charsmap:
        rules = base64.b64encode(spec.precompiled_charsmap).decode()
        found.append({"type": "Precompiled", "precompiled_charsmap": rules})
    if spec.remove_extra_whitespaces:
        found.append({"type": "Strip", "strip_left": True, "strip_right": True})
        found.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    return found + (_bytes(tokenizer) if model.trainer_spec.byte_fallback else [])


def _bytes(tokenizer: SentencePieceTokenizer) -> list[dict[str, Any]]:
    """Rules that replace characters that the vocabulary lacks by the names of their bytes' tokens.

    Transformers.js has no byte fallback for unigram models.
    """
    rules = []
    for char in map(chr, chain.from_iterable(_SPELLED)):
        tokens = tokenizer.tokens(tokenizer.encode([char])[0])
        spelled = [f"<0x{byte:02X}>" for byte in char.encode()]
        # Rules follow each other: those for characters of the names would spell names.
        if tokens[-len(spelled) :] == spelled and char not in "<0x123456789ABCDEF>":
            pattern = {"String": char}
            rules.append({"type": "Replace", "pattern": pattern, "content": "".join(spelled)})
    return rules
