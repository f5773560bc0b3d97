"""Glossaries in LibreTranslate's requests, by the names that they were created with."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document

from tests.serve.conftest import Answer, Server, serving

EXPORTS = Path(__file__).parents[2] / "exports"
TERMS = {"name": "ours", "source_lang": "pt", "target_lang": "en", "entries_format": "tsv"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(EXPORTS / "pt-en", EXPORTS / "en-pt") as running:
        fields = {**TERMS, "entries": "casa\tdwelling"}
        assert running.post("/v2/glossaries", fields).status == 201
        yield running


def translated(server: Server, **fields: object) -> tuple[int, object]:
    request = {"q": "A casa é azul.", "source": "pt", "target": "en", "glossary": "ours", **fields}
    answer = server.post("/translate", request)
    return answer.status, answer.body.get("translatedText") or answer.body["error"]


def test_a_name_chooses_terms(server: Server) -> None:
    assert translated(server) == (200, "The dwelling is blue.")
    assert translated(server, glossary="") == (200, "The house is blue.")
    html = translated(server, q="<p>A <b>casa</b> é azul.</p>", format="html")
    assert html == (200, "<p>The <b>dwelling</b> is blue.</p>")
    long = "A casa é azul, e o jardim é muito bonito."
    assert translated(server, q=[long, "The house."], source="auto")[0] == 200


def uploaded(server: Server, name: str, content: bytes, **fields: str) -> Answer:
    """Send a file to be translated, and return the answer, or the translation."""
    parts = [f'name="{key}"\r\n\r\n{value}'.encode() for key, value in fields.items()]
    parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + content)
    body = b"".join(b"--x\r\nContent-Disposition: form-data; %b\r\n" % part for part in parts)
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = server.send("/translate_file", body + b"--x--\r\n", headers)
    if answer.status != 200:
        return answer
    return server.get(answer.body["translatedFileUrl"].removeprefix(server.url))


def test_files(server: Server) -> None:
    fields = {"source": "pt", "target": "en", "glossary": "ours"}
    answer = uploaded(server, "a.txt", "A casa é azul.".encode(), **fields)
    assert answer.body == b"The dwelling is blue."


def test_the_texts_of_a_document_count_and_have_its_language(tmp_path: Path) -> None:
    document, file, text = Document(), BytesIO(), "A casa do meu vizinho é azul e muito grande."
    document.add_paragraph(text)
    document.save(file)
    (tmp_path / "keys").write_text(f"key 0 {len(text) + 10}\n")
    fields = {"source": "auto", "target": "en", "api_key": "key"}
    with serving(EXPORTS / "pt-en", api_keys=tmp_path / "keys", max_document=1) as limited:
        answer = uploaded(limited, "a.docx", file.getvalue(), **fields)
        (paragraph,) = Document(BytesIO(answer.body)).paragraphs
        assert paragraph.text == "My neighbor's house is blue and very big."
        answer = uploaded(limited, "a.docx", file.getvalue(), **fields)
        assert answer.status == 429
        assert answer.body["error"].endswith("the characters of the day are used up")
        answer = uploaded(limited, "a.docx", b"no document", **fields)
        assert answer.status == 400
        assert "the file: cannot be read as a zip archive" in answer.body["error"]
        answer = uploaded(limited, "a.docx", bytes(1_000_001), **fields)
        assert answer.body == {"error": "Invalid request: the file is larger than 1 MB"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"glossary": "theirs"}, "there is no glossary 'theirs' for pt to en"),
        ({"source": "en", "target": "pt"}, "there is no glossary 'ours' for en to pt"),
    ],
)
def test_unknown_names(server: Server, fields: dict[str, str], message: str) -> None:
    assert translated(server, **fields) == (400, f"Invalid request: {message}")
