"""nmt tokenize: text to tokens or ids and back."""

from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor

from tests.cli.conftest import LISTING_MODULES, assert_fails, nmt

TEXT = "o gato está aqui.\n\n  a  mesa 你!\n".encode()


@pytest.fixture(scope="module")
def processor(system: Path) -> SentencePieceProcessor:
    (model,) = (system / "runs/toy-pt-en/tokenizer").glob("*.model")
    return SentencePieceProcessor(model_file=str(model))


@pytest.mark.parametrize("model", ["runs/toy-pt-en", "prepared/toy-pt-en", "toy.toml", None])
def test_tokens_are_those_of_sentencepiece(
    system: Path, processor: SentencePieceProcessor, model: str | None
) -> None:
    lines = TEXT.decode().splitlines()
    named = ["-m", model] if model else []
    ids = nmt("tokenize", "--ids", *named, cwd=system, stdin=TEXT)
    assert (ids.code, ids.out.decode().splitlines()) == (
        0,
        [" ".join(map(str, processor.encode(line))) for line in lines],
    )
    tokens = nmt("tokenize", *named, cwd=system, stdin=TEXT).out.decode().splitlines()
    assert tokens[:2] == [" ".join(processor.encode(lines[0], out_type=str)), ""]
    assert tokens[2].split() == [
        processor.id_to_piece(token_id) for token_id in processor.encode(lines[2])
    ]


@pytest.mark.parametrize("options", [[], ["--ids"], ["--target"], ["--target", "--ids"]])
def test_detokenizing_gives_the_text_back(system: Path, options: list[str]) -> None:
    text = b"the book costs ten euros!\n\nthe cat\n"
    split = nmt("tokenize", *options, cwd=system, stdin=text)
    assert split.out != text
    assert nmt("tokenize", "--detokenize", *options, cwd=system, stdin=split.out).out == text


def test_files_may_be_compressed_and_nothing_loads_a_framework(system: Path) -> None:
    result = nmt("tokenize", "toy.pt", cwd=system, command=LISTING_MODULES)
    assert result.code == 0
    assert result.out.count(b"\n") == 200
    for name in ("tensorflow", "keras", "onnxruntime"):
        assert f'"{name}"' not in result.err


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "line", "said"),
        [
            ([], "▁a xyz", "standard input, line 2: 'xyz' is not in the vocabulary"),
            (["--ids"], "4 -1", "line 2: '-1' is not in the vocabulary"),
            (["--ids"], "999", "line 2: '999' is not in the vocabulary"),
            (["--ids"], "4 ▁a", "line 2: '▁a' is not in the vocabulary"),
        ],
    )
    def test_a_token_that_is_none(
        self, system: Path, options: list[str], line: str, said: str
    ) -> None:
        result = nmt("tokenize", "--detokenize", *options, cwd=system, stdin=f"\n{line}\n".encode())
        assert_fails(result, said, "--ids")

    def test_a_model_that_is_none(self, system: Path, tmp_path: Path) -> None:
        assert_fails(nmt("tokenize", "-m", "nope", cwd=system), "nope: no such run or bundle")
        assert_fails(nmt("tokenize", cwd=tmp_path), "no model: neither a bundle")
        assert_fails(
            nmt("tokenize", "-m", "tatoeba-pt-en", cwd=tmp_path),
            "prepared/tatoeba-pt-en: no prepared data; run nmt prepare tatoeba-pt-en first",
        )
        assert_fails(
            nmt("tokenize", "-m", tmp_path, cwd=tmp_path), "tokenizer.json: cannot be read"
        )

    def test_no_such_file(self, system: Path) -> None:
        assert_fails(nmt("tokenize", "nope.txt", cwd=system), "nope.txt: no such file")
