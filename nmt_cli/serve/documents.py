"""Documents of DeepL's interface: uploaded, translated one after the other, downloaded once."""

import asyncio
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from nmt_cli.formats import ARCHIVES, FORMATS, format_of
from nmt_cli.serve.api import Call, answer_to
from nmt_cli.serve.batcher import TooManyRequests
from nmt_cli.serve.deepl_base import DeepLInterface
from nmt_cli.serve.service import MEGABYTE, Service
from nmt_cli.text.glossary import Glossary

# Documents that are translated at a time, that may wait, and whose translations are kept.
_AT_A_TIME, _MAX_WAITING, _MAX_KEPT = 2, 20, 50
# How long a document may take, and for how long its translation is kept.
_SECONDS, _KEPT_SECONDS = 3600.0, 3600.0
_EQUAL = 400, "Source and target language are equal."


@dataclass(eq=False)
class _Document:
    """A document, and how far it is; its content is replaced by its translation.

    Attributes:
        key: that it was uploaded with.
        secret: what a client needs to see it.
        characters: of its texts.
        began: when its translation did.
    """

    key: str
    name: str
    format: str
    content: bytes
    source: str
    target: str
    glossary: Glossary | None
    secret: str
    status: str = "queued"
    error: str = ""
    characters: int = 0
    began: float = 0.0


class Documents(DeepLInterface):
    """The endpoints of documents."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._documents = dict[str, _Document]()
        self._tasks = set[asyncio.Task[None]]()
        self._free = asyncio.Semaphore(_AT_A_TIME)

    def routes(self) -> list[Route]:
        """Return the routes of version 2."""
        one, post = "/document/{id}", ("POST",)
        return [
            self.endpoint("/document", self._upload, "target_lang", methods=post),
            self.endpoint(one, self._status, "document_key", methods=post),
            self.endpoint(f"{one}/result", self._result, "document_key", methods=post),
        ]

    def close(self) -> None:
        """Translate no more."""
        for task in self._tasks:
            task.cancel()

    async def _upload(self, call: Call) -> dict[str, Any]:
        self.check_options(call)
        glossary, file = self.terms(call), call.fields.get("file")
        if not isinstance(file, UploadFile):
            raise HTTPException(400, "Invalid file data.")
        name = Path(call.text("filename") or file.filename or "").name
        format = format_of(Path(name))
        suffixes = (FORMATS | ARCHIVES).get(format, ".txt").split()
        if Path(name).suffix.lower() not in suffixes:
            raise HTTPException(400, "Invalid file data: the file extension is not supported.")
        if f".{call.text('output_format').lower() or suffixes[0][1:]}" not in suffixes:
            raise HTTPException(400, "output_format not supported.")
        source, target = call.text("source_lang"), call.text("target_lang")
        self.sources_for(target.lower())
        if source and not self.find(source, target):
            raise HTTPException(*_EQUAL)
        content = await file.read()
        if len(content) > self.service.options.max_document * MEGABYTE:
            raise HTTPException(*self.too_large)
        self.charge(call, [])  # their characters count when they are read
        waiting = [one for one in self._documents.values() if one.status == "queued"]
        if len(waiting) >= _MAX_WAITING:
            raise TooManyRequests("too many documents are waiting", 60)
        id, secret = secrets.token_hex(16).upper(), secrets.token_hex(32).upper()
        document = _Document(call.key, name, format, content, source, target, glossary, secret)
        self._documents[id] = document
        task = asyncio.create_task(self._translate(id, document))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"document_id": id, "document_key": secret}

    async def _status(self, call: Call) -> dict[str, Any]:
        id, document = self._named(call)
        answer: dict[str, Any] = {"document_id": id, "status": document.status}
        if document.status == "translating":  # for as long again as it has taken
            answer["seconds_remaining"] = 1 + int(time.monotonic() - document.began)
        elif document.status == "done":
            answer["billed_characters"] = document.characters
        elif document.status == "error":
            answer["error_message"] = answer["message"] = document.error
        return answer

    async def _result(self, call: Call) -> Response:
        id, document = self._named(call)
        if document.status != "done":
            raise HTTPException(503, "Document translation is not done")
        del self._documents[id]
        disposition = f"attachment; filename*=UTF-8''{quote(document.name)}"
        return Response(
            document.content,
            media_type="application/octet-stream",
            headers={"Content-Disposition": disposition},
        )

    def _named(self, call: Call) -> tuple[str, _Document]:
        """Return the document that a path and a secret name, and its id."""
        id = call.request.path_params["id"].upper()
        document, given = self._documents.get(id), f"{call.key} {call.text('document_key').upper()}"
        wanted = f"{document.key} {document.secret}" if document else ""
        if not document or not secrets.compare_digest(wanted.encode(), given.encode()):
            raise HTTPException(404, "Document not found")
        return id, document

    async def _translate(self, id: str, document: _Document) -> None:
        """Translate a document when it is its turn."""
        try:
            async with self._free:
                document.status, document.began = "translating", time.monotonic()
                document.content = await self._translated(document)
                document.status = "done"
        except Exception as error:
            document.content, document.status = b"", "error"
            document.error = answer_to(error, "a document").detail
        asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._documents.pop, id, None)
        done = [id for id, other in self._documents.items() if other.status == "done"]
        for oldest in done[:-_MAX_KEPT]:
            del self._documents[oldest]

    async def _translated(self, document: _Document) -> bytes:
        source, target = document.source, document.target
        texts = await self.service.texts_of(document.format, document.content)
        if not source:
            ((source, _),) = await self.detect(["\n".join(texts)], target.lower())
        model = self.find(source, target)
        if not model:
            raise HTTPException(*_EQUAL)
        document.characters = sum(map(len, texts))
        self.use(document.key, document.characters)
        return await self.service.translate_file(
            model, document.format, document.content, document.glossary, _SECONDS
        )
