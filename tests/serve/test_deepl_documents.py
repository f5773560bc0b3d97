"""Documents of DeepL's interface, with its own client."""

import io
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deepl
import pytest
from docx import Document

from nmt_cli.serve import app, documents, service
from tests.serve.conftest import Answer, Server, serving
from tests.serve.phrasebook import PROTON_BEAM, Phrasebook, phrase_service

BOUNDARY = "0123456789"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client asks again after five seconds."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    hasty = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(0.05))
    monkeypatch.setattr(deepl.translator, "time", hasty)


def client(server: Server, key: str = "any") -> deepl.Translator:
    return deepl.Translator(key, server_url=server.url)


def upload(server: Server, name: str, content: bytes, **fields: str) -> Answer:
    """Post a document as a form."""
    parts = [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode()
             for key, value in ({"target_lang": "DE"} | fields).items()]  # fmt: skip
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    parts.append(head.encode() + content)
    line = f"--{BOUNDARY}".encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return server.send("/v2/document", body, kind)


def finished(server: Server, uploaded: Answer) -> dict[str, Any]:
    """Wait until a document is done, and return its status."""
    assert uploaded.status == 200
    id, key = uploaded.body["document_id"], {"document_key": uploaded.body["document_key"]}
    for _ in range(500):
        status: dict[str, Any] = server.post(f"/v2/document/{id}", key).body
        if status["status"] in ("done", "error"):
            return status
        time.sleep(0.02)
    raise TimeoutError


def download(server: Server, uploaded: Answer) -> Answer:
    id, key = uploaded.body["document_id"], {"document_key": uploaded.body["document_key"]}
    return server.post(f"/v2/document/{id}/result", key)


def docx(*paragraphs: str) -> bytes:
    document, file = Document(), io.BytesIO()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.txt", "proton beam\n\nproton beam", "Protonenstrahl\n\nProtonenstrahl"),
        ("a.TXT", "", ""),
        ("b.html", "<p>proton <!---->beam</p>", "<p>Protonenstrahl</p>"),
        ("b.htm", "<p>proton beam</p>", "<p>Protonenstrahl</p>"),
        ("c.srt", "1\n00:00:01,000 --> 00:00:02,000\nproton beam\n",
         "1\n00:00:01,000 --> 00:00:02,000\nProtonenstrahl\n"),
        ("d.json", '{"a": "proton beam"}', '{"a": "Protonenstrahl"}'),
    ],
)  # fmt: skip
def test_formats(phrasebook: Server, name: str, before: str, after: str) -> None:
    uploaded = upload(phrasebook, name, before.encode(), source_lang="EN")
    assert finished(phrasebook, uploaded)["status"] == "done"
    answer = download(phrasebook, uploaded)
    assert answer.body.decode() == after or "<!---->" in before
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"


def test_documents_are_downloaded_once(phrasebook: Server) -> None:
    content = docx("proton beam", "anything", "proton beam")
    translator = client(phrasebook)
    handle = translator.translate_document_upload(content, target_lang="DE", filename="a.docx")
    status = translator.translate_document_wait_until_done(handle)
    assert (status.status.value, status.billed_characters) == ("done", 19)  # "anything" once
    output = io.BytesIO()
    translator.translate_document_download(handle, output)
    texts = [paragraph.text for paragraph in Document(output).paragraphs]
    assert texts == ["Protonenstrahl", "anything", "Protonenstrahl"]
    with pytest.raises(deepl.DeepLException, match="Not found"):
        translator.translate_document_download(handle, output)
    with pytest.raises(deepl.DeepLException, match="Document not found"):
        translator.translate_document_get_status(handle)


def test_all_texts_tell_the_language() -> None:
    html = b'<p title="um">dois</p><pre>x</pre><p>tr\xc3\xaas <b>quatro</b></p>'
    assert service.texts_of("html", html) == ["um", "dois", "três \U00100000quatro\U00100001"]
    assert service.texts_of("docx", docx("um", "dois")) == ["um", "dois"]
    assert service.texts_of("", b"um\ndois\n") == ["um\ndois\n"]


