"""Form bodies and query strings, in both interfaces: a text comes back if it is in the target."""

import pytest

from tests.serve.conftest import Answer, Server

FORM = "application/x-www-form-urlencoded"
NOT_UTF8 = "Invalid request: the form is not UTF-8"
# Bodies of one field, and what it holds; None for what is refused.
FORMS = [
    ("Onde fica a farmácia?".encode(), "Onde fica a farmácia?"),
    (b"Onde+fica+a+farm%C3%A1cia%3F", "Onde fica a farmácia?"),
    ("Onde+fica a%20farmácia?".encode(), "Onde fica a farmácia?"),
    ("1%2B1=2 😀 ação".encode(), "1+1=2 😀 ação"),
    ("50% de ação, 100%zz".encode(), "50% de ação, 100%zz"),
    (b"a;b%26c", "a;b&c"),
    ("a\u0301 e á %C3%A1".encode(), "a\u0301 e á á"),
    ("日本語%E3%81%A7".encode(), "日本語で"),
    ("à%00b".encode(), "à\0b"),
    ("farmácia".encode("latin-1"), None),
    (b"farm%E1cia", None),
    (b"\xed\xa0\x80", None),
    (b"%ED%A0%80", None),
]


def multipart(fields: dict[str, bytes]) -> bytes:
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"
        for name, value in fields.items()
    ]
    return b"".join(parts) + b"--x--\r\n"


def check(answer: Answer, text: str | None) -> None:
    if text is None:
        assert (answer.status, answer.body) == (400, {"error": NOT_UTF8})
    else:
        assert (answer.status, answer.body) == (200, {"translatedText": text})


@pytest.mark.parametrize(("form", "text"), FORMS)
def test_form(server: Server, form: bytes, text: str | None) -> None:
    body = b"source=en&target=en&q=" + form
    check(server.send("/translate", body, {"Content-Type": FORM}), text)
    deepl = b"source_lang=EN&target_lang=EN&text=" + form
    answer = server.send("/v2/translate", deepl, {"Content-Type": f"{FORM}; charset=utf-8"})
    if text is None:
        assert (answer.status, answer.body) == (400, {"message": NOT_UTF8})
    else:
        assert answer.body["translations"][0]["text"] == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Onde fica a farmácia? 😀 +%20".encode(), "Onde fica a farmácia? 😀 +%20"),
        (b"plain", "plain"),
        ("farmácia".encode("latin-1"), None),
        (b"\xff\xfe", None),
    ],
)
def test_multipart(server: Server, value: bytes, text: str | None) -> None:
    body = multipart({"q": value, "source": b"en", "target": b"en"})
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    check(server.send("/translate", body, headers), text)


def test_fields_of_the_query_string(server: Server) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    body = multipart({"source": b"en", "target": b"en"})
    check(server.send("/translate?q=farm%C3%A1cia", body, headers), "farmácia")
    check(server.send("/translate?q=farm%E1cia", body, headers), None)
    answer = server.send("/translate?q=a&q=%C3%A1", b"source=en&target=en", {"Content-Type": FORM})
    assert answer.body == {"translatedText": ["a", "á"]}


def test_too_many_fields(server: Server) -> None:
    answer = server.post("/translate", "q=a&" * 2001)
    message = "Invalid request: more than 2000 fields"
    assert (answer.status, answer.body) == (400, {"error": message})
