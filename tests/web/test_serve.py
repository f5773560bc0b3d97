"""The page of nmt serve in a browser."""

import json
from pathlib import Path

import pytest

from nmt_cli.models import open as open_model
from tests.cli.test_plot import CHROMIUM
from tests.harness import nmt
from tests.npm import needs_npm
from tests.serve.conftest import serving
from tests.serve.test_alignments import EN_PT, PT_EN, aligned_words
from tests.serve.test_spec import OPERATIONS
from tests.web.test_page import HERE, node, node_modules

__all__ = ["node_modules"]  # a fixture
FIRST, SECOND = "😀 Bom dia, Maria!", "O <b>gato</b> dorme na casa."
SUBTITLE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


def translated(bundle: Path, text: str, folder: Path) -> str:
    done = nmt("translate", "-m", bundle, cwd=folder, stdin=f"{text}\n".encode())
    return done.out.decode().removesuffix("\n")


@pytest.mark.slow
@needs_npm
@pytest.mark.skipif(not CHROMIUM, reason="needs chromium")
@pytest.mark.usefixtures("node_modules")
def test_a_browser_uses_the_page(tmp_path: Path) -> None:
    given = {"text": f"{FIRST}\n{SECOND}", "file": ["São.srt", SUBTITLE.format("Bom dia!")]}
    keys = tmp_path / "keys"
    keys.write_text("sesame\n", encoding="utf-8")
    with serving(PT_EN, EN_PT) as server, serving(PT_EN, api_keys=keys) as guarded:
        words = CHROMIUM, f"{server.url}/", f"{guarded.url}/"
        result = json.loads(node(HERE / "serve.js", *words, given=json.dumps(given)))

    assert result.pop("problems") == []
    assert result.pop("foreign") == []
    with open_model(PT_EN) as model:
        (best,) = model.translate([FIRST], n_best=4, beam_size=4)
    alternatives = list(dict.fromkeys(translation.text for translation in best.n_best))
    second = translated(PT_EN, SECOND, tmp_path)
    chosen = f"{alternatives[1]}\n{second}"
    good_morning = translated(PT_EN, "Bom dia!", tmp_path)
    pairs = aligned_words(PT_EN, FIRST, 0)
    source = pairs[1][0]  # of the second target word
    group = [source, *(target for word, target in pairs if word == source)]
    first = pairs[0][0]
    already = "The text seems to be in English already."
    assert result.pop("docs")[:3] == ["q", "string, required", "Source text."]
    described = [f"{method.upper()} {path}" for path, method in OPERATIONS]
    assert sorted(result.pop("requests")) == sorted(described)
    assert result == {
        "dropped": "net::ERR_ABORTED",
        "typed": f"{best.text}\n{second}",
        "shown": [f"Characters: {len(given['text'])} of 50,000", "Model: pt-en"],
        "hovered": group,
        "hoveredSource": group,
        "cursor": [first, *(target for word, target in pairs if word == first)],
        "alternatives": alternatives,
        "hidden": True,
        "chosen": chosen,
        "dark": "rgb(21, 23, 26)",
        "swapped": [chosen, translated(EN_PT, chosen, tmp_path)],
        "detected": "Detected language: Portuguese",
        "file": ["en_São.srt", SUBTITLE.format(good_morning)],
        "badFile": "a.doc: Invalid request: file format not supported.",
        "offline": "The server does not answer.",
        "slow": "Slowdown. It takes requests again in 1 s.",
        "later": good_morning,
        "stays": [already, "This text is in English, and it stays."],
        "already": already,
        "short": True,
        "cleared": ["", "", "", "Characters: 0 of 50,000"],
        "focused": "source",
        "unknown": [""],
        "noKey": "Please contact the server operator to get an API key.",
        "wrongKey": "Invalid API key.",
        "withKey": good_morning,
    }
