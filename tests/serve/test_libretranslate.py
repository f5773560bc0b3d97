"""LibreTranslate's interface, over HTTP and with its own client."""

import html
import json
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest
from libretranslatepy import LibreTranslateAPI

from nmt_cli.bundle.reading import read_manifest
from nmt_cli.models import TranslationModel
from nmt_cli.search.lines import Translation
from nmt_cli.serve.service import Limits, ranked
from tests.serve.conftest import Server, renamed, serving

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
    assert client.detect("a casa azul")[0]["language"] == "pt"
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
    assert answer.body["translatedText"] == translation.text
    assert answer.body["alternatives"] == [other.text for other in translation.others]
    detected = answer.body["detectedLanguage"]
    assert detected["language"] == "pt"
    assert 0 < detected["confidence"] < 100
    answer = server.post("/translate", {**fields, "q": ["o gato dorme"]})
    assert answer.body["alternatives"] == [[other.text for other in translation.others]]
    assert answer.body["detectedLanguage"] == [detected]


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
            "Invalid request: alternatives parameter is not a number",
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
    assert server.get("/detect").status == 405
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
    text = translated(model, "a casa")
    assert send_file(server, "a.txt", b"a casa\n") == f"{text}\n".encode()
    subtitle = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
    content = send_file(server, "a.srt", subtitle.format("a casa").encode())
    assert content == subtitle.format(text).encode()
    refused = {"error": "Invalid request: file format not supported"}
    assert send_file(server, "a.doc", b"x") == refused
    assert "the file, line 1: invalid UTF-8 at byte 1" in str(send_file(server, "a.txt", b"\xff"))
    assert "line 1: not a subtitle" in str(send_file(server, "a.srt", b"o gato"))
    assert server.get("/download_file/none").status == 404


@pytest.mark.parametrize("name", ["São Paulo.txt", "a\nb.txt", "a\0b.txt", "a;'b.txt"])
def test_names_of_files(server: Server, name: str) -> None:
    assert isinstance(send_file(server, name, b"a casa\n"), bytes)


def test_what_pages_and_monitors_ask_for(server: Server, bundle: Path) -> None:
    assert server.get("/health").body == {"status": "ok"}
    settings = server.get("/frontend/settings").body
    assert settings["charLimit"] == 50_000
    assert settings["language"]["source"] == {"code": "pt", "name": "Portuguese"}
    name = read_manifest(bundle).name
    assert settings["models"] == [{"source": "pt", "target": "en", "name": name}]
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


def test_many_texts_are_refused_at_once(server: Server) -> None:
    began = time.monotonic()
    fields = {"q": [""] * 200_000, "source": "auto", "target": "en"}
    body = json.dumps(fields, separators=(",", ":")).encode()
    answer = server.send("/translate", body, {"Content-Type": "application/json"})
    message = "Invalid request: request (200000) exceeds text limit (2000)"
    assert (answer.status, answer.body) == (400, {"error": message})
    assert time.monotonic() - began < 5


def test_text_that_is_not_unicode_is_refused_wherever_it_is(server: Server) -> None:
    fields: dict[str, object] = {"q": "a", "source": "pt", "target": "en"}
    for name, value in (("target", "\udc00"), ("format", ["\udc00"]), ("\udc00", 1)):
        answer = server.post("/translate", {**fields, name: value})
        problem = f"Invalid request: {ascii(name)[1:-1]} is not Unicode"
        assert (answer.status, answer.body) == (400, {"error": problem})


def test_internal_errors_are_logged_and_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server.service, "translate", lambda *texts, **options: texts[9])
    answer = server.post("/translate", {"q": "gatinho", "source": "pt", "target": "en"})
    assert (answer.status, answer.body) == (500, {"error": "internal error"})
    assert caplog.messages[-1].startswith("/translate: unexpected IndexError at test_libretransl")
    assert "gatinho" not in caplog.text
    page = server.get("/metrics").body.decode()
    assert 'nmt_requests_total{path="/translate",status="500"} 1.0' in page


def test_the_limit_of_an_address_counts_all_its_keys(bundle: Path) -> None:
    fields = {"q": "o gato", "source": "pt", "target": "en"}
    with serving(bundle, requests_per_minute=2) as server:
        statuses = [
            server.post("/translate", {**fields, "api_key": key}, {"X-Forwarded-For": key}).status
            for key in ("1.1.1.1", "1.1.1.2", "1.1.1.3")
        ]
        assert statuses == [200, 200, 429]
        assert list(server.service.access._allowances) == ["127.0.0.1"]


