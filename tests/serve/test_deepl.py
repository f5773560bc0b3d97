"""DeepL's interface, with its own client."""

from collections.abc import Callable
from pathlib import Path

import deepl
import pytest

from nmt_cli.models import TranslationModel
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
            "'formality' is not supported",
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
        ({"text": ["a"], "target_lang": "EN", "glossary_id": "x"}, "Value for 'glossary_id'"),
        ({"text": [1], "target_lang": "EN"}, "Invalid request: text is not text"),
    ):
        answer = server.post("/v2/translate", body)
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
