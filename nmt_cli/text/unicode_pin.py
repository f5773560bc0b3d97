"""Tables that make `unicodedata` agree with tensorflow-text, whatever the Python version.

tensorflow-text 2.21 uses Unicode 16 (ICU) to fold case and decompose, and Unicode 15 (RE2) for
general categories. Python 3.11 has Unicode 14, and later versions have later ones. These tables
hold the code points on which Unicode 14 to 17 differ; `unicodedata` is right for all others. See
the scan of all code points in `tests/parity/test_tokenizers.py`.

One difference remains: before Python 3.14, a mark newer than Unicode 14 next to another mark
that case folding keeps may end up in another order.
"""


def _code_points(ranges: str) -> list[int]:
    points: list[int] = []
    for item in ranges.split():
        first, _, last = item.partition("-")
        points.extend(range(int(first, 16), int(last or first, 16) + 1))
    return points


_CATEGORIES = {
    "Mn": """
        ECE 10EFD-10EFF 1171E 11241 11F00-11F01 11F36-11F3A 11F40 11F42 13440 13447-13455 1E08F
        1E4EC-1E4EF
    """,
    "Cf": "13439-1343F",
    "Po": "11B00-11B09 11F43-11F4F",
    "Cn": """
        897 1ACF-1ADD 1AE0-1AEB 1B4E-1B4F 1B7F 10D69-10D6E 10ED0 10EFA-10EFC 113BB-113C0 113CE
        113D0 113D2 113D4-113D5 113D7-113D8 113E1-113E2 11B60 11B62-11B64 11B66 11BE1 11F5A
        1611E-16129 1612D-1612F 16D6D-16D6F 1E5EE-1E5EF 1E5FF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5
    """,
}

CATEGORIES = {
    point: category for category, points in _CATEGORIES.items() for point in _code_points(points)
}
"""General categories; "Cn" for what RE2 does not know yet."""

# A code point and what it decomposes into.
_DECOMPOSITIONS = """
    105C9 105D2 307, 105E4 105DA 307, 11383 11382 113C9, 11385 11384 113BB, 1138E 1138B
    113C2, 11391 11390 113C9, 113C5 113C2 113C2, 113C7 113C2 113B8, 113C8 113C2 113C9, 16121
    1611E 1611E, 16122 1611E 16129, 16123 1611E 1611F, 16124 16129 1611F, 16125 1611E 16120,
    16126 1611E 1611E 1611F, 16127 1611E 16129 1611F, 16128 1611E 1611E 16120, 16D68 16D67
    16D67, 16D69 16D63 16D67, 16D6A 16D63 16D67 16D67
"""
_DECOMPOSED = {
    int(point, 16): "".join(chr(int(part, 16)) for part in parts)
    for point, *parts in map(str.split, _DECOMPOSITIONS.split(","))
}
_LOWERED = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B}
_CYRILLIC_MODIFIERS = "абвгдежзиклмопрстуфхцчшыэюꚉәіјөүӏабвгдежзиклопсуфхцчшъыґіѕџҫꙑұ"

FOLDED = {
    **_DECOMPOSED,
    **{capital: chr(small) for capital, small in _LOWERED.items()},
    **{capital: chr(capital + 0x20) for capital in range(0x10D50, 0x10D66)},  # Garay
    **dict(enumerate("abcdefghijklmnopqrstuvwxyz0123456789", start=0x1CCD6)),  # outlined
    **dict(enumerate(_CYRILLIC_MODIFIERS, start=0x1E030)),
    **{point: chr(point) for point in _code_points("A7CE A7D2 A7D4 A7F1 16EA0-16EB8")},  # new
}
"""Results of case folding and decomposition."""

DEFAULT_IGNORABLE = frozenset(
    _code_points(
        """
        AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F
        FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF
        """
    )
)
"""Code points without a visible form, which case folding drops; not in `unicodedata`."""
