"""LibreTranslate's interface, over HTTP and with its own client."""

import html
import json
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from libretranslatepy import LibreTranslateAPI

from nmt_cli.models import TranslationModel
from nmt_cli.search.translator import Translation
from nmt_cli.serve.service import ranked
from tests.serve.conftest import Server, serving

TEXTS = ["o gato dorme", "a casa azul\n\n  o gato \r\ne a casa", "", "   "]


def translated(model: TranslationModel, text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        next(model.translate([line.rstrip("\r")])).text + line[len(line.rstrip("\r")) :]
        for line in lines
    )


def test_its_own_client(server: Server, model: TranslationModel) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate("o gato dorme", "pt", "en") == translated(model, "o gato dorme")
    assert client.detect("bonjour tout le monde")[0]["language"] == "fr"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": []},
        {"code": "pt", "name": "Portuguese", "targets": ["en"]},
    ]


def test_texts_of_several_lines_keep_their_line_ends(
    server: Server, model: TranslationModel
) -> None:
    answer = server.post("/translate", {"q": TEXTS, "source": "pt", "target": "en"})
    assert answer.body == {"translatedText": [translated(model, text) for text in TEXTS]}


def test_html(server: Server, model: TranslationModel) -> None:
    """As Mastodon asks for a toot: a list, HTML, the language perhaps unknown."""
    (translation,) = model.translate(["o gato dorme"])
    fields = {"q": ["<p>o gato dorme</p>", "o gato dorme"], "source": "auto", "target": "en"}
    answer = server.post("/translate", {**fields, "format": "html", "api_key": ""})
    text = html.escape(translation.text, quote=False)
    assert answer.body["translatedText"] == [f"<p>{text}</p>", text]
    assert [language["language"] for language in answer.body["detectedLanguage"]] == ["pt", "pt"]


def test_alternatives_have_other_texts() -> None:
    others = [Translation("the cat", -2.0, [5]), Translation("a cat", -3.0, [6])]
    known = {"o gato": Translation("the cat", -1.0, [4], others=others)}
    alternatives = ranked(["o gato"], known, 2)
    assert [translated.text for translated in alternatives] == ["the cat", "a cat"]


def test_detected_languages_and_alternatives(server: Server, model: TranslationModel) -> None:
    (translation,) = model.translate(["o gato dorme"], n_best=3, beam_size=4)
    fields = {"q": "o gato dorme", "source": "auto", "target": "en", "alternatives": 2}
    answer = server.post("/translate", urlencode(fields))
    assert answer.body == {
        "translatedText": translation.text,
        "alternatives": [other.text for other in translation.others],
        "detectedLanguage": {"confidence": 100.0, "language": "pt"},
    }
    answer = server.post("/translate", {**fields, "q": ["o gato dorme"]})
    assert answer.body["alternatives"] == [[other.text for other in translation.others]]
    assert answer.body["detectedLanguage"] == [{"confidence": 100.0, "language": "pt"}]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("translate", {"source": "pt", "target": "en"}, "Invalid request: missing q parameter"),
        ("translate", "q=a&target=en", "Invalid request: missing source parameter"),
        ("translate", "q=a&source=pt", "Invalid request: missing target parameter"),
        ("translate", "q=a&source=xx&target=en", "xx is not supported"),
        ("translate", "q=a&source=pt&target=xx", "xx is not supported"),
        ("translate", "q=a&source=auto&target=xx", "xx is not supported"),
        (
            "translate",
            "q=a&source=en&target=pt",
            "Portuguese (pt) is not available as a target language from English (en)",
        ),
        ("translate", "q=a&source=pt&target=en&format=rtf", "rtf format is not supported"),
        (
            "translate",
            "q=a&source=pt&target=en&alternatives=x",
            "Invalid request: alternatives is not a number",
        ),
        ("translate", [1], "Invalid JSON format"),
        ("translate", {"q": 1, "source": "pt", "target": "en"}, "Invalid request: q is not text"),
        (
            "translate",
            {"q": "\ud800", "source": "pt", "target": "en"},
            "Invalid request: q is not Unicode",
        ),
        (
            "translate",
            {"q": "a" * 60_000, "source": "pt", "target": "en"},
            "Invalid request: request (60000) exceeds text limit (50000)",
        ),
        ("detect", {}, "Invalid request: missing q parameter"),
        ("translate_file", "source=pt&target=en", "Invalid request: missing file parameter"),
    ],
)
def test_refused_requests(server: Server, path: str, body: object, message: str) -> None:
    answer = server.post(f"/{path}", body)
    assert (answer.status, answer.body) == (400, {"error": message})


