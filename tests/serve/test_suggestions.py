"""Suggested translations, which a recipe can then train with."""

from pathlib import Path
from urllib.parse import urlencode

import pytest

from nmt_cli.data.corpus import read_corpus
from nmt_cli.recipe.config import DataConfig
from tests.serve.conftest import Server, renamed, serving

FIELDS = {"q": "o gato", "s": "the cat", "source": "pt", "target": "en"}


def test_none_without_a_file(server: Server) -> None:
    answer = server.post("/suggest", {})
    message = "Suggestions are disabled on this server."
    assert (answer.status, answer.body) == (403, {"error": message})
    assert server.get("/frontend/settings").body["suggestions"] is False


def test_suggestions_are_parallel_text(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "suggestions.tsv"
    with serving(bundle, suggestions=file) as server:
        assert server.get("/frontend/settings").body["suggestions"] is True
        assert server.post("/suggest", FIELDS).body == {"success": True}
        texts = {"q": "a\tcasa\r\nazul\u2028é\x0bminha ", "s": "\nthe\t\tblue house\x85is mine"}
        assert server.post("/suggest", urlencode(FIELDS | texts)).body == {"success": True}
        answer = server.post("/suggest", FIELDS | {"source": "PT", "target": "en-GB"})
        assert answer.status == 200
    assert file.read_text(encoding="utf-8") == (
        "o gato\tthe cat\tpt\ten\n"
        "a casa azul é minha\tthe blue house is mine\tpt\ten\n"
        "o gato\tthe cat\tpt\ten\n"
    )
    corpus = read_corpus(file.name, DataConfig(root=str(tmp_path), source="pt", target="en"))
    assert corpus.source == ["o gato", "a casa azul é minha", "o gato"]
    assert corpus.target == ["the cat", "the blue house is mine", "the cat"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": " \n"}, "Invalid request: missing q parameter"),
        ({"s": "\t"}, "Invalid request: missing s parameter"),
        ({"source": ""}, "Invalid request: missing source parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"q": ["a"]}, "Invalid request: q is not text"),
        ({"source": "xx"}, "xx is not supported"),
        (
            {"source": "en", "target": "pt"},
            "Portuguese (pt) is not available as a target language from English (en)",
        ),
        ({"source": "en"}, "English (en) is not available as a target language from English (en)"),
        ({"q": "a" * 19, "s": "bb"}, "Invalid request: request (21) exceeds text limit (20)"),
    ],
)
def test_refused(bundle: Path, tmp_path: Path, fields: dict[str, object], message: str) -> None:
    file = tmp_path / "suggestions.tsv"
    with serving(bundle, suggestions=file, max_characters=20) as server:
        answer = server.post("/suggest", FIELDS | fields)
        assert (answer.status, answer.body) == (400, {"error": message})
    assert not file.exists()


def test_a_file_that_cannot_be_written(
    bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(bundle, suggestions=tmp_path / "missing" / "a.tsv") as server:
        answer = server.post("/suggest", FIELDS)
        assert (answer.status, answer.body) == (500, {"error": "internal error"})
    assert "a.tsv: cannot be written (No such file or directory)" in caplog.text


def test_suggestions_need_a_key(bundle: Path, tmp_path: Path) -> None:
    keys, file = tmp_path / "keys", tmp_path / "suggestions.tsv"
    keys.write_text("mine\n", encoding="utf-8")
    others = renamed(bundle, bundle.with_name("en-fr"), "en", "fr")
    with serving(bundle, others, api_keys=keys, suggestions=file) as server:
        assert server.post("/suggest", FIELDS).status == 400
        fields = {**FIELDS, "target": "fr", "api_key": "mine"}  # through English
        assert server.post("/suggest", fields).status == 200
    assert file.read_text(encoding="utf-8") == "o gato\tthe cat\tpt\tfr\n"
