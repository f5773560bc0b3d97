"""MODEL_CARD.md of a CTranslate2 folder."""

from collections.abc import Sequence

from nmt_cli import __version__
from nmt_cli.export.ctranslate2.translator import TOKENIZER
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.text.tokenizer import TokenizerSpec
from nmt_cli.training.run import Run


def ctranslate2_card(
    run: Run,
    decoding: DecodingConfig,
    precision: str,
    report: Sequence[str],
) -> str:
    """MODEL_CARD.md: how to use the folder, with nmt and without."""
    recipe = run.recipe
    lines = [
        f"# {recipe.label}: {recipe.data.source} to {recipe.data.target}, for CTranslate2",
        "",
        f"Weights in {precision}, exported by nmt {__version__}.",
        "",
        "## Use",
        "",
        *_usage(TokenizerSpec.read(run.folder / "tokenizer"), decoding),
        "",
        "Give sources without start and end tokens: CTranslate2 adds them, as `config.json` says.",
        f"Split lines of more than {decoding.max_source} tokens into sentences first.",
        "CTranslate2's length penalty is `score / length ** alpha`, which differs from nmt's.",
        "",
        "## Training",
        "",
        f"Training text: {', '.join((*recipe.data.train, *recipe.data.synthetic))}. "
        "The licence of the model follows from that of its texts.",
        "",
        "## Verification",
        "",
        *(f"- {line}" for line in report),
    ]
    return "\n".join(lines) + "\n"


def _usage(spec: TokenizerSpec, decoding: DecodingConfig) -> list[str]:
    lines = [
        "    from pathlib import Path",
        "    from nmt_cli.export.ctranslate2.translator import load_ctranslate2",
        "",
        '    for each in load_ctranslate2(Path("THIS_FOLDER")).translate(["Uma linha."]):',
        "        print(each.text)",
        "",
    ]
    if spec.kind == "wordpiece":
        return [
            *lines,
            f"Without nmt: split text into pieces of `{TOKENIZER}/{spec.source}` as BERT's "
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
