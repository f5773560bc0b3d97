"""Aligned words in LibreTranslate's interface."""

from pathlib import Path

from nmt_cli.models import open as open_model
from nmt_cli.search.options import DecodingOptions
from tests.serve.conftest import Server, serving
from tests.test_docs import ROOT

PT_EN, EN_PT = ROOT / "exports" / "pt-en", ROOT / "exports" / "en-pt"
FIELDS = {"source": "pt", "target": "en", "alignments": True}
LINE = "😀 O gato, de manhã."


def aligned_words(bundle: Path, line: str, rank: int) -> list[tuple[str, str]]:
    """The words that nmt translate --alignments would number."""
    with open_model(bundle) as model:
        options = DecodingOptions(n_best=2, beam_size=4, alignments=True)
        (best,) = model.translator(options).translate([line])
        translation = best.n_best[rank]
        source, target = line.split(), translation.text.split()
        return [(source[i], target[j]) for i, j in translation.alignment or []]


def cut(text: str, translation: str, alignments: list[list[list[int]]]) -> list[tuple[str, str]]:
    return [
        (text[start:end], translation[target_start:target_end])
        for (start, end), (target_start, target_end) in alignments
    ]


def test_places_count_code_points_of_the_whole_text() -> None:
    text = f"{LINE}\r\n\n  {LINE}\n{LINE}"
    with serving(PT_EN) as server:
        body = server.post("/translate", {**FIELDS, "q": [text, " "], "alternatives": 1}).body
    expected = aligned_words(PT_EN, LINE, 0)
    assert ("gato,", "cat,") in expected or ("gato", "cat") in expected
    assert cut(text, body["translatedText"][0], body["alignments"][0]) == 3 * expected
    (other,) = body["alternativeAlignments"][0]
    assert cut(text, body["alternatives"][0][0], other) == 3 * aligned_words(PT_EN, LINE, 1)
    assert body["alignments"][1] == []


def test_they_change_no_translation() -> None:
    with serving(PT_EN) as server:
        form = "q=O+gato+dorme.&source=pt&target=en"
        plain = server.post("/translate", form).body
        aligned = server.post("/translate", f"{form}&alignments=true").body
    assert plain.keys() == {"translatedText"}
    assert aligned.keys() == {"translatedText", "alignments"}
    assert aligned["translatedText"] == plain["translatedText"]


def test_a_model_without_attention_has_none(server: Server) -> None:
    body = server.post("/translate", {**FIELDS, "q": "o gato", "alternatives": 1}).body
    assert (body["alignments"], body["alternativeAlignments"]) == (None, [None])


def test_not_for_html(server: Server) -> None:
    answer = server.post("/translate", {**FIELDS, "q": "o gato", "format": "html"})
    error = "Invalid request: alignments need the format text"
    assert (answer.status, answer.body) == (400, {"error": error})
