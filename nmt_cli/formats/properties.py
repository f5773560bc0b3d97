"""Java's ``.properties``: values are translated; keys, comments and separators stay byte for byte.

A value with arguments such as ``{0}`` is a MessageFormat, in which apostrophes are doubled.
"""

import re

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.values import Escapes, Value, translate_values

_CONTINUED = r"\\(?:\r\n|[\r\n])[ \t\f]*"
_SPACE = rf"(?:[ \t\f]|{_CONTINUED})*+"
_LINE = re.compile(
    rf"^[ \t\f]*(?:[#!].*|((?:{_CONTINUED}|\\.|[^\\\s=:])+){_SPACE}[=:]?{_SPACE}(?:\\ )*+"
    rf"((?:{_CONTINUED}|\\.|[^\\\r\n])*))",
    re.MULTILINE,
)
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9A-Fa-f]{4})")


def translate_properties(text: str, name: str, translate: Translate) -> str:
    """Translate the values of a file; a file in ASCII stays in ASCII."""
    escapes = Escapes("\\", only_ascii=text.isascii())
    values = list[Value]()
    for match in _LINE.finditer(text):
        if match[2] and (bad := _BAD_ESCAPE.search(match[0])):
            line = text.count("\n", 0, match.start() + bad.end()) + 1
            reason = f"{name}, line {line}: \\u without four hexadecimal digits"
            raise InputError(reason, "write a backslash as \\\\")
        values += [escapes.value(match, 2)] if match[2] else []
    return translate_values(text, values, translate, java=True)
