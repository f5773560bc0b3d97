"""nmt tokenize."""

from pathlib import Path

import click

from nmt_cli.cli.options import (
    PATH,
    PATH_OR_STDIN,
    PREPARED,
    ending_by_sigpipe,
    find_model,
    find_recipe,
    is_recipe,
)
from nmt_cli.errors import NmtError
from nmt_cli.files import standard_output
from nmt_cli.text.tokenizer import Tokenizer, encode_lines


@click.command(epilog="\b\nExample: echo 'Bom dia!' | nmt tokenize -m exports/docs-pt-en")
@click.argument("file", default="-", type=PATH_OR_STDIN)
@click.option(
    "-m",
    "--model",
    type=PATH,
    help="Run, bundle, name of an installed model, prepared data, or a recipe whose data is under "
    "prepared/; default: as for nmt translate.",
)
@click.option("--target", is_flag=True, help="Use the target vocabulary.")
@click.option("--ids", is_flag=True, help="Numbers of the vocabulary instead of tokens.")
@click.option("--detokenize", is_flag=True, help="Read tokens, or ids with --ids; write text.")
def tokenize(file: Path, model: Path | None, target: bool, ids: bool, detokenize: bool) -> None:
    """Split the lines of FILE (default: standard input) into tokens, as the model reads them.

    One line in, one line out. "▁" in a token of SentencePiece is a space.
    """
    from nmt_cli.jobs.inputs import name_of, open_lines
    from nmt_cli.jobs.outputs import Sink
    from nmt_cli.text.folder import load_tokenizers

    sink = Sink(standard_output())
    lines = open_lines(file)
    pair = load_tokenizers(_folder(model) / "tokenizer")
    tokenizer = pair.target if target else pair.source
    vocabulary = _vocabulary(tokenizer, ids) if detokenize else {}
    with ending_by_sigpipe():
        for number, line in enumerate(lines, start=1):
            if detokenize:
                where = f"{name_of(file)}, line {number}"
                sink.write(tokenizer.decode([_read(line, vocabulary, where)]))
            else:
                (found,) = encode_lines(tokenizer, [line])
                sink.write([" ".join(map(str, found) if ids else tokenizer.tokens(found))])


def _folder(model: Path | None) -> Path:
    """The folder that has the tokenizers of a model or a recipe."""
    if not model or not is_recipe(model):
        return find_model(model)
    found = PREPARED / find_recipe(str(model), ()).label
    if not found.exists():
        raise NmtError(f"{found}: no prepared data", f"run nmt prepare {model} first")
    return found


def _vocabulary(tokenizer: Tokenizer, ids: bool) -> dict[str, int]:
    """The id of each token, or of each number."""
    every = range(tokenizer.vocab_size)
    return dict(zip(map(str, every) if ids else tokenizer.tokens(every), every, strict=True))


def _read(line: str, vocabulary: dict[str, int], where: str) -> list[int]:
    unknown = next((each for each in line.split(" ") if each and each not in vocabulary), None)
    if unknown is not None:
        raise NmtError(f"{where}: {unknown!r} is not in the vocabulary", "see --ids and --target")
    return [vocabulary[each] for each in line.split(" ") if each]
