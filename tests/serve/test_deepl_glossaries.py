"""Glossaries of DeepL's interface, with its own client, and the file that keeps them."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deepl
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries as Entries

from nmt_cli.errors import InputError
from nmt_cli.serve.glossaries import GlossaryStore
from nmt_cli.text.glossary import Glossary
from tests.serve.conftest import Server, serving
from tests.serve.phrasebook import phrase_service

UNKNOWN = "96ab91fd-e715-41a1-adeb-5d701f84a483"


@pytest.fixture
def client(phrasebook: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[deepl.DeepLClient]:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    client = deepl.DeepLClient("any", server_url=phrasebook.url)
    yield client
    for glossary in client.list_multilingual_glossaries():
        client.delete_multilingual_glossary(glossary)


def test_version_2(client: deepl.DeepLClient) -> None:
    created = client.create_glossary("names", "EN", "DE", {"prize": "Gewinn", "A%=&": "Ä"})
    assert (created.name, created.entry_count, created.ready) == ("names", 2, True)
    listed = client.list_glossaries()
    assert [glossary.glossary_id for glossary in listed] == [created.glossary_id]
    assert client.get_glossary(created.glossary_id).creation_time == created.creation_time
    assert client.get_glossary_entries(created) == {"prize": "Gewinn", "A%=&": "Ä"}
    result = client.translate_text_with_glossary("a prize", created)
    assert result.text == "a Gewinn"
    client.delete_glossary(created)
    with pytest.raises(deepl.GlossaryNotFoundException, match="Glossary not found"):
        client.get_glossary(created.glossary_id)


def test_csv(client: deepl.DeepLClient) -> None:
    rows = 'prize,Gewinn,en,de\n"two ""words""","zwei, Wörter",EN,DE\nprix,Preis,fr,de\n'
    created = client.create_glossary_from_csv("names", "EN", "DE", rows)
    assert client.get_glossary_entries(created) == {
        "prize": "Gewinn",
        'two "words"': "zwei, Wörter",
    }


def test_several_dictionaries(client: deepl.DeepLClient) -> None:
    dictionaries = [Entries("EN", "DE", {"a": "b"}), Entries("DE", "EN", {"b": "a", "c": "d"})]
    created = client.create_multilingual_glossary("both", dictionaries)
    id = created.glossary_id
    assert [(item.source_lang, item.entry_count) for item in created.dictionaries] == [
        ("EN", 1),
        ("DE", 2),
    ]
    assert (
        client.translate_text("b", source_lang="DE", target_lang="EN-US", glossary=id).text == "a"
    )
    # Version 2 has no glossaries with several dictionaries.
    assert client.list_glossaries() == []
    with pytest.raises(deepl.GlossaryNotFoundException, match="it has several dictionaries"):
        client.get_glossary_entries(id)

    assert client.update_multilingual_glossary_name(created, "new").name == "new"
    client.update_multilingual_glossary_dictionary(
        created, Entries("EN", "DE", {"a": "x", "e": "f"})
    )
    client.replace_multilingual_glossary_dictionary(created, Entries("DE", "EN", {"g": "h"}))
    client.replace_multilingual_glossary_dictionary(created, Entries("EN", "FR", {"i": "j"}))
    entries = {}
    for pair in (("EN", "DE"), ("DE", "EN"), ("EN", "FR")):
        (dictionary,) = client.get_multilingual_glossary_entries(id, *pair).dictionaries
        entries[pair] = deepl.convert_tsv_to_dict(dictionary.entries)
    assert list(entries.values()) == [{"a": "x", "e": "f"}, {"g": "h"}, {"i": "j"}]
    client.delete_multilingual_glossary_dictionary(id, source_lang="DE", target_lang="EN")
    kept = client.get_multilingual_glossary(id)
    assert kept.name == "new"
    assert [item.target_lang for item in kept.dictionaries] == ["DE", "FR"]
    with pytest.raises(deepl.GlossaryNotFoundException, match="Dictionary not found"):
        client.get_multilingual_glossary_entries(id, "DE", "EN")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": ""}, "Parameter 'name' not specified."),
        ({"entries": ""}, "Parameter 'entries' not specified."),
        ({"entries_format": "tbx"}, "Value for 'entries_format' not supported."),
        ({"target_lang": "XX"}, "Unsupported glossary source and target language pair"),
        ({"source_lang": "FR"}, "Unsupported glossary source and target language pair"),
        ({"entries": "a b"}, "Invalid glossary entries provided: entries, line 1: not a pair of"),
        ({"entries": "a\tb\nc\t"}, "Invalid glossary entries provided: entries, line 2: not a"),
        (
            {"entries": "a\tb\n\na\tc"},
            "Invalid glossary entries provided: entries, line 3: 'a' has",
        ),
        ({"entries": "\ufeff\n"}, "Invalid glossary entries provided: entries: has no term"),
        ({"entries": "\n"}, "Invalid glossary entries provided: entries: has no term"),
        (
            {"entries": '"a,b', "entries_format": "csv"},
            "Invalid glossary entries provided: entries: not CSV (unexpected end of data)",
        ),
    ],
)
def test_invalid_glossaries(phrasebook: Server, body: dict[str, str], message: str) -> None:
    fields = {"source_lang": "EN", "target_lang": "DE", "entries": "a\tb", "entries_format": "tsv"}
    answer = phrasebook.post("/v2/glossaries", {"name": "a", **fields, **body})
    assert (answer.status, answer.body["message"][: len(message)]) == (400, message)
    if "name" not in body:
        body = {"name": "a", "dictionaries": [{**fields, **body}]}
        answer = phrasebook.post("/v3/glossaries", body)
        assert (answer.status, answer.body["message"][: len(message)]) == (400, message)
    for dictionaries in ("a", ["a"], {"a": "b"}):
        answer = phrasebook.post("/v3/glossaries", {"name": "a", "dictionaries": dictionaries})
        assert answer.body == {"message": "Value for 'dictionaries' not supported."}
    assert phrasebook.get("/v3/glossaries").body == {"glossaries": []}


