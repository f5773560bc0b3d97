"""MODEL_CARD.md of a CTranslate2 folder."""

from collections.abc import Sequence

from nmt_cli import __version__
from nmt_cli.export.ctranslate2.translator import TOKENIZER
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.text.folder import TokenizerSpec
from nmt_cli.training.run import Run

_CARD = """\
# {label}: {source} to {target}, for CTranslate2

Weights in {precision}, exported by nmt {version}.

## Use

    from pathlib import Path
    from nmt_cli.export.ctranslate2.translator import load_ctranslate2

    for each in load_ctranslate2(Path("THIS_FOLDER")).translate(["Uma linha."]):
        print(each.text)

{usage}

Give sources without start and end tokens: CTranslate2 adds them, as `config.json` says.
Split lines of more than {decoding.max_source} tokens into sentences first.
CTranslate2's length penalty is `score / length ** alpha`, which differs from nmt's.

## Training

Training text: {corpora}. The licence of the model follows from that of its texts.

## Verification

{report}
"""
_SENTENCEPIECE = """\
Without nmt, with sentencepiece:

    import ctranslate2, sentencepiece

    load = sentencepiece.SentencePieceProcessor
    source = load(model_file="THIS_FOLDER/{folder}/{spec.source}")
    target = load(model_file="THIS_FOLDER/{folder}/{spec.target}")
    model = ctranslate2.Translator("THIS_FOLDER")
    pieces = source.encode("Uma linha.", out_type=str)
    found = model.translate_batch(
        [pieces], beam_size={decoding.beam_size}, length_penalty={decoding.length_penalty:g},
        max_decoding_length={decoding.max_length},
    )
    print(target.decode(found[0].hypotheses[0]))"""
_WORDPIECE = (
    "Without nmt: split text into pieces of `{folder}/{spec.source}` as BERT's WordPiece tokenizer "
    "does, lower-cased: {spec.lowercase}; pieces beginning with ## continue a word."
)


def ctranslate2_card(
    run: Run, decoding: DecodingConfig, precision: str, report: Sequence[str]
) -> str:
    """MODEL_CARD.md: how to use the folder, with nmt and without."""
    spec, data = TokenizerSpec.read(run.folder / TOKENIZER), run.recipe.data
    usage = _WORDPIECE if spec.kind == "wordpiece" else _SENTENCEPIECE
    return _CARD.format(
        label=run.recipe.label,
        source=data.source,
        target=data.target,
        precision=precision,
        version=__version__,
        usage=usage.format(folder=TOKENIZER, spec=spec, decoding=decoding),
        decoding=decoding,
        corpora=", ".join((*data.train, *data.synthetic)),
        report="\n".join(f"- {line}" for line in report),
    )