def test_malformed_bodies(server: Server) -> None:
    headers = {"Content-Type": "application/json"}
    for data in (b"{", b"\xff", b"[" * 100_000):
        answer = server.send("/translate", data, headers)
        assert (answer.status, answer.body) == (400, {"error": "Invalid JSON format"})
    answer = server.send("/translate", b"x" * 700_000, headers)
    assert (answer.status, answer.body) == (413, {"error": "the request is too large"})
    assert server.get("/translate").status == 405
    assert server.get("/nowhere").body == {"error": "Not Found"}


def send_file(server: Server, name: str, content: bytes) -> object:
    parts = [
        b'Content-Disposition: form-data; name="source"\r\n\r\npt',
        b'Content-Disposition: form-data; name="target"\r\n\r\nen',
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        + content,
    ]
    body = b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"
    answer = server.send(
        "/translate_file", body, {"Content-Type": "multipart/form-data; boundary=x"}
    )
    if answer.status != 200:
        return answer.body
    url = answer.body["translatedFileUrl"]
    assert url.startswith(f"{server.url}/download_file/")
    return server.get(url.removeprefix(server.url)).body


def test_files(server: Server, model: TranslationModel) -> None:
    text = translated(model, "o gato dorme")
    assert send_file(server, "a.txt", b"o gato dorme\n") == f"{text}\n".encode()
    subtitle = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
    content = send_file(server, "a.srt", subtitle.format("o gato dorme").encode())
    assert content == subtitle.format(text).encode()
    refused = {"error": "Invalid request: file format not supported"}
    assert send_file(server, "a.doc", b"x") == refused
    assert send_file(server, "a.txt", b"\xff") == {
        "error": "Invalid request: the file is not UTF-8"
    }
    assert "line 1: not a subtitle" in str(send_file(server, "a.srt", b"o gato"))
    assert server.get("/download_file/none").status == 404


def test_what_pages_and_monitors_ask_for(server: Server) -> None:
    assert server.get("/health").body == {"status": "ok"}
    settings = server.get("/frontend/settings").body
    assert settings["charLimit"] == 50_000
    assert settings["language"]["source"] == {"code": "pt", "name": "Portuguese"}
    headers = {"Origin": "https://example.org"}
    answer = server.post("/detect", {"q": "olá"}, headers)
    assert answer.headers["access-control-allow-origin"] == "*"


def test_metrics_and_the_log_have_no_text(server: Server) -> None:
    server.post("/translate", {"q": "gatinho", "source": "pt", "target": "en"})
    while not any('"/translate"' in line for line in server.log):
        time.sleep(0.01)  # it is written after the answer
    page = server.get("/metrics").body.decode()
    assert 'nmt_requests_total{path="/translate",status="200"}' in page
    assert "nmt_batch_sentences_bucket" in page
    assert "gatinho" not in page + "".join(server.log)
    line = next(json.loads(line) for line in server.log if '"/translate"' in line)
    assert set(line) == {"time", "method", "path", "status", "seconds", "bytes"}


def test_keys_and_limits(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\nopen-sesame 2\n\nother\n", encoding="utf-8")
    fields = {"q": "o gato", "source": "pt", "target": "en"}
    with serving(bundle, api_keys=file) as server:
        answer = server.post("/translate", fields)
        assert answer.status == 400
        assert answer.body == {"error": "Please contact the server operator to get an API key"}
        answer = server.post("/translate", {**fields, "api_key": "wrong"})
        assert (answer.status, answer.body) == (403, {"error": "Invalid API key"})
        fields["api_key"] = "open-sesame"
        assert [server.post("/translate", fields).status for _ in range(3)] == [200, 200, 429]
        answer = server.post("/translate", fields)
        assert answer.body == {"error": "Slowdown: 2 per minute"}
        assert 1 <= int(answer.headers["retry-after"]) <= 31
        assert server.post("/translate", {**fields, "api_key": "other"}).status == 200