def test_glossaries(phrasebook: Server, tmp_path: Path) -> None:
    translator = client(phrasebook)
    glossary = translator.create_glossary("a", "EN", "DE", {"artist": "Maler"})
    (tmp_path / "a.txt").write_text("artist\nprize", encoding="utf-8")
    translator.translate_document_from_filepath(
        tmp_path / "a.txt",
        tmp_path / "b.txt",
        source_lang="EN",
        target_lang="DE",
        glossary=glossary,
    )
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "Maler\nprize"
    translator.delete_glossary(glossary)


def test_refused_documents(phrasebook: Server) -> None:
    for name, fields, message in (
        ("a.pdf", {}, "Invalid file data: the file extension is not supported."),
        ("a", {}, "Invalid file data: the file extension is not supported."),
        ("a.txt", {"output_format": "docx"}, "output_format not supported."),
        ("a.txt", {"target_lang": "XX"}, "Value for 'target_lang' not supported."),
        ("a.txt", {"source_lang": "XX"}, "Value for 'source_lang' not supported."),
        ("a.txt", {"source_lang": "DE"}, "Source and target language are equal."),
        ("a.txt", {"formality": "more"}, "Target language 'DE' doesn't support formality."),
        ("a.txt", {"style_id": "1"}, "Value for 'style_id' not supported."),
        ("a.txt", {"glossary_id": "1"}, "Use of a glossary requires the source_lang parameter"),
        ("a.txt", {"target_lang": ""}, "Parameter 'target_lang' not specified."),
    ):
        answer = upload(phrasebook, name, b"a", **fields)
        assert (answer.status, answer.body["message"][: len(message)]) == (400, message)
    answer = phrasebook.post("/v2/document", "target_lang=DE&file=a")
    assert (answer.status, answer.body) == (400, {"message": "Invalid file data."})
    assert upload(phrasebook, "a.htm", b"<p>a", output_format="HTML").status == 200


