"""The language of texts without one: a source that is served, or the target's own."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_cli.models import TranslationModel
from nmt_cli.text.detection import Detector
from tests.serve.conftest import Server, renamed, serving
from tests.serve.test_forms import multipart

ENGLISH = "The cat sleeps in the blue house because it is raining today."
PORTUGUESE = "O gato dorme na casa azul porque hoje não há sol e chove muito."
FRENCH = "Le chat dort dans la maison bleue parce qu'il pleut aujourd'hui."
GERMAN = "Die Katze schläft heute im blauen Haus, weil es regnet."


@pytest.fixture(scope="module")
def three(bundle: Path) -> Iterator[Server]:
    """A server from Portuguese and French to English, and from English to Portuguese."""
    others = [
        renamed(bundle, bundle.with_name(f"{source}-{target}"), source, target)
        for source, target in (("fr", "en"), ("en", "pt"))
    ]
    with serving(bundle, *others) as running:
        yield running


def test_text_in_the_target_language_stays(server: Server, three: Server) -> None:
    for running in (server, three):
        fields = {"q": ENGLISH, "source": "auto", "target": "en", "alternatives": 2}
        answer = running.post("/translate", {**fields, "alignments": True}).body
        assert answer["translatedText"] == ENGLISH
        assert answer["alternatives"] == []
        assert answer["alignments"] is None
        assert answer["detectedLanguage"]["language"] == "en"
        assert answer["detectedLanguage"]["confidence"] > 90


def test_texts_of_a_list_have_their_own_languages(three: Server, model: TranslationModel) -> None:
    texts = [ENGLISH, PORTUGUESE, FRENCH, GERMAN]
    answer = three.post("/translate", {"q": texts, "source": "auto", "target": "en"}).body
    languages = [detected["language"] for detected in answer["detectedLanguage"]]
    assert languages[:3] == ["en", "pt", "fr"]
    assert languages[3] in ("en", "pt", "fr")  # none of them is likely
    assert answer["detectedLanguage"][3]["confidence"] < 10
    assert answer["translatedText"][0] == ENGLISH
    assert answer["translatedText"][1] == next(model.translate([PORTUGUESE])).text
    answer = three.post("/translate", {"q": texts[:2], "source": "auto", "target": "pt"}).body
    assert answer["translatedText"][1] == PORTUGUESE
    assert answer["translatedText"][0] != ENGLISH


def test_html_and_files_in_the_target_language_stay(server: Server) -> None:
    page = f"<p>{ENGLISH} &amp; <b>more</b>"
    fields = {"q": [page], "source": "auto", "target": "en", "format": "html"}
    assert server.post("/translate", fields).body["translatedText"] == [page]
    body = multipart({"source": b"auto", "target": b"en"})
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    body = body.removesuffix(b"--x--\r\n") + file + ENGLISH.encode() + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    url = server.send("/translate_file", body, headers).body["translatedFileUrl"]
    answer = server.get(url.removeprefix(server.url))
    assert answer.body == ENGLISH.encode()
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''a.txt"


@pytest.mark.parametrize("target", ["en", "EN", "en-GB"])
def test_source_and_target_may_be_the_same(server: Server, target: str) -> None:
    fields = {"q": "o gato\r\n dorme", "source": "en", "target": target}
    assert server.post("/translate", fields).body == {"translatedText": "o gato\r\n dorme"}


def test_other_regions_are_other_languages(bundle: Path) -> None:
    brazilian = renamed(bundle, bundle.with_name("pt-BR-en"), "pt-BR", "en")
    with serving(brazilian) as server:
        fields = {"q": "o gato", "source": "pt-BR", "target": "pt-PT"}
        assert server.post("/translate", fields).status == 400
        answer = server.post("/translate", {**fields, "target": "pt"})
        assert answer.body == {"translatedText": "o gato"}
        fields = {"q": PORTUGUESE, "source": "auto", "target": "en"}
        detected = server.post("/translate", fields).body["detectedLanguage"]
        assert detected["language"] == "pt-br"


def test_deepl_without_a_source_language(three: Server) -> None:
    body = {"text": [ENGLISH, PORTUGUESE], "target_lang": "EN-US"}
    first, second = three.post("/v2/translate", body).body["translations"]
    assert (first["detected_source_language"], first["text"]) == ("EN", ENGLISH)
    assert second["detected_source_language"] == "PT"
    assert second["text"] != PORTUGUESE
    body = {"text": ["o\ngato"], "source_lang": "EN", "target_lang": "EN-GB"}
    answer = three.post("/v2/translate", {**body, "split_sentences": "nonewlines"})
    (result,) = answer.body["translations"]
    assert (result["detected_source_language"], result["text"]) == ("EN", "o\ngato")


def test_detect_knows_only_served_languages(server: Server, three: Server) -> None:
    for text, languages, confident in (
        (ENGLISH, ["en"], True),
        (PORTUGUESE, ["pt"], True),
        (GERMAN, ["en", "pt"], False),
    ):
        (detected,) = server.post("/detect", {"q": text}).body
        assert detected["language"] in languages
        assert (detected["confidence"] > 90) == confident
    assert three.post("/detect", {"q": FRENCH}).body[0]["language"] == "fr"


LINK = (
    '<a href="https://a.example/the-cat" class="u-url" rel="nofollow noopener noreferrer">'
    '<span class="invisible">https://www.</span><span class="ellipsis">a.example/the-quick</span>'
    '<span class="invisible">-brown-fox-and-other-stories</span></a>'
)


@pytest.mark.parametrize(
    "text",
    [
        f"<p>Leiam isto: {LINK}</p>",
        f"<p>O gato dorme. {LINK} {LINK}</p>",
        "Vejam https://www.example.com/the-quick-brown-fox-and-other-stories-about-this",
        '<p class="the-text-of-this-post">Bom dia!</p>',
        "<" * 100_000,
        "日" * 100_000,
    ],
)
def test_markup_and_addresses_have_no_language(text: str) -> None:
    began = time.monotonic()
    assert Detector().choose(text, ["pt"], "en")[0] == "pt"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "text", ["Obrigado", "Olá!", "Bom dia!", "sim", "Oi", "123", "", "Lisboa", "Sim, claro."]
)
def test_short_texts_are_taken_as_the_source(text: str) -> None:
    assert Detector().choose(text, ["pt"], "en")[0] == "pt"
