"""Punctuation as OPUS-MT normalized it before training; transformers does not.

The rules are those of sacremoses 0.2 (MosesPunctNormalizer), a port of Moses' script
normalize-punctuation.perl, in the same order. Rules without effect are left out, and neighbours
with the same result are one.
"""

import re
from functools import cache

from nmt_cli.text.mapped import MappedText

_RULES = (
    (r"\r", ""),
    (r"\(", " ("),
    (r"\)", ") "),
    (r" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"(\d) %", r"\1%"),
    (r" ([:;])", r"\1"),
    (r"`", "'"),
    (r"''", ' " '),
    (r"[„“”]", '"'),
    (r"–", "-"),
    (r"—", " - "),
    (r" +", " "),
    (r"[´‘‚’]", "'"),
    (r"''", '"'),
    (r"…", "..."),
    ("\u00a0«\u00a0|«\u00a0?", '"'),
    ("\u00a0»\u00a0|\u00a0?»", '"'),
    ("\u00a0%", "%"),
    ("nº\u00a0", "nº "),
    ("\u00a0:", ":"),
    ("\u00a0(ºC|cm)", r" \1"),
    ("\u00a0([?!;])", r"\1"),
    (",\u00a0", ", "),
    (r" +", " "),
)
_COMMAS = {
    "en": ((r'"([,.]+)', r'\1"'),),
    **dict.fromkeys(("de", "es", "fr"), ((r',"', '",'), (r'(\.+)"(\s*[^<])', r'"\1\2'))),
}
_DECIMAL_COMMA = ("de", "es", "cz", "cs", "fr")


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    number = r"\1,\2" if language in _DECIMAL_COMMA else r"\1.\2"
    rules = (*_RULES, *_COMMAS.get(language, ()), ("(\\d)\u00a0(\\d)", number))
    return tuple((re.compile(pattern), replacement) for pattern, replacement in rules)


def normalized(line: str, language: str) -> MappedText:
    """Normalize the punctuation of a language in a line, and strip white space."""
    text = MappedText(line)
    for pattern, replacement in _rules(language):
        text = text.substituted(pattern, replacement)
    return text.stripped()