def test_errors_of_documents(phrasebook: Server, tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    for name, content, message in (
        ("a.docx", b"PK", "the file: cannot be read as a zip archive"),
        ("a.docx", file.getvalue(), "the file: is not docx: has no word/document.xml"),
        ("a.json", b"{", "the file, line 1: "),
        ("a.txt", b"\xff\xfe\x00", "the file: invalid UTF-16"),
        ("a.txt", PROTON_BEAM["de"].encode(), "Source and target language are equal."),
    ):
        uploaded = upload(phrasebook, name, content)
        status = finished(phrasebook, uploaded)
        assert status["status"] == "error"
        assert (
            status["error_message"][: len(message)] == status["message"][: len(message)] == message
        )
        answer = download(phrasebook, uploaded)
        assert (answer.status, answer.body) == (
            503,
            {"message": "Document translation is not done"},
        )


def test_only_their_keys_show_documents(phrasebook: Server) -> None:
    uploaded = upload(phrasebook, "a.txt", b"proton beam").body
    id, key = uploaded["document_id"], uploaded["document_key"]
    assert (len(id), len(key)) == (32, 64)
    assert set(id + key) <= set("0123456789ABCDEF")
    for path, given in ((id, "É" * 64), (id, "0" * 64), ("0" * 32, key)):
        answer = phrasebook.post(f"/v2/document/{path}", {"document_key": given})
        assert (answer.status, answer.body) == (404, {"message": "Document not found"})
    answer = phrasebook.post(f"/v2/document/{id}", {})
    assert answer.body == {"message": "Parameter 'document_key' not specified."}


def test_quotas(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine 0 15\nother 0 15\n", encoding="utf-8")
    with serving(make=phrase_service, api_keys=keys) as server:
        translator = client(server, "mine")
        handle = translator.translate_document_upload("a b c d", filename="a.txt", target_lang="DE")
        assert translator.translate_document_wait_until_done(handle).billed_characters == 7
        with pytest.raises(deepl.DeepLException, match="Document not found"):
            client(server, "other").translate_document_get_status(handle)
        handle = translator.translate_document_upload(
            "proton beam", filename="a.txt", target_lang="DE"
        )
        status = translator.translate_document_wait_until_done(handle)
        assert (status.ok, status.error_message) == (False, "Quota Exceeded")
        translator.translate_text("12345678", target_lang="DE")
        with pytest.raises(deepl.QuotaExceededException, match="Quota Exceeded"):
            translator.translate_document_upload("a", filename="a.txt", target_lang="DE")


def test_a_queue_with_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents at a time; then some wait, and others are refused. None delays the end."""
    monkeypatch.setattr(documents, "_MAX_WAITING", 3)
    translate = Phrasebook.translate

    def slowly(self: Phrasebook, *values: Any, **options: Any) -> Any:
        time.sleep(0.4)
        return translate(self, *values, **options)

    monkeypatch.setattr(Phrasebook, "translate", slowly)
    with serving(make=phrase_service, max_document=1) as server:
        uploaded = [upload(server, "a.txt", f"a {n}\n".encode() * 9) for n in range(6)]
        assert [answer.status for answer in uploaded] == [200] * 5 + [429]
        assert uploaded[-1].body == {"message": "too many documents are waiting"}
        assert uploaded[-1].headers["retry-after"] == "60"
        states = []
        for answer in uploaded[:-1]:
            key = {"document_key": answer.body["document_key"]}
            states.append(server.post(f"/v2/document/{answer.body['document_id']}", key).body)
        assert [state["status"] for state in states[-3:]] == ["queued"] * 3
        assert "translating" in [state["status"] for state in states[:2]]
        assert all(
            state["seconds_remaining"] > 0 for state in states if state["status"] == "translating"
        )
        assert upload(server, "a.txt", b"a" * 1_000_001).body == {
            "message": "Request Entity Too Large"
        }
        assert upload(server, "a.txt", b"a" * 1_100_000).status == 413
        began = time.monotonic()
    assert time.monotonic() - began < 1.5


def test_uploads_at_a_time_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MAX_HELD", 100_000)
    with serving(make=phrase_service) as server:
        answer = upload(server, "a.txt", b"a" * 200_000)
        assert (answer.status, answer.body) == (429, {"message": "too many uploads at a time"})
        assert [upload(server, "a.txt", b"a" * 60_000).status for _ in range(3)] == [200] * 3


def test_translations_are_kept_for_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MAX_KEPT", 2)
    with serving(make=phrase_service) as server:
        uploaded = []
        for _ in range(3):
            uploaded.append(upload(server, "a.txt", b"proton beam"))
            assert finished(server, uploaded[-1])["status"] == "done"
        assert download(server, uploaded[0]).status == 404
        assert download(server, uploaded[1]).status == 200
        monkeypatch.setattr(documents, "_KEPT_SECONDS", 0.1)
        answer = upload(server, "a.txt", b"proton beam")
        time.sleep(0.5)
        assert download(server, answer).status == 404


def test_a_full_queue_of_sentences_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_WAIT_SECONDS", 0.05)
    refused, admit = [], []
    with serving(make=phrase_service) as server:
        batcher = server.service.batcher
        submit = batcher.submit

        def busy(*values: Any) -> Any:
            if len(refused) < 2:
                refused.append(values)
                raise documents.TooManyRequests("too many sentences are waiting", 1)
            admit.append(values)
            return submit(*values)

        monkeypatch.setattr(batcher, "submit", busy)
        status = finished(server, upload(server, "a.txt", b"proton beam"))
        assert (status["status"], len(refused), len(admit)) == ("done", 2, 1)
