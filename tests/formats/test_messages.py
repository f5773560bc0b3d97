"""Messages of applications: ICU syntax, accelerators and credits survive any model."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.formats.messages import placeholders_finder, translate_messages
from nmt_cli.formats.segments import Segment
from tests.formats.models import by_text, hostile, recorded, unchanged, upper

FIND = placeholders_finder()


def translated(text: str, model=upper, java: bool = False) -> str:  # type: ignore[no-untyped-def]
    (result,) = translate_messages([Segment(text, FIND)], model, java)
    return str(result)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("{n, plural, one {# file} other {# files}}", "{n, plural, one {# FILE} other {# FILES}}"),
        ("You have {n,plural,offset:1 =0{no one} =1 {{name}} other{{name} and # more}}!",
         "YOU HAVE {n,plural,offset:1 =0{NO ONE} =1 {{name}} other{{name} AND # MORE}}!"),
        ("{sex, select,\n  female {She {n, plural, one {has # cat} other {has # cats}}}\n"
         "  other {They left}\n}",
         "{sex, select,\n  female {SHE {n, plural, one {HAS # CAT} other {HAS # CATS}}}\n"
         "  other {THEY LEFT}\n}"),
        ("{n, selectordinal, one {#st} two {#nd} other {#th}} place",
         "{n, selectordinal, one {#st} two {#nd} other {#th}} PLACE"),
        ("{n, plural, other {It''s '{literal}' in '#' # of {n, number, ::percent}}}",
         "{n, plural, other {IT''S '{literal}' IN '#' # OF {n, number, ::percent}}}"),
        ("{a, select, other {x}} and {a, select, other {y}} and {a}",
         "{a, select, other {X}} AND {a, select, other {Y}} AND {a}"),
        ("{a, select, other {no # number}}", "{a, select, other {NO # NUMBER}}"),
    ],
)  # fmt: skip
def test_texts_of_icu_messages_are_translated(source: str, result: str) -> None:
    assert translated(source) == result


def test_what_the_model_reads_of_an_icu_message() -> None:
    calls, translate = recorded()
    translated("Hi {name}, {n, plural, one {one file} other {# files ''new''}} left", translate)
    same = "{n, plural, other {file}} {n, plural, other {files}}"
    assert translated(same, by_text(lambda text: text.replace("files", "file"))) == (
        "{n, plural, other {file}} {n, plural, other {file}}"
    )
    assert calls[0] == ["one file", "# files 'new'", "Hi {name}, {n} left"]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("{n, plural, one {# file other {x}}", "{N, PLURAL, ONE {# FILE OTHER {x}}"),
        ("{n, plural, one {a} other b}", "{n, plural, one {a} other b}"),
        ("{n, plural, } text", "{n, plural, } TEXT"),
        ("} {n, plural, other {x}}", "} {n, plural, other {x}}"),
    ],
)
def test_malformed_icu_is_an_ordinary_message(source: str, result: str) -> None:
    assert translated(source) == result


def test_deeply_nested_icu() -> None:
    source = "{n, select, other {" * 3000 + "x" + "}}" * 3000
    assert translated(source, unchanged) == source


def test_apostrophes_of_translations_quote_nothing() -> None:
    model = by_text(lambda text: text.replace("of ", "d'"))
    source = "{a, select, other {of {name}}}"
    assert translated(source, model) == "{a, select, other {d''{name}}}"
    last = by_text(lambda text: text + "'")
    assert translated("{a, select, other {dogs}}", last) == "{a, select, other {dogs''}}"
    # Java's MessageFormat drops all single apostrophes.
    assert translated("File of {0}", by_text(lambda text: "{0}'s file"), java=True) == "{0}''s file"
    assert translated("It''s {0}'{'", unchanged, java=True) == "It''s {0}'{'"
    assert translated("It's {0}", unchanged, java=True) == "It's {0}"
    assert translated("No argument", by_text(lambda text: "It's"), java=True) == "It's"


KNOWN = {
    "Case sensitive": "Distinguir maiúsculas",
    "Open File": "Abrir arquivo", "Save": "Salvar", "Find and Replace": "Localizar e substituir",
    "Exit": "Sair", "Preferences": "Preferências", "File": "Arquivo", "Help": "Über",
    "About %s": "Sobre %s", "Wrap {my_word}": "Quebrar {my_word}", "Zoom In": "Ampliar",
    "Search & Save": "Buscar & salvar", "Quit": "&S_a~ir", "Hidden": "字", "New": "文件",
    "New(F)": "文件(F)",
    "Send file": "Enviar arquivo", "Delete message": "Apagar mensagem",
    "Print\tCtrl+P": "x", "Print": "Imprimir", "Open <b>x</b> now": "Abrir <b>x</b> agora",
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("_Open File", "Abrir arquiv_o"),
        ("&Save", "&Salvar"),
        ("Find and _Replace", "Localiza_r e substituir"),
        ("E&xit", "&Sair"),
        ("Pr_eferences", "Pr_eferências"),
        ("~File", "~Arquivo"),
        ("F~ile", "Arqu~ivo"),
        ("&Help", "&Über"),
        ("_About %s", "_Sobre %s"),
        ("W_rap {my_word}", "Queb_rar {my_word}"),
        ("Zoom _In…", "Ampl_iar…"),
        ("Search & Sa&ve", "Buscar & sal&var"),
        ("&Quit", "&Quit"),  # the translation has another one
        ("New(_F)", "文件(_F)"),
        ("&New", "文件(&N)"),
        ("_Hidden", "字(_H)"),
        ("&Print\tCtrl+P", "Im&primir\tCtrl+P"),
        ("_Open <b>x</b> now", "Abrir <b>x</b> ag_ora"),
        ("<b>_Exit</b>", "<b>_Sair</b>"),
        ("Case se&nsitive", "Disti&nguir maiúsculas"),
        ("Case se_nsitive", "Disti_nguir maiúsculas"),
        ("Send fi_le...", "_Enviar arquivo..."),
        ("Delete mess&age...", "&Apagar mensagem..."),
        ("Delete m~essage:", "Apagar m~ensagem:"),
    ],
)
def test_accelerators_are_set_before_a_letter(source: str, result: str) -> None:
    assert translated(source, by_text(lambda text: KNOWN.get(text, text))) == result


@pytest.mark.parametrize(
    "source",
    [
        "AT&T", "R&D", "Q&A", "Tom &amp; Jerry", "snake_case_name", "file_name", "a & b",
        "the file_name is", "__init__", "call __init__ now", "~/bin", "see ~/bin and", "~user/x",
        "https://x.org/a_b?c=d&e=f", "%(my_name)s", "{my_name} left", "$my_var", "_id", "_posts/x",
        "A&&B", "File_name", "Unknown user_id", "b&w", "rock&roll",
        "Save && Quit", "drag&drop", "Copy&paste it", "5~10", "_both_ sides", "x=1&y=2",
        "MAX_VALUE", "Invalid user_id given.", "my_file.txt", "_config.yml", "&copy; 2024",
    ],
)  # fmt: skip
def test_what_is_no_accelerator_reaches_the_model(source: str) -> None:
    calls, translate = recorded()
    assert translated(source, translate) == source
    assert all(text in source for texts in calls for text in texts)


def test_one_accelerator_whatever_the_model_says() -> None:
    for seed in range(200):
        for mark in "_&~":
            result = translated(f"{mark}Open the file", hostile(seed))
            assert len(re.findall(rf"{mark}(?=[^\W_])", result)) == 1, result


def test_ellipses_and_colons_of_labels() -> None:
    calls, translate = recorded(by_text(lambda text: text.replace("Loading", "Carregando...")))
    texts = ["Loading...", "Loading …", "Loading:", "Loading", "...", "{n, plural, other {# x...}}"]
    results = translate_messages([Segment(text, FIND) for text in texts], translate)
    assert results == ["Carregando...", "Carregando …", "Carregando:", "Carregando...", *texts[4:]]
    assert calls[0] == ["Loading", "# x"]


def test_credits_and_line_ends() -> None:
    for text in ("translator-credits", "translators_credits", "Your names", "Your emails"):
        assert translated(text) == text
    assert translated("\none\n two \n") == "\nONE\n TWO \n"


def test_placeholders_of_frameworks() -> None:
    text = (
        "a {{x}} $t(k.x) %{n} @:k.l @.lower:(k) $NAME$ %count% :name %Y {n, number} %#@f@ &lt;b>c"
    )
    kept = {text[span.start : span.end] for span in FIND(text)}
    assert kept == set(text.split(" ")[1:-4]) | {"{n, number}", "%#@f@", "&lt;b>"}
    assert not FIND("At 12:30: note:this, 100% Yes, 5% a & b")
    tags = [span.kind.name for span in FIND("&lt;b&gt;x&lt;/b&gt;")]
    assert tags == ["OPEN", "CLOSE"]


PARTS = st.sampled_from([
    "{n, plural, ", "one {", "other {", "}", "}}", "#", "'", "''", "'{'", "text ", "{x}", "{",
    "_Open", "E&xit", "\n", "{a, select, other {It}}", "%s",
])  # fmt: skip


@given(st.lists(PARTS, max_size=9).map("".join), st.integers(0, 10**6))
def test_syntax_survives_every_model(source: str, seed: int) -> None:
    message = f"{source}{{n, plural, one {{{source}}} other {{# {source}}}}}{source}"
    assert translated(source, unchanged) == source
    assert translated(message, unchanged) == message
    result = translated(message, hostile(seed))
    if not re.search("[{}']", source.replace("{x}", "").replace("{a, select, other {It}}", "")):
        assert sorted(re.findall(r"[{}]", result)) == sorted(re.findall(r"[{}]", message))
