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
    codes = [language["code"] for language in server.get("/languages").body]
    post = "o gato dorme na casa azul porque hoje não há sol e as ruas estão cheias de água"
    detected = server.post("/detect", urlencode({"q": post, **key})).body[0]["language"]
    assert {detected, "en"} <= set(codes)
    (translation,) = model.translate(["o gato dorme"])
    fields = {"q": "<p>o gato dorme</p>", "source": detected, "target": "en", "format": "html"}
    answer = server.post("/translate", urlencode({**fields, **key}))
    assert answer.status == 200
    assert answer.body["translatedText"] == f"<p>{html.escape(translation.text, quote=False)}</p>"


def test_weblate_with_libretranslate(server: Server, model: TranslationModel) -> None:
    """It translates lists, in versions before batches one text as a form; no format."""
    assert {language["code"] for language in server.get("/languages").body} == {"en", "pt"}
    texts = ["o gato dorme", "a casa azul"]
    expected = [result.text for result in model.translate(texts)]
    fields = {"api_key": "", "source": "pt", "target": "en"}
    answer = server.post("/translate", {**fields, "q": texts})
    assert answer.body["translatedText"] == expected
    answer = server.post("/translate", urlencode({**fields, "q": texts[0]}))
    assert answer.body["translatedText"] == expected[0]


def test_weblate_with_deepl(server: Server, model: TranslationModel) -> None:
    """It asks for the pairs that glossaries support before it translates; any error ends that."""
    sources = server.get("/v2/languages?type=source").body
    targets = server.get("/v2/languages?type=target").body
    assert [language["language"] for language in sources] == ["PT"]
    assert [(target["language"], target["supports_formality"]) for target in targets] == [
        ("EN", False)
    ]
    pairs = server.get("/v2/glossary-language-pairs")
    assert (pairs.status, pairs.body) == (200, {"supported_languages": []})
    (translation,) = model.translate(["o gato dorme"])
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
    texts = [result["text"] for result in answer.body["translations"]]
    assert texts == [html.escape(translation.text, quote=False), '<x id="0"></x>']


def test_weblate_with_version_3_of_deepl(server: Server) -> None:
    """Later versions of deepl.py list languages, also those with glossaries, by version 3."""
    languages = server.get("/v3/languages?resource=translate_text").body
    assert {item["lang"].upper() for item in languages if item["usable_as_source"]} == {"PT"}
    assert {item["lang"].upper() for item in languages if item["usable_as_target"]} == {"EN"}
    assert not any("formality" in item["features"] for item in languages)
    answer = server.get("/v3/languages?resource=glossary")
    assert (answer.status, answer.body) == (200, [])
    answer = server.get("/v3/languages")
    assert (answer.status, answer.body) == (
        400,
        {"message": "Parameter 'resource' not specified."},
    )
    assert server.get("/v3/glossaries").body == {"message": "Not Found"}