def test_a_proxy_names_its_clients(bundle: Path) -> None:
    with serving(bundle, requests_per_minute=1, proxy="127.0.0.1") as server:
        for address, status in (("1.1.1.1", 200), ("1.1.1.2", 200), ("1.1.1.1", 429)):
            answer = server.post("/detect", {"q": "a"}, {"X-Forwarded-For": address})
            assert answer.status == status


def test_addresses_of_a_network_count_as_one_client(bundle: Path) -> None:
    addresses = {
        "2001:db8::1": 200,
        "2001:db8:0:0:a::2": 429,
        "2001:db8:0:1::1": 200,
        "::ffff:1.1.1.1": 200,
        "::ffff:1.1.1.2": 200,
    }
    with serving(bundle, requests_per_minute=1, proxy="127.0.0.1") as server:
        for address, status in addresses.items():
            answer = server.post("/detect", {"q": "a"}, {"X-Forwarded-For": address})
            assert (address, answer.status) == (address, status)


def test_links_to_files_do_not_repeat_the_host_of_the_request(
    server: Server, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"source": "pt", "target": "en"}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts.items()
    )
    body += '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\na\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Host": "evil.example"}
    answer = server.send("/translate_file", f"{body}--x--\r\n".encode(), headers)
    assert answer.body["translatedFileUrl"].startswith(f"{server.url}/download_file/")
    with serving(bundle, url="https://mt.example/nmt/") as public:
        answer = public.send("/translate_file", f"{body}--x--\r\n".encode(), headers)
        assert answer.body["translatedFileUrl"].startswith("https://mt.example/nmt/download_file/")


def test_origins(bundle: Path) -> None:
    with serving(bundle, origins="https://a.example, https://b.example") as server:
        for origin, allowed in (
            ("https://b.example", "https://b.example"),
            ("https://c.org", None),
        ):
            answer = server.post("/detect", {"q": "olá"}, {"Origin": origin})
            assert answer.headers.get("access-control-allow-origin") == allowed


def test_metrics_need_a_key_and_keys_may_contain_a_number_sign(
    bundle: Path, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    file.write_text("abc#def 5  # ours\n#other\n", encoding="utf-8")
    with serving(bundle, api_keys=file) as server:
        assert server.service.access.keys == {"abc#def": Limits(5)}
        assert server.get("/metrics").status == 400
        assert server.get("/metrics?api_key=abc").status == 403
        assert server.get("/metrics?api_key=abc%23def").status == 200
        request = urllib.request.Request(f"{server.url}/metrics")
        request.add_header("Authorization", "Bearer abc#def")
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200


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


def test_a_limit_of_texts(bundle: Path) -> None:
    fields = {"q": ["o", "a", "o"], "source": "pt", "target": "en"}
    with serving(bundle, max_texts=2) as server:
        answer = server.post("/translate", fields)
        message = "Invalid request: request (3) exceeds text limit (2)"
        assert (answer.status, answer.body) == (400, {"error": message})
        assert server.post("/translate", {**fields, "q": ["o", "a"]}).status == 200
        answer = server.post("/v2/translate", {"text": fields["q"], "target_lang": "EN"})
        assert (answer.status, answer.body) == (400, {"message": "Too many texts in request."})


def test_characters_of_the_day(bundle: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine 0 10\n", encoding="utf-8")
    fields = {"q": "o gato", "source": "pt", "target": "en", "api_key": "mine"}
    with serving(bundle, api_keys=keys) as server:
        assert server.post("/translate", fields).status == 200
        answer = server.post("/translate", fields)
        message = "Slowdown: the characters of the day are used up"
        assert (answer.status, answer.body) == (429, {"error": message})
        assert 0 < int(answer.headers["retry-after"]) <= 86_400
        header = {"Authorization": "DeepL-Auth-Key mine"}
        answer = server.post("/v2/translate", {"text": ["o gato"], "target_lang": "EN"}, header)
        assert (answer.status, answer.body) == (456, {"message": "Quota Exceeded"})
        assert 0 < int(answer.headers["retry-after"]) <= 86_400


def test_codes_of_libretranslate(bundle: Path, model: TranslationModel) -> None:
    """It calls Brazilian Portuguese pb, and traditional Chinese zt."""
    (expected,) = model.translate(["o gato"])
    codes = (("pt-BR", "zh-Hant"), ("pt", "zh-TW"), ("pb", "zt"))
    for number, (source, target) in enumerate(codes):
        folder = bundle.with_name(f"codes-{number}")
        with serving(renamed(bundle, folder, source, target)) as server:
            for pair in (("pb", "zt"), ("PB", "ZT"), ("pt-BR", "zh-Hant"), (source, target)):
                fields = dict(zip(("source", "target"), pair, strict=True))
                answer = server.post("/translate", {"q": "o gato", **fields})
                assert answer.body == {"translatedText": expected.text}, pair
