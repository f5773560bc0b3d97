"""Strings of iOS: values are translated; keys and comments stay byte for byte.

``.strings`` are pairs of ``"key" = "value";``, or a property list in XML as ``.stringsdict`` are,
of which the plural forms and the format are texts.
"""

import re

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.tags import check_xml
from nmt_cli.formats.values import Escapes, translate_values

_SPACE = r"(?:\s|/\*.*?\*/|//[^\n]*)"
_STRING = r'"((?:[^"\\]|\\.)*+)"'
_ENTRY = rf"(?:{_STRING}|[\w.-]++){_SPACE}*+(?:={_SPACE}*+(?:{_STRING}|[\w.-]++){_SPACE}*+)?;"
_TOKEN = re.compile(rf"{_SPACE}|{_ENTRY}|(?P<bad>[\w.-]++|.)", re.DOTALL)
_PAIR = re.compile(r"<key>([^<]*)</key>\s*<string>([^<]*)</string>")
_FORM = re.compile("NSStringLocalizedFormatKey|zero|one|two|few|many|other")


def translate_ios(text: str, name: str, translate: Translate) -> str:
    """Translate the values of a ``.strings`` or ``.stringsdict`` file."""
    if text.lstrip().startswith("<"):
        check_xml(text, name)
        pairs, escapes = list(_PAIR.finditer(text)), Escapes("", is_xml=True)
        if "NSStringFormatSpecTypeKey" in text:
            pairs = [match for match in pairs if _FORM.fullmatch(match[1])]
    else:
        if bad := next((match for match in _TOKEN.finditer(text) if match["bad"]), None):
            line = text.count("\n", 0, bad.start()) + 1
            reason = f"{name}, line {line}: not an entry of a .strings file"
            raise InputError(reason, 'an entry is "key" = "value";')
        pairs = [match for match in _TOKEN.finditer(text) if match[2]]
        escapes = Escapes('\\"')
    return translate_values(text, [escapes.value(match, 2) for match in pairs], translate)
