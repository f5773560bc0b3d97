"""What Discourse and Weblate send, and what they read from the answers.

Sources of the requests:

- Discourse: discourse/discourse-translator,
  app/services/discourse_translator/provider/libre_translate.rb (0934666)
- Weblate: WeblateOrg/weblate, weblate/machinery/libretranslate.py (1911786; 037eee0 for forms) and
  weblate/machinery/deepl.py (01c5add)

Mastodon's request is in test_libretranslate.py.
"""

import html
from urllib.parse import urlencode

from nmt_cli.models import TranslationModel
from tests.serve.conftest import Server


def test_discourse(server: Server, model: TranslationModel) -> None:
    """It detects a post's language, then translates HTML; its bodies are forms."""
    key = {"api_key": ""}
    codes = [each["code"] for each in server.get("/languages").body]
    post = "o gato dorme na casa azul porque hoje não há sol e as ruas estão cheias de água"
    detected = server.post("/detect", urlencode({"q": post, **key})).body[0]["language"]
    assert {detected, "en"} <= set(codes)
    (found,) = model.translate(["o gato dorme"])
    fields = {"q": "<p>o gato dorme</p>", "source": detected, "target": "en", "format": "html"}
    answer = server.post("/translate", urlencode({**fields, **key}))
    assert answer.status == 200
    assert answer.body["translatedText"] == f"<p>{html.escape(found.text, quote=False)}</p>"


def test_weblate_with_libretranslate(server: Server, model: TranslationModel) -> None:
    """It translates lists, in versions before batches one text as a form; no format."""
    assert {each["code"] for each in server.get("/languages").body} == {"en", "pt"}
    texts = ["o gato dorme", "a casa azul"]
    expected = [each.text for each in model.translate(texts)]
    fields = {"api_key": "", "source": "pt", "target": "en"}
    answer = server.post("/translate", {**fields, "q": texts})
    assert answer.body["translatedText"] == expected
    answer = server.post("/translate", urlencode({**fields, "q": texts[0]}))
    assert answer.body["translatedText"] == expected[0]


def test_weblate_with_deepl(server: Server, model: TranslationModel) -> None:
    """It asks for the pairs that glossaries support before it translates; any error ends that."""
    sources = server.get("/v2/languages?type=source").body
    targets = server.get("/v2/languages?type=target").body
    assert [each["language"] for each in sources] == ["PT"]
    assert [(each["language"], each["supports_formality"]) for each in targets] == [("EN", False)]
    pairs = server.get("/v2/glossary-language-pairs")
    assert (pairs.status, pairs.body) == (200, {"supported_languages": []})
    (found,) = model.translate(["o gato dorme"])
    body = {
        "text": ["o gato dorme", '<x id="0"></x>'],
        "source_lang": "PT",
        "target_lang": "EN",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
        "context": "a program",
        "model_type": "prefer_quality_optimized",
    }
    answer = server.post("/v2/translate", body, {"Authorization": "DeepL-Auth-Key any"})
    texts = [each["text"] for each in answer.body["translations"]]
    assert texts == [html.escape(found.text, quote=False), '<x id="0"></x>']


def test_weblate_with_version_3_of_deepl(server: Server) -> None:
    """Later versions of deepl.py list languages, also those with glossaries, by version 3."""
    found = server.get("/v3/languages?resource=translate_text").body
    assert {each["lang"].upper() for each in found if each["usable_as_source"]} == {"PT"}
    assert {each["lang"].upper() for each in found if each["usable_as_target"]} == {"EN"}
    assert not any("formality" in each["features"] for each in found)
    answer = server.get("/v3/languages?resource=glossary")
    assert (answer.status, answer.body) == (200, [])
    answer = server.get("/v3/languages")
    assert (answer.status, answer.body) == (
        400,
        {"message": "Parameter 'resource' not specified."},
    )
    assert server.get("/v3/glossaries").body == {"message": "Not Found"}
