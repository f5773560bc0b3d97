"""Punctuation is normalized as sacremoses does it, which wrote these lines."""

import pytest

from nmt_cli.text.sentence_piece import normalized


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        (
            "en",
            "„So“ ( sagte er ) : “ja”,  nein … `x´ ''y''",
            '"So" (sagte er): "ja," nein ... \'x\' " y "',
        ),
        ("en", "«\xa0Oui\xa0»\xa0: 10 % de 1\xa0234\xa0!", '"Oui": 10% de 1.234!'),
        (
            "en",
            'l’été—5\xa0ºC, nº\xa07 – \xa0cm\xa0; “fin.”, ‘a’ "ok."  ',
            'l\'été - 5 ºC, nº 7 - cm; "fin.," \'a\' "ok."',
        ),
        (
            "fr",
            "„So“ ( sagte er ) : “ja”,  nein … `x´ ''y''",
            '"So" (sagte er): "ja", nein ... \'x\' " y "',
        ),
        ("fr", "«\xa0Oui\xa0»\xa0: 10 % de 1\xa0234\xa0!", '"Oui": 10% de 1,234!'),
        (
            "fr",
            'l’été—5\xa0ºC, nº\xa07 – \xa0cm\xa0; “fin.”, ‘a’ "ok."  ',
            'l\'été - 5 ºC, nº 7 - cm; "fin"., \'a\' "ok".',
        ),
        (
            "pt",
            "„So“ ( sagte er ) : “ja”,  nein … `x´ ''y''",
            '"So" (sagte er): "ja", nein ... \'x\' " y "',
        ),
        ("pt", "«\xa0Oui\xa0»\xa0: 10 % de 1\xa0234\xa0!", '"Oui": 10% de 1.234!'),
        (
            "pt",
            'l’été—5\xa0ºC, nº\xa07 – \xa0cm\xa0; “fin.”, ‘a’ "ok."  ',
            'l\'été - 5 ºC, nº 7 - cm; "fin.", \'a\' "ok."',
        ),
    ],
)
def test_lines_of_sacremoses(language: str, line: str, expected: str) -> None:
    assert normalized(line, language).text == expected
