"""The glossaries of a server, kept in one SQLite file."""

import hashlib
import sqlite3
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from nmt_cli.errors import InputError
from nmt_cli.text.glossary import Glossary
from nmt_cli.text.languages import base_language

_TABLE = "nmt_glossaries"
# Languages of a dictionary, without regions, as "en de".
Pair = str


def pair_of(source: str, target: str) -> Pair:
    """Return the pair of two languages, whatever their regions are."""
    return f"{base_language(source)} {base_language(target)}"


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary with a name: terms for one pair of languages, or for several.

    Attributes:
        owner: a hash of its key.
        created: in ISO 8601.
    """

    id: str
    owner: str
    name: str
    created: str
    dictionaries: Mapping[Pair, Glossary]


class GlossaryStore:
    """The glossaries of all keys; each key sees its own. They are in memory, too.

    Args:
        path: the file; it is created if it is missing. None for memory only.

    Raises:
        InputError: the file cannot be read, is another one, or is used by another server.
    """

    def __init__(self, path: Path | None) -> None:
        try:
            # SQLite serializes the threads; each statement is written at once.
            self._file = sqlite3.connect(
                path or ":memory:", timeout=1, check_same_thread=False, isolation_level=None
            )
            self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
            tables = self._file.execute("SELECT name FROM sqlite_master").fetchall()
            if tables and (_TABLE,) not in tables:
                raise sqlite3.DatabaseError("it is the database of another program")
            self._file.execute("BEGIN EXCLUSIVE")  # the lock stays
            self._file.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} (id TEXT UNIQUE, json BLOB)")
            self._file.execute("COMMIT")
            rows = self._file.execute(f"SELECT json FROM {_TABLE}")
            stored = [msgspec.json.decode(json, type=StoredGlossary) for (json,) in rows]
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            hint = "give a file of nmt serve that no other server uses, or a new name"
            raise InputError(f"{path}: cannot be used for glossaries ({error})", hint) from None
        stored.sort(key=lambda glossary: glossary.created)
        self._stored = {glossary.id: glossary for glossary in stored}

    def close(self) -> None:
        """Let others use the file."""
        self._file.close()

    def of(self, key: str) -> list[StoredGlossary]:
        """Return all glossaries of a key, the oldest first."""
        owner = _hash(key)
        return [glossary for glossary in self._stored.values() if glossary.owner == owner]

    def get(self, key: str, id: str) -> StoredGlossary | None:
        """Return a glossary of a key."""
        glossary = self._stored.get(id)
        return glossary if glossary and glossary.owner == _hash(key) else None

    def add(self, key: str, name: str, dictionaries: Mapping[Pair, Glossary]) -> StoredGlossary:
        """Add a glossary to those of a key."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return self.put(StoredGlossary(str(uuid.uuid4()), _hash(key), name, now, dictionaries))

    def put(self, glossary: StoredGlossary) -> StoredGlossary:
        """Write a glossary, in place of the one with its id."""
        json = msgspec.json.encode(glossary)
        self._file.execute(f"REPLACE INTO {_TABLE} VALUES (?, ?)", (glossary.id, json))
        self._stored[glossary.id] = glossary
        return glossary

    def delete(self, glossary: StoredGlossary) -> None:
        """Delete a glossary."""
        self._file.execute(f"DELETE FROM {_TABLE} WHERE id = ?", (glossary.id,))
        self._stored.pop(glossary.id, None)

    def named(self, name: str, source: str, target: str, key: str = "") -> Glossary | None:
        """Return the terms for two languages of a key's newest glossary with this name."""
        pair = pair_of(source, target)
        found = [
            g.dictionaries[pair] for g in self.of(key) if g.name == name and pair in g.dictionaries
        ]
        return found[-1] if found else None


def _hash(key: str) -> str:
    """Return what the file has instead of a key."""
    return hashlib.sha256(key.encode()).hexdigest()
