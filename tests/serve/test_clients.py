"""What Mastodon, Discourse and Weblate send, and what they read from the answers.

Sources of the requests:

- Mastodon: mastodon/mastodon, app/lib/translation_service/libre_translate.rb
- Discourse: discourse/discourse-translator,
  app/services/discourse_translator/provider/libre_translate.rb (0934666)
- Weblate: WeblateOrg/weblate, weblate/machinery/libretranslate.py (1911786; 037eee0 for forms) and
  weblate/machinery/deepl.py (01c5add)
"""

import html
from urllib.parse import urlencode

from nmt_cli.models import TranslationModel
from tests.serve.conftest import Server


def test_mastodon(server: Server, model: TranslationModel) -> None:
    """It translates the parts of a post as HTML; a post may have no language, the server no key."""
    languages = {item["code"]: set(item["targets"]) for item in server.get("/languages").body}
    assert languages == {"en": set(), "pt": {"en"}}
    (translation,) = model.translate(["o gato dorme na casa azul"])
    text = html.escape(translation.text, quote=False)
    parts = ["<p>o gato dorme na casa azul</p>", "o gato dorme na casa azul"]
    fields = {"q": parts, "target": "en", "format": "html", "api_key": None}
    for source in ("pt", "auto"):
        answer = server.post("/translate", {**fields, "source": source})
        assert answer.status == 200
        assert answer.body["translatedText"] == [f"<p>{text}</p>", text]
        found = [language["language"] for language in answer.body.get("detectedLanguage", [])]
        assert found == (["pt", "pt"] if source == "auto" else [])
    english = ["<p>The cat sleeps in the blue house &amp; <a href='x'>eats</a>.</p>"]
    answer = server.post("/translate", {**fields, "q": english, "source": "auto"})
    assert answer.body["translatedText"] == english
    assert answer.body["detectedLanguage"][0]["language"] == "en"


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
    pairs = server.get("/v2/glossary-language-pairs").body["supported_languages"]
    assert pairs == [{"source_lang": "pt", "target_lang": "en"}]
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
    glossary = server.get("/v3/languages?resource=glossary").body
    assert [item["lang"] for item in glossary] == ["en", "pt"]
    answer = server.get("/v3/languages")
    assert (answer.status, answer.body) == (
        400,
        {"message": "Parameter 'resource' not specified."},
    )
    assert server.get("/v3/glossaries").body == {"glossaries": []}


def test_glossaries_of_weblate(phrasebook: Server) -> None:
    """It uploads the terms of a project, whose id and version are the name, if they are new."""
    key = {"Authorization": "DeepL-Auth-Key any"}
    pairs = phrasebook.get("/v2/glossary-language-pairs").body["supported_languages"]
    assert {"source_lang": "en", "target_lang": "de"} in pairs
    assert phrasebook.get("/v2/glossaries").body == {"glossaries": []}
    fields = {"source_lang": "EN", "target_lang": "DE", "entries_format": "tsv"}
    for version, entries in (("1", "prize\tPreis"), ("2", "artist\tMaler\nprize\tGewinn")):
        name = f"weblate:1:EN:DE:{version}"
        body = {"name": name, "entries": entries, **fields}
        assert phrasebook.post("/v2/glossaries", body, key).status == 201
    listed = phrasebook.get("/v2/glossaries").body["glossaries"]
    by_name = {glossary["name"]: glossary["glossary_id"] for glossary in listed}
    assert list(by_name) == ["weblate:1:EN:DE:1", "weblate:1:EN:DE:2"]
    assert phrasebook.delete(f"/v2/glossaries/{by_name.pop('weblate:1:EN:DE:1')}").status == 204
    body = {
        "text": ['The artist was awarded a <x id="0"></x> prize.'],
        "source_lang": "EN",
        "target_lang": "DE",
        "glossary_id": by_name["weblate:1:EN:DE:2"],
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    (result,) = phrasebook.post("/v2/translate", body, key).body["translations"]
    assert result["text"] == 'The Maler was awarded a <x id="0"></x> Gewinn.'
