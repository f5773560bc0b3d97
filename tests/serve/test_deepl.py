"""DeepL's interface, with its own client."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deepl
import pytest

from nmt_cli.models import TranslationModel
from nmt_cli.search.lines import Line
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.deepl import _on_one_line
from tests.serve.conftest import Server, serving


@pytest.fixture(autouse=True)
def _no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


def client(server: Server, key: str = "any") -> deepl.Translator:
    return deepl.Translator(key, server_url=server.url)


def test_texts(server: Server, model: TranslationModel) -> None:
    texts = ["o gato dorme", "a casa azul"]
    expected = [result.text for result in model.translate(texts)]
    results = client(server).translate_text(texts, source_lang="PT", target_lang="EN-US")
    assert [result.text for result in results] == expected
    assert [result.billed_characters for result in results] == list(map(len, texts))
    result = client(server).translate_text(texts[0], target_lang="EN-GB")
    assert (result.text, result.detected_source_lang) == (expected[0], "PT")


def test_markup(server: Server, model: TranslationModel) -> None:
    words = [result.text for result in model.translate(["o gato", "dorme"])]
    result = client(server).translate_text(
        "<doc><p>o gato</p><x>a casa</x>\n<p>dorme</p></doc>",
        target_lang="EN-US",
        tag_handling="xml",
        ignore_tags=["x"],
    )
    assert result.text == f"<doc><p>{words[0]}</p><x>a casa</x>\n<p>{words[1]}</p></doc>"


def test_line_breaks_and_sentences(server: Server, model: TranslationModel) -> None:
    """Line breaks end sentences unless the request says otherwise."""
    text = "o gato dorme. a casa\né azul."
    lines = [result.text for result in model.translate(text.splitlines())]
    (joined,) = model.translate([text.replace("\n", " ")])
    options = DecodingOptions(split_sentences=False)
    (whole,) = model.translate([text.replace("\n", " ")], options)
    assert whole.text != joined.text
    for value, expected in (
        (None, "\n".join(lines)),
        ("1", "\n".join(lines)),
        ("nonewlines", joined.text),
        ("0", whole.text),
    ):
        result = client(server).translate_text(text, target_lang="EN-US", split_sentences=value)
        assert result.text == expected
        assert result.billed_characters == len(text)


def test_line_breaks_at_edges_stay() -> None:
    assert _on_one_line("\n a\t b \r\n\n c\u2028d\n") == "\n a\t b c d\n"
    assert _on_one_line("a" + 10**6 * "\n") == "a" + 10**6 * "\n"


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, ["o", "gato"]),
        ({"outline_detection": False, "splitting_tags": "a,b"}, ["o", "gato"]),
        ({"outline_detection": False}, ["¦o¦¦gato¦"]),
        ({"non_splitting_tags": ["a", "b"]}, ["¦o¦¦gato¦"]),
    ],
)
def test_tags_that_separate_texts(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    first: list[str],
) -> None:
    submitted, submit = list[list[str]](), server.service.batcher.submit

    def spy(model: Any, options: Any, lines: Sequence[Line], flow: Any) -> Any:
        submitted.append([re.sub("[\U00100000-\U0010fffd]", "¦", line.text) for line in lines])
        return submit(model, options, lines, flow)

    monkeypatch.setattr(server.service.batcher, "submit", spy)
    text = "<r><a>o</a><b>gato</b></r>"
    client(server).translate_text(text, target_lang="EN-US", tag_handling="xml", **options)
    assert submitted[0] == first


@pytest.mark.parametrize("type", list(deepl.ModelType))
def test_types_of_models(server: Server, type: deepl.ModelType) -> None:
    result = client(server).translate_text("a casa", target_lang="EN-US", model_type=type)
    assert result.model_type_used == type.value.removeprefix("prefer_")
    result = client(server).translate_text("a casa", target_lang="EN-US")
    assert result.model_type_used is None


def test_options_without_effect(server: Server) -> None:
    plain = client(server).translate_text("a casa", target_lang="EN-US")
    result = client(server).translate_text(
        "a casa",
        target_lang="EN-US",
        context="um gato",
        formality="prefer_more",
        preserve_formatting=True,
        tag_handling_version="v2",
    )
    assert result.text == plain.text


def test_version_3_of_languages(server: Server) -> None:
    (english, portuguese) = server.get("/v3/languages?resource=translate_text").body
    assert english == {
        "lang": "en",
        "name": "English",
        "usable_as_source": False,
        "usable_as_target": True,
        "status": "stable",
        "features": portuguese["features"],
    }
    assert portuguese["features"]["tag_handling"] == {"status": "stable"}
    assert server.get("/v3/languages?resource=voice").body == []
    answer = server.get("/v3/languages?resource=all")
    assert (answer.status, answer.body) == (
        400,
        {"message": "Value for 'resource' not supported."},
    )
    resources = {
        item["name"]: item["features"] for item in server.get("/v3/languages/resources").body
    }
    assert resources["translate_text"][:2] == [
        {"name": "auto_detection", "needs_source_support": True},
        {"name": "tag_handling", "needs_source_support": True, "needs_target_support": True},
    ]


def test_nothing_to_list(server: Server) -> None:
    current = deepl.DeepLClient("any", server_url=server.url)
    assert current.list_translation_memories() == []
    assert current.get_all_style_rules() == []


def test_answers_can_be_traced(server: Server) -> None:
    answers = [server.get(path) for path in ("/v2/usage", "/v3/nowhere", "/v2/usage")]
    traces = [answer.headers["x-trace-id"] for answer in answers]
    assert all(re.fullmatch("[0-9a-f]{32}", trace) for trace in traces)
    assert len(set(traces)) == 3
    assert "x-trace-id" not in server.get("/languages").headers


def test_form_bodies(server: Server, model: TranslationModel) -> None:
    answer = server.post("/v2/translate", "text=o+gato&text=a+casa&target_lang=EN")
    expected = [result.text for result in model.translate(["o gato", "a casa"])]
    assert [result["text"] for result in answer.body["translations"]] == expected


def test_languages_and_usage(server: Server) -> None:
    translator = client(server)
    assert [language.code for language in translator.get_source_languages()] == ["PT"]
    assert [(language.code, language.name) for language in translator.get_target_languages()] == [
        ("EN", "English")
    ]
    before = translator.get_usage().character.count
    translator.translate_text("o gato", target_lang="EN-US")
    assert translator.get_usage().character.count == before + 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda translator: translator.translate_text("a", target_lang="DE"),
            "Value for 'target_lang' not",
        ),
        (
            lambda translator: translator.translate_text(
                "a", source_lang="DE", target_lang="EN-US"
            ),
            "Value for 'source_lang' not supported",
        ),
        (
            lambda translator: translator.translate_text(["a"] * 51, target_lang="EN-US"),
            "Too many texts",
        ),
        (
            lambda translator: translator.translate_text(
                "a", target_lang="EN-US", formality="more"
            ),
            "Target language 'EN-US' doesn't support formality.",
        ),
        (
            lambda translator: translator.translate_text(
                "a", target_lang="EN-US", tag_handling="rtf"
            ),
            "Value for 'tag_handling' not supported",
        ),
    ],
)
def test_refused_requests(
    server: Server, call: Callable[[deepl.Translator], object], message: str
) -> None:
    with pytest.raises(deepl.DeepLException, match=message):
        call(client(server))


def test_messages(server: Server) -> None:
    for body, message in (
        ({"target_lang": "EN"}, "Parameter 'text' not specified."),
        ({"text": ["a"]}, "Parameter 'target_lang' not specified."),
        ({"glossary_id": "x", "source_lang": "PT"}, "Value for 'glossary_id' not supported."),
        ({"text": [1], "target_lang": "EN"}, "Invalid request: text is not text"),
        ({"split_sentences": "2"}, "Value for 'split_sentences' not supported."),
        ({"tag_handling_version": "v3"}, "Value for 'tag_handling_version' not supported."),
        ({"model_type": "small"}, "Value for 'model_type' not supported."),
        ({"formality": "polite"}, "Value for 'formality' not supported."),
        ({"formality": "less"}, "Target language 'EN' doesn't support formality."),
        ({"custom_instructions": ["Rhyme."]}, "Value for 'custom_instructions' not supported."),
        ({"style_id": "x"}, "Value for 'style_id' not supported."),
    ):
        defaults = (
            {} if "text" in body or "target_lang" in body else {"text": ["a"], "target_lang": "EN"}
        )
        answer = server.post("/v2/translate", defaults | body)
        assert answer.status == 400
        assert answer.body["message"].startswith(message)
    answer = server.post("/v2/translate", {"text": ["a" * 60_000], "target_lang": "EN"})
    assert (answer.status, answer.body) == (413, {"message": "Request Entity Too Large"})
    assert server.get("/v2/nowhere").body == {"message": "Not Found"}


def test_keys(bundle: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine 1\n", encoding="utf-8")
    with serving(bundle, api_keys=keys) as server:
        with pytest.raises(deepl.AuthorizationException, match="valid DeepL-Auth-Key"):
            client(server, "other").get_usage()
        client(server, "mine").get_usage()
        with pytest.raises(deepl.TooManyRequestsException, match="1 per minute"):
            client(server, "mine").get_usage()
