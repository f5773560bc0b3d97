"""nmt export --transformersjs, with Transformers.js in Node."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.tokenizer import END_ID
from nmt_cli.training.model import trained_model
from tests.systems import untrained_run
from tests.web.test_page import HERE, needs_npm, node, node_modules

__all__ = ["node_modules"]  # a fixture
EXPORTER = EXPORTERS["transformersjs"]
# The toy vocabulary lacks most of these characters. ㎏ and ﬁ are normalized.
LINES = ["um gato.", "Às  vezes “tão” — só", " dois três ", "㎏ ﬁm, ação; ЖΩ😀", "a " * 30]


@pytest.mark.slow
@needs_npm
def test_node_translates_alike(tmp_path: Path, node_modules: Path) -> None:
    run = untrained_run(tmp_path, model={"norm": "pre"}, decoding={"max_length": 40})
    target = tmp_path / "model"
    EXPORTER.export(run, ExportOptions(output=target, checkpoint=run.last), lambda line: None)
    card = (target / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "- float32: lines translated differently, of" in card
    assert "- int8: BLEU lost on 13 lines" in card

    decoding = run.recipe.decoding
    search = SearchOptions.of(decoding, DecodingOptions(beam_size=1, no_repeat_ngram=0))
    search = replace(search, length_extra=40)  # Transformers.js has only max_length
    model = KerasStepModel(trained_model(run, run.last)[0])
    translator = Translator(model, run.tokenizers(), search, decoding.max_source)
    ids = run.tokenizers().source.encode(LINES)
    expected = [
        [[*framed, END_ID], each.text]
        for framed, each in zip(ids, translator.translate(LINES), strict=True)
    ]
    script = HERE / "transformersjs.js"
    assert json.loads(node(script, target, "fp32", given=json.dumps(LINES))) == expected
    quantized = json.loads(node(script, target, "q8", given=json.dumps(LINES)))
    assert [ids for ids, _ in quantized] == [ids for ids, _ in expected]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"model": {"decoder": "ssru"}}, ".* is not a Transformer with self-attention"),
        ({"tokenizer": {"kind": "wordpiece", "vocab_size": 200}}, "the tokenizer is 'wordpiece'"),
        ({"tokenizer": {"model": "bpe"}}, "the tokenizer's model is not unigram"),
        ({"model": {"key_dim": 8}}, "keys and values are not d_model / heads wide"),
    ],
    ids=["ssru", "wordpiece", "bpe", "width"],
)
def test_refused(sections: dict[str, Any], problem: str, tmp_path: Path) -> None:
    run = untrained_run(tmp_path, **sections)
    options = ExportOptions(output=tmp_path / "out", checkpoint=run.last)
    message = f"^--transformersjs: {problem}, which Transformers.js does not support; export it"
    with pytest.raises(NmtError, match=message):
        EXPORTER.export(run, options, lambda line: None)
    assert not (tmp_path / "out").exists()
