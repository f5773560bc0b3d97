"""Wait for a translation as long as its client does."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def unless_gone(request: Request, work: Awaitable[Any], seconds: float) -> Any:
    """Wait for work, which is cancelled if the client goes away or it takes too long.

    Raises:
        TimeoutError: it took too long.
        asyncio.CancelledError: the client went away.
    """

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, watch = asyncio.ensure_future(work), asyncio.create_task(gone())
    try:
        done, _ = await asyncio.wait(
            {task, watch}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if task in done:
            return task.result()
        if watch in done:
            raise HTTPException(499, "the client went away")
        raise TimeoutError
    finally:
        for each in (task, watch):
            each.cancel()
            with suppress(BaseException):
                await each
