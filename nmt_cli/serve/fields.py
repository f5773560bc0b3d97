"""Read the fields of a request, whatever its form."""

import json
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request


async def read_fields(request: Request) -> dict[str, Any]:
    """Fields of a JSON or form body, and of the address; repeated ones are lists.

    Raises:
        HTTPException: the body is malformed.
    """
    fields: dict[str, Any] = {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise HTTPException(400, "Invalid JSON format") from None
        if not isinstance(body, dict):
            raise HTTPException(400, "Invalid JSON format")
        return body
    form = await request.form(max_fields=2000)
    for name, value in [*request.query_params.multi_items(), *form.multi_items()]:
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields


def text_of(fields: dict[str, Any], name: str) -> str:
    """A field's text; empty if it is missing.

    Raises:
        HTTPException: it is not text.
    """
    value = fields.get(name)
    if value is None or isinstance(value, UploadFile):
        return ""
    if not isinstance(value, str):
        raise HTTPException(400, f"Invalid request: {name} is not text")
    return value


def texts_of(fields: dict[str, Any], name: str) -> list[str]:
    """A field that is a text or a list of texts.

    Raises:
        HTTPException: it is neither, or has a lone surrogate, which no text has.
    """
    value, texts = fields.get(name), list[str]()
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, str):
            raise HTTPException(400, f"Invalid request: {name} is not text")
        try:
            each.encode()
        except UnicodeEncodeError:
            raise HTTPException(400, f"Invalid request: {name} is not Unicode") from None
        texts.append(each)
    return texts