def test_requests_with_wrong_glossaries(phrasebook: Server, client: deepl.DeepLClient) -> None:
    glossary = client.create_glossary("a", "EN", "DE", {"a": "b"}).glossary_id
    fields: dict[str, Any] = {"text": ["a"], "source_lang": "EN", "target_lang": "DE"}
    for body, status, message in (
        ({"glossary_id": "x"}, 400, "Value for 'glossary_id' not supported."),
        ({"glossary_id": UNKNOWN}, 404, "Glossary not found"),
        (
            {"glossary_id": glossary, "source_lang": ""},
            400,
            "Use of a glossary requires the source_lang parameter to be specified",
        ),
        (
            {"glossary_id": glossary, "target_lang": "FR"},
            400,
            "The glossary has no dictionary for these languages.",
        ),
        (
            {"glossary_id": glossary, "source_lang": "FR"},  # through English
            400,
            "The glossary has no dictionary for these languages.",
        ),
        ({"glossary_ids": [glossary, UNKNOWN]}, 400, "Only one glossary can be used."),
    ):
        answer = phrasebook.post("/v2/translate", fields | body)
        assert (answer.status, answer.body) == (status, {"message": message})
    (result,) = phrasebook.post("/v2/translate", {**fields, "glossary_ids": [glossary]}).body[
        "translations"
    ]
    assert result["text"] == "b"
    for path in (f"/v2/glossaries/{UNKNOWN}", f"/v3/glossaries/{UNKNOWN}/dictionaries"):
        answer = phrasebook.delete(f"{path}?source_lang=EN&target_lang=DE")
        assert (answer.status, answer.body) == (404, {"message": "Glossary not found"})


def test_keys_see_their_own_glossaries_after_a_restart(tmp_path: Path) -> None:
    keys, file = tmp_path / "keys", tmp_path / "glossaries.db"
    keys.write_text("one\ntwo\n", encoding="utf-8")
    for attempt in range(2):
        with serving(make=phrase_service, api_keys=keys, glossaries=file) as server:
            one, two = (deepl.Translator(key, server_url=server.url) for key in ("one", "two"))
            if attempt == 0:
                created = one.create_glossary("a", "EN", "DE", {"a": "b"})
                one.create_glossary("c", "EN", "DE", {"a": "b"})
            assert [glossary.name for glossary in one.list_glossaries()] == ["a", "c"]
            assert two.list_glossaries() == []
            with pytest.raises(deepl.GlossaryNotFoundException):
                two.get_glossary_entries(created)
            assert one.translate_text_with_glossary("a", created).text == "b"
    assert b"one" not in file.read_bytes()


def test_files_that_are_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    store = GlossaryStore(file)
    store.add("", "a", {"en de": Glossary({"a": "b"})})
    assert store.named("a", "EN-US", "de") == Glossary({"a": "b"})
    assert store.named("a", "de", "en") is store.named("b", "en", "de") is None
    assert store.named("a", "en", "de", key="other") is None
    damaged, foreign, other = (tmp_path / name for name in ("b.db", "c.db", "d.db"))
    damaged.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE songs (name)")
    shutil.copy(file, other)
    with sqlite3.connect(other) as database:
        database.execute("UPDATE nmt_glossaries SET json = '{}'")
    for path, reason in (
        (file, "locked"),
        (damaged, "(is not a database|malformed)"),
        (foreign, "it is the database of another program"),
        (other, "missing required field"),
        (tmp_path, "unable to open"),
    ):
        with pytest.raises(InputError, match=f"{path}: cannot be used for glossaries .*{reason}"):
            GlossaryStore(path)


def test_dictionaries_of_the_same_languages(phrasebook: Server) -> None:
    one = {"source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv"}
    answer = phrasebook.post("/v3/glossaries", {"name": "a", "dictionaries": [one, one]})
    message = {"message": "Two dictionaries have the same languages"}
    assert (answer.status, answer.body) == (400, message)


def test_an_id_is_text(phrasebook: Server) -> None:
    fields = {"text": ["a"], "source_lang": "EN", "target_lang": "DE", "glossary_id": 5}
    answer = phrasebook.post("/v2/translate", fields)
    assert (answer.status, answer.body["message"][:31]) == (400, "Value for 'glossary_id' not sup")
