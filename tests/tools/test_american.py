"""British spelling in written text becomes American, and nothing else changes."""

import pytest

from tools.phrases.american import american


@pytest.mark.parametrize(
    ("british", "expected"),
    [
        ("The colourful neighbours honoured it.", "The colorful neighbors honored it."),
        ("a neighbourhood of harbours", "a neighborhood of harbors"),
        ("two kilometres from the centre", "two kilometers from the center"),
        ("half a litre, 3 metres, a theatre", "half a liter, 3 meters, a theater"),
        ("organised, recognises, realisation", "organized, recognizes, realization"),
        ("they analysed and paralysed it", "they analyzed and paralyzed it"),
        ("travellers travelled, cancelling", "travelers traveled, canceling"),
        ("a marvellous jeweller", "a marvelous jeweler"),
        ("centred, centring, manoeuvres, manoeuvred", "centered, centering, maneuvers, maneuvered"),
        ("grey tyres, a television programme", "gray tires, a television program"),
        ("a three-storey house with two storeys", "a three-story house with two stories"),
        ("She practises; he practised.", "She practices; he practiced."),
        ("the defence, an offence, a licence", "the defense, an offense, a license"),
        ("mouldy walls, a mould", "moldy walls, a mold"),
        (
            "It began at 8.15 a.m. and ended at 10.05 p.m.",
            "It began at 8:15 a.m. and ended at 10:05 p.m.",
        ),
    ],
)
def test_british_spelling(british: str, expected: str) -> None:
    assert american(british) == expected


@pytest.mark.parametrize(
    "text",
    [
        "your four hours of flour, a detour, the contour and a devoured tour",
        "advise, surprise, exercise, promise, revise, devise, disguise, supervise, compromise",
        "a wise rise, precise noise, otherwise raised and praised, improvised, advertised",
        "controlled, installed, called, filled, rebelled, propelled, expelled, compelled, taller",
        "humorous, laborious, vigorous, odorous, rumored, centered, meter, fire, more, acre",
        "The Labour Party met at Lincoln Centre and in Pearl Harbour.",
        "would, could, should, shoulders and boulders",
        "3.15 percent, version 2.10 and 8:15 a.m.",
        "the mummy's analyses, program, practice, story, stories, metric, fibrous, spectral",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert american(text) == text
