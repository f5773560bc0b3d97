"""JSON of applications: texts are translated; keys, order and formatting stay byte for byte.

Values whose keys begin with ``@``, as in ARB files, are metadata.
"""

import json
import re

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.values import Escapes, Value, translate_values

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')


def translate_json(text: str, name: str, translate: Translate) -> str:
    """Translate the values of a JSON document that are text."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"{name}, line {error.lineno}: not the syntax of JSON ({error.msg})"
        raise InputError(reason, "fix the line; comments are not JSON") from None
    except RecursionError:
        raise InputError(f"{name}: nested too deep", "split the document") from None
    escapes = Escapes('"\\', text.isascii() and bool(re.search(r"\\u(?!00[0-7])", text)))
    values, path, key = list[Value](), list[str](), ""
    for match in _TOKEN.finditer(text):
        if match[0] in "{[":
            path.append(key)
        elif match[0] in "}]":
            key = path.pop()
        elif match[2]:
            key = match[1]
        elif not any(part.startswith("@") for part in (*path, key)):
            values.append(escapes.value(match, 1))
    return translate_values(text, values, translate)
