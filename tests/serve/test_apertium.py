"""Apertium's interface, with the requests of its clients.

Sources of the requests:

- OmegaT: omegat-org/omegat, src/org/omegat/core/machinetranslators/ApertiumTranslate.java (for its
  codes and address, and what it reads of answers)
- Apertium's own page: apertium/apertium-html-tools, src/components/translator (a form by POST)
- answers and errors: apertium/apertium-apy, apertium_apy/handlers (6273db6)
"""

import html
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

import pytest

from nmt_cli.models import TranslationModel
from tests.serve.conftest import Server, renamed, serving


@pytest.fixture(scope="module")
def both(bundle: Path) -> Iterator[Server]:
    with serving(bundle, renamed(bundle, bundle.with_name("en-pt-br"), "en", "pt-BR")) as running:
        yield running


def translation(text: str) -> dict[str, object]:
    data = {"translatedText": text}
    return {"responseData": data, "responseDetails": None, "responseStatus": 200}


def error(status: int, reason: str, explanation: str) -> dict[str, object]:
    return {"status": "error", "code": status, "message": reason, "explanation": explanation}


def omegat(text: str, source: str, target: str, key: str = "") -> str:
    """Its address, whose vertical bar is not encoded."""
    return f"/translate?q={quote_plus(text)}&markUnknown=no&langpair={source}|{target}&key={key}"


@pytest.mark.parametrize("text", ["o gato dorme", "a casa azul & o gato?", "o <g0>gato</g0> dorme"])
def test_omegat(both: Server, model: TranslationModel, text: str) -> None:
    expected = next(model.translate([text])).text
    answer = both.get(omegat(text, "pt", "en"))
    assert (answer.status, answer.body) == (200, translation(expected))
    assert both.get(omegat(text, "pt_BR", "en_US")).body == translation(expected)


def test_omegat_sends_no_header_but_the_host(server: Server, model: TranslationModel) -> None:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        path = omegat("o gato", "pt", "en", "bwuxb5jS+VwSJ8mLz1qMfmMrDGA")
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        answer = ""
        while not answer.endswith("}"):
            answer += connection.recv(65536).decode()
    assert answer.startswith("HTTP/1.1 200")
    assert next(model.translate(["o gato"])).text in answer


def test_its_own_page_sends_forms(server: Server, model: TranslationModel) -> None:
    expected = translation(next(model.translate(["o gato dorme"])).text)
    form = "langpair=por|eng&markUnknown=no&prefs=&q=o+gato+dorme"
    assert server.post("/translate", form).body == expected
    answer = server.post("/translate", "langpair=por|por_BR|eng&q=o")
    message = "That pair is invalid, use e.g. eng|spa"
    assert (answer.status, answer.body) == (400, error(400, "Bad Request", message))


@pytest.mark.parametrize("pair", ["pt|en", "por|eng", "POR|ENG", "por%7Ceng", "pt-PT|eng_GB"])
def test_codes(server: Server, model: TranslationModel, pair: str) -> None:
    expected = translation(next(model.translate(["o gato"])).text)
    assert server.get(f"/translate?langpair={pair}&q=o+gato").body == expected


def test_formats(server: Server, model: TranslationModel) -> None:
    words = next(model.translate(["o gato"])).text
    answer = server.get("/translate?langpair=pt|en&format=html&q=%3Cp%3Eo+gato%3C/p%3E")
    assert answer.body == translation(f"<p>{html.escape(words, quote=False)}</p>")
    for format in ("txt", "omegat"):
        answer = server.get(f"/translate?langpair=pt|en&format={format}&q=o+gato")
        assert answer.body == translation(words)
    assert server.get("/translate?langpair=eng|en&q=o+gato").body == translation("o gato")


@pytest.mark.parametrize(
    ("query", "explanation"),
    [
        ("q=a", "Missing argument langpair"),
        ("langpair=pt|en", "Missing argument q"),
        ("langpair=pt&q=a", "That pair is invalid, use e.g. eng|spa"),
        ("langpair=pt|&q=a", "That pair is invalid, use e.g. eng|spa"),
        ("langpair=pt|deu&q=a", "That pair is not installed"),
        ("langpair=en|pt&q=a", "That pair is not installed"),
        ("langpair=pt|en&q=%FF", "Invalid request: the form is not UTF-8"),
    ],
)
def test_errors(server: Server, query: str, explanation: str) -> None:
    answer = server.get(f"/translate?{query}")
    assert (answer.status, answer.body) == (400, error(400, "Bad Request", explanation))


def test_lists(both: Server) -> None:
    pairs = [("en", "pt-br"), ("pt", "en")]
    listed = [{"sourceLanguage": source, "targetLanguage": target} for source, target in pairs]
    expected = {"responseData": listed, "responseDetails": None, "responseStatus": 200}
    assert both.get("/listPairs").body == expected
    names = {"en": "English", "pt": "Portuguese", "pt-br": "Portuguese (BR)"}
    assert both.get("/listLanguageNames?locale=en").body == names
    answer = both.get("/listLanguageNames?locale=en&languages=por+eng+")
    assert answer.body == {"por": "Portuguese", "eng": "English"}
    found = both.get("/identifyLang?q=The+cat+sleeps+in+the+blue+house").body
    assert next(iter(found)) == "en"
    assert found["en"] > 0.9
    assert both.get("/identifyLang").body == error(400, "Bad Request", "Missing argument q")


def test_keys_and_limits(bundle: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine 4 10\n", encoding="utf-8")
    with serving(bundle, api_keys=keys, max_characters=20) as server:
        answer = server.get(omegat("o gato", "pt", "en"))
        reason = "Please contact the server operator to get an API key"
        assert (answer.status, answer.body) == (400, error(400, "Bad Request", reason))
        answer = server.get(omegat("o gato", "pt", "en", "other"))
        assert (answer.status, answer.body) == (403, error(403, "Forbidden", "Invalid API key"))
        assert server.get(omegat("o gato", "pt", "en", "mine")).status == 200
        assert server.post("/translate", "langpair=pt|en&q=o&key=mine").status == 200
        answer = server.get(omegat("o" * 30, "pt", "en", "mine"))
        reason = "Invalid request: request (30) exceeds text limit (20)"
        assert (answer.status, answer.body) == (400, error(400, "Bad Request", reason))
        answer = server.get(omegat("o gato", "pt", "en", "mine"))
        reason = "the characters of the day are used up"
        assert (answer.status, answer.body) == (429, error(429, "Too Many Requests", reason))
        assert 0 < int(answer.headers["retry-after"]) <= 86_400
        answer = server.get(omegat("o gato", "pt", "en", "mine"))
        assert answer.body == error(429, "Too Many Requests", "4 per minute")
