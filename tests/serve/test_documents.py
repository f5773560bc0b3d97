"""Markup is placed as by nmt translate."""

from pathlib import Path

from tests.cli.conftest import system, with_attention  # noqa: F401 - fixtures
from tests.harness import nmt
from tests.serve.conftest import serving


def test_tags_go_with_their_words(with_attention: Path, tmp_path: Path) -> None:  # noqa: F811
    text = "<p>o <b>gato</b> está <i>aqui</i>.</p>"
    words = ["translate", "-m", with_attention, "--format", "html"]
    translation = nmt(*words, cwd=tmp_path, stdin=text.encode()).out.decode()
    with serving(with_attention) as server:
        fields = {"q": text, "source": "pt", "target": "en", "format": "html"}
        assert server.post("/translate", fields).body == {"translatedText": translation}
