"""JSON lines: objects, one field of which is translated; the bytes of all others stay."""

import json
from typing import Any

from nmt_cli.errors import InputError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, Record
from nmt_cli.search.translator import Line
from nmt_cli.text.lines import REPLACE, STRICT, is_blank


class JsonLines(Lines):
    """One JSON object per line.

    Unpaired surrogates, which JSON can spell, are handled as invalid UTF-8 is (see text.lines).
    """

    keeps_cr = True

    def __init__(self, options: TranslateOptions) -> None:
        super().__init__(options)
        self.field = options.field or ""

    def read(self, text: str, where: str) -> Record | None:
        """Read an object; blank lines pass unchanged."""
        if is_blank(text):
            return None
        spans = _spans(text, where)
        if self.field not in spans:
            raise InputError(
                f"{where}: has no field {self.field!r}",
                f"it has {', '.join(spans) or 'none'}; choose one with `field`",
            )
        start, end, value = spans[self.field]
        value, spelled = self._repaired(value, text[start:end], where)
        source = value.replace("\n", " ").replace("\r", " ")

        def as_json(extra: dict[str, Any], line: str = text) -> str:
            existing = sorted(extra.keys() & spans.keys())
            if existing:
                reason = f"{where}: already has a field {existing[0]!r}, which an option would add"
                raise InputError(reason, "rename it first")
            added = json.dumps(extra, ensure_ascii=False)[1:-1]
            close = line.rindex("}")
            return f"{line[:close]}, {added}{line[close:]}" if extra else line

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            # What does not change, such as a blank field, stays as it is spelled.
            unchanged = translation == source
            changed = spelled if unchanged else json.dumps(translation, ensure_ascii=False)
            return as_json(extra, text[:start] + changed + text[end:])

        return Record(Line(source), as_line, as_json)

    def _repaired(self, value: Any, spelled: str, where: str) -> tuple[str, str]:
        """Return a field's text and its JSON, without unpaired surrogates."""
        if not isinstance(value, str):
            reason = f"{where}: the field {self.field!r} is not text"
            raise InputError(reason, "choose another `field`")
        if not _has_surrogates(value):
            return value, spelled
        if self.policy == STRICT:
            raise InputError(
                f"{where}: the field {self.field!r} has half a surrogate pair",
                "fix it, or use `errors=replace`",
            )
        replaced = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        value = replaced if self.policy == REPLACE else ""
        return value, json.dumps(value, ensure_ascii=False)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the object that fails, or one with the line, and the error."""
        try:
            record = dict(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            record = {"line": text}
        record["error"] = extra["error"]
        output = json.dumps(record, ensure_ascii=False)
        return json.dumps(record) if _has_surrogates(output) else output


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _spans(text: str, where: str) -> dict[str, tuple[int, int, Any]]:
    """Return start, end and value of each field of an object."""
    try:
        if not isinstance(json.loads(text), dict):
            raise InputError(f"{where}: is not a JSON object", "give one object per line")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error})", "give one object per line") from None
    # The whole line is valid JSON: what separates the fields needs no checks.
    decoder, spans = json.JSONDecoder(), {}
    index = text.index("{") + 1
    while (start := text.find('"', index)) >= 0:
        name, index = decoder.raw_decode(text, start)
        start = text.index(":", index) + 1
        while text[start] in " \t\r\n":
            start += 1
        value, index = decoder.raw_decode(text, start)
        spans[name] = (start, index, value)
    return spans
