"""Markdown: prose changes, structure stays."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import markdown_it
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it.token import Token

from nmt_cli.formats.markdown import translate_markdown
from nmt_cli.formats.markdown_inline import inline_finder, parser
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.spans import Kind
from nmt_cli.search.lines import Line, Translation
from tests.formats.models import by_text, hostile, marked, recorded, unchanged, upper

BEFORE = r"""---
title: Not touched
---
# The *first* heading {#first} #

A paragraph of `code`, **bold text**, a [link](http://a.b/c "title"), an
![image](a/b.png), <https://auto.link> and http://bare.link/x_y.
It costs $5, $x^2$ is maths[^1], snake\_case :tada:@@
after a hard break\
and another.

> A quote
lazily continued
> > nested

* [ ] to do
* [x] done

  second paragraph

1. one
   ```sh
   echo code
   ```
10. ten

    indented code

Setext
title
======

| left | right `a\|b` |
|:-----|---:|
| cell \| pipe | |
no pipe | **x** |

<div>
html block
</div>

[ref]: http://x.y "Title"
[text][ref], [ref], [ref][] and ~~gone~~ <kbd>Ctrl</kbd><br>new.

> [!NOTE]
> Mind this.

!!! note "Title"
    Admonished.

Term
: Definition

***

[^1]: The footnote has words.
&copy; {{ year }} 12:30
""".replace("@@", "  ")

AFTER = r"""---
title: Not touched
---
# THE *FIRST* HEADING {#first} #

A PARAGRAPH OF `code`, **BOLD TEXT**, A [LINK](http://a.b/c "title"), AN
![IMAGE](a/b.png), <https://auto.link> AND http://bare.link/x_y.
IT COSTS $5, $x^2$ IS MATHS[^1], snake\_case :tada:@@
AFTER A HARD BREAK\
AND ANOTHER.

> A QUOTE
LAZILY CONTINUED
> > NESTED

* [ ] TO DO
* [x] DONE

  SECOND PARAGRAPH

1. ONE
   ```sh
   echo code
   ```
10. TEN

    INDENTED CODE

SETEXT
TITLE
======

| LEFT | RIGHT `a\|b` |
|:-----|---:|
| CELL \| PIPE | |
NO PIPE | **X** |

<div>
html block
</div>

[ref]: http://x.y "Title"
[TEXT][ref], [ref], [ref][] AND ~~GONE~~ <kbd>Ctrl</kbd><br>NEW.

> [!NOTE]
> MIND THIS.

!!! note "Title"
    ADMONISHED.

TERM
: DEFINITION

***

[^1]: THE FOOTNOTE HAS WORDS.
&copy; {{ year }} 12:30
""".replace("@@", "  ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_document(end: str) -> None:
    before, after = BEFORE.replace("\n", end), AFTER.replace("\n", end)
    calls, translate = recorded(upper)
    assert translate_markdown(before, "a", translate) == after
    assert len(calls) == 2
    assert translate_markdown(before, "a", unchanged) == before
    assert translate_markdown(before.rstrip(), "a", upper) == after.rstrip()


# Not part of CommonMark.
FRONT_MATTER = re.compile(
    r"\A(?:---\s*?\n(?:.*\n)*?(?:---|\.\.\.)|\+\+\+\s*?\n(?:.*\n)*?\+\+\+)[ \t]*$", re.MULTILINE
)


def shapes(text: str) -> Iterator[tuple[object, ...]]:
    """Yield type, nesting, code and targets of each token.

    Without footnotes, of which the parser would make definitions of links if they are one word.
    """
    markdown = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    yield from _shapes(markdown.parse(FRONT_MATTER.sub("", text).replace("[^", "(^")))


def _shapes(tokens: list[Token]) -> Iterator[tuple[object, ...]]:
    for token in tokens:
        content = token.content if "code" in token.type or "html" in token.type else ""
        content = token.content if token.type in ("fence", "hardbreak") else content
        if token.type not in ("text", "softbreak"):
            attrs = (token.attrGet("href"), token.attrGet("src"), token.attrGet("title"))
            yield (token.type, token.level, token.markup, token.info, content, *attrs)
        yield from _shapes(token.children or [])


ROOT = Path(__file__).parents[2]


def real_documents() -> list[Path]:
    packages = Path(markdown_it.__file__).parents[1]
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *packages.glob("*/**/*.md")]
    return [path for path in paths if path.stat().st_size < 20_000][:60]


def test_real_documents() -> None:
    for path in real_documents():
        text = path.read_bytes().decode("utf-8", "replace")
        assert translate_markdown(text, str(path), unchanged) == text, path
        new = translate_markdown(text, str(path), upper)
        assert list(shapes(new)) == list(shapes(text)), path
        assert new.count("\n") == text.count("\n"), path


@pytest.mark.parametrize(
    ("text", "output", "result"),
    [
        ("a b c\nd e", "eins zwei drei vier fünf", "eins zwei drei\nvier fünf"),
        ("a\nb\nc", "Donau", "Donau"),
        ("> a\n> b\n\nc", "Donau", "> Donau\n\nDonau"),
        ("- a\n  b\n- c", "x y", "- x\n  y\n- x y"),
        ("aaa bbb\nccc", "ein - und", "ein -\nund"),
        ("aaa\nbbb", "am 1. Mai", "am 1.\nMai"),
        ("aaa\nbbb", "eins\\ zwei", "eins\\ zwei"),
        ("text here", "1. Mai", "text here"),
        ("text here", "# x", "text here"),
        ("text here", "    x", "x"),
        ("text here", "[a]: http://x.y", "text here"),
        ("text here", "ein *Wort*", "text here"),
        ("text here", "2 * 3 * 4 und a_b_c", "2 * 3 * 4 und a_b_c"),
        ("text\nhere", "x\n---", "x ---"),
        ("| a |\n|---|\n| b |", "x|y", "| a |\n|---|\n| b |"),
        ("# a", "C#", "# C#"),
        ("|a|\n|---|\n|b|", "x\\", "|a|\n|---|\n|b|"),
        ("# a", "x #", "# a"),
        ("see `x` now", "jetzt `x`", "jetzt `x`"),
        ("see `x` now", "jetzt `y`", "see `x` now"),
        ("**a** b", "b **a**", "b **a**"),
        ("*a* **b**", "**b** *a*", "*a* **b**"),
        ("a[^1] b", "b a[^1]", "b a[^1]"),
    ],
)
def test_model_outputs(text: str, output: str, result: str) -> None:
    calls: list[Sequence[Line]] = []

    def answer(lines: Sequence[Line]) -> Sequence[Translation]:
        calls.append(lines)
        return [Translation(output if len(calls) == 1 else line.text, 0.0, []) for line in lines]

    assert translate_markdown(text, "a", Translate(answer)) == result


def test_other_blocks_stay_translated_where_one_is_repaired() -> None:
    text = "one\n\n- two\n\nthree\n\n| four |\n|---|\n"
    answers = {"one": "eins", "two": "- - zwei", "three": "1. drei", "four": "vier"}
    new = translate_markdown(text, "a", by_text(answers.__getitem__))
    assert new == "eins\n\n- two\n\nthree\n\n| vier |\n|---|\n"


def spans(text: str, **references: str) -> list[str]:
    known = {name: {"href": target, "title": ""} for name, target in references.items()}
    return [text[span.start : span.end] for span in inline_finder(parser(), known)(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a **b** *c* __d__ _e_ ~~f~~", ["**", "**", "*", "*", "__", "__", "_", "_", "~~", "~~"]),
        ("***a** b*", ["*", "**", "**", "*"]),
        ("**a *b***", ["**", "*", "*", "**"]),
        ("a * b ** c _ d", []),
        ("a [b](c) ![d](e 'f') [g][r]", ["[", "](c)", "![d](e 'f')", "[", "][r]"]),
        ("[![a](b)](c)", ["[![a](b)](c)"]),
        ("[*a* `b`](<c d>)", ["[", "*", "*", "`b`", "](<c d>)"]),
        ("![a *b*](c)", ["![a *b*](c)"]),
        # Between elements without letters beside them, texts are separate.
        ("[a](b) | **c**,", ["", "[", "](b)", "|", "**", "**", ","]),
        ("→ [a](b)[c](d)", ["→", "[", "](b)", "", "[", "](d)", ""]),
        ("[**a** _b_](c) d", ["[", "", "**", "**", "", "_", "_", "", "](c)"]),
        ("**a** b _c_", ["**", "**", "_", "_"]),
        ("a[^1] b^[c [d](e)] \\^[f]", ["[^1]", "^[c [d](e)]", r"\^"]),
        ("[[a b]] a ![[c|9]] [[d|e]] [[f]](g)", ["[[a b]]", "![[c|9]]", "[[d|", "]]", "[", "](g)"]),
        (r"a [[b\|c]] `[[d]]`", [r"[[b\|", "]]", "`[[d]]`"]),
        (
            "@ana a #12 o/r#3 :+1: <<b c>> {d_e} {{ f }}",
            ["@ana", "#12", "o/r#3", ":+1:", "<<b c>>", "{d_e}", "{{ f }}"],
        ),
        (r"\\(a_b\\) \(c\) \begin{d}e\end{d}", [r"\\(a_b\\)", r"\(", r"\)", r"\begin{d}e\end{d}"]),
        ("[r] [r][] [other] [x][other]", ["[r]", "[r][]"]),
        ("``a ` b`` <a href='x'>y</a>", ["``a ` b``", "<a href='x'>", "</a>"]),
        (
            "<http://a.b> <c@d.e> http://f.g/*h*",
            ["<http://a.b>", "<c@d.e>", "http://f.g/", "*", "*"],
        ),
        ("see **http://a.b/c**, x", ["**", "http://a.b/c", "**"]),
        (r"a\_b \*c\* \\", [r"a\_b", r"\*", r"\*", "\\\\"]),
        ("$a*b*c$ and $5 to $6, `$x$`", ["$a*b*c$", "`$x$`"]),
        ("<kbd>*a*</kbd> b<br/>c", ["<kbd>*a*</kbd>", "<br/>"]),
    ],
)
def test_kept_spans(text: str, found: list[str]) -> None:
    assert spans(text, R="x") == found
    assert translate_markdown(text, "a", unchanged) == text


def links(text: str) -> Counter[str]:
    return Counter(re.findall(r"\]\(([^)\s]*)|(\[\^[^\][]+\]:?)|`[^`\n]+`|(\[\[[^\]|]*)", text))


def translated(text: str, model: Translate = upper) -> str:
    return translate_markdown(text, "a", model)


SEPARATE = """\
Ele mora[^1] em^[uma *nota*] Recife ![um gato](gato.png "t") agora.

[^1]: Uma cidade.
  do Brasil
[^2]: Importante.
*[HTML]: Linguagem
*[CSS]: Folhas

Termo
: Uma definição
: Outra
  longa

[Início](a) | [Sobre](b) ·
[Contato](c)

[![Selo](s.svg)](u) ![Outro](t.svg)

| a | b |
|---|---|
| [Um](a) [Dois](b) | Sim[^1] |
"""


def test_separate_texts() -> None:
    calls, translate = recorded(upper)
    expected = SEPARATE.upper()
    for kept in (
        "[^1]", "(gato.png \"t\")", "(a)", "(b)", "(c)", "(s.svg)", "(u)", "(t.svg)",
    ):  # fmt: skip
        expected = expected.replace(kept.upper(), kept)
    assert translated(SEPARATE, translate) == expected
    assert set(calls[0]) == {
        'Ele mora[^1] em^[uma *nota*] Recife ![um gato](gato.png "t") agora.', "uma *nota*",
        "um gato", "Uma cidade. do Brasil", "Importante.", "Linguagem", "Folhas", "Termo",
        "Uma definição", "Outra longa", "Início", "Sobre", "Contato", "Selo", "Outro", "a", "b",
        "Um", "Dois", "Sim",
    }  # fmt: skip


def test_white_space_stays() -> None:
    text = "  a\tb  \n\t c\\\nd \n\n-\te\n\n  f  \n"
    assert translated(text) == text.upper()


HEADINGS = """\
# Minha *seção* `x_1`!
## Uso
## Uso
## Um {#um-id}
<a name="velho"></a>
### Velho

[a](#minha-seção-x_1) [b](#minha-secao-x_1 "t") [c](<#minha-se%C3%A7%C3%A3o-x_1>) `[d](#uso)`
[e](#uso) [f](#uso-1) [g](#um-id) [h](#velho) [i](b.md#uso) [j] <i><a href="#uso-1">k</a></i>

[j]: #uso "t"

```
[l](#uso)
```
"""


def test_links_to_headings_follow_their_translations() -> None:
    answers = {"Uso": "Use & more", "Um": "One", "Velho": "Old"}
    model = by_text(lambda text: answers.get(text, text.replace("Minha *seção*", "My *Ação*")))
    assert translated(HEADINGS, model).split("\n")[7:13] == [
        '[a](#my-ação-x_1) [b](#my-acao-x_1 "t") [c](<#my-a%C3%A7%C3%A3o-x_1>) `[d](#uso)`',
        "[e](#use--more) [f](#use--more-1) [g](#um-id) [h](#velho) [i](b.md#uso) [j] "
        '<i><a href="#use--more-1">k</a></i>',
        "",
        '[j]: #use--more "t"',
        "",
        "```",
    ]
    assert translated(HEADINGS, unchanged) == HEADINGS


def test_links_to_headings_in_other_scripts() -> None:
    text = "# a\n\n[x](#a)\n"
    model = by_text(lambda text: "हिन्दी भाषा २" if text == "a" else text)
    assert translated(text, model) == "# हिन्दी भाषा २\n\n[x](#हिन्दी-भाषा-२)\n"


def test_the_text_of_a_wiki_link_is_an_element() -> None:
    calls, translate = recorded(upper)
    assert translated("[[a b|c d]]\n", translate) == "[[a b|C D]]\n"
    assert calls == [["c d"]]
    found = inline_finder(parser(), {})(r"a [[b\|c]]")
    assert [span.kind for span in found] == [Kind.OPEN, Kind.CLOSE]


def test_elements_without_letters_are_marks_beside_words() -> None:
    texts = [
        "see Recife<sup>1</sup> now",
        "see Recife[1](#a) now",
        "see Recife**2** now",
        "drink H<sub>2</sub>O now",
        "see **12** cats",
    ]
    found = inline_finder(parser(), {})
    shown = [[(text[span.start : span.end], span.kind) for span in found(text)] for text in texts]
    assert shown == [
        [("<sup>1</sup>", Kind.MARK)],
        [("[1](#a)", Kind.MARK)],
        [("**2**", Kind.MARK)],
        [("H<sub>2</sub>O", Kind.FREE)],
        [("**", Kind.OPEN), ("**", Kind.CLOSE)],
    ]


@pytest.mark.parametrize("seed", range(30))
def test_hostile_models_lose_no_markup(seed: int) -> None:
    for text in (SEPARATE, BEFORE):
        assert links(translated(text, hostile(seed))) == links(text)


PIECES = st.sampled_from(
    ["# ", "## ", "- ", "* ", "1. ", "> ", "    ", "\t", "  ", "\n", "\n\n", "\r\n", "\r", "one ",
     "two", "three words here ", "`", "``", "```\n", "~~~\n", "*", "**", "_", "__", "~~", "[", "](",
     ")", "![", "[a]", "[a]: b\n", "<b>", "</b>", "<br>", "<div>\n", "<!--", "-->", "|", "|---|\n",
     "---\n", "===\n", "\\", "\\_", "  \n", "\\\n", "&amp;", "http://x.y", "<http://x.y>", "{#id}",
     "[^1]", "[^1]: ", "$", "$$", ":x:", "\x00", "\u2028", "\x0c", "é", "字", "!!! note\n",
     "[!NOTE]\n", "\n: ", "+++\n", "7", "^[", "[[", "]]", "[[a|", "*[A]: ", "![x](y)", "[x](#zz)",
     " | ", " · ", "@x ", "#1 "]
)  # fmt: skip
DOCUMENTS = st.lists(PIECES, max_size=25).map("".join)


@given(DOCUMENTS | st.text(max_size=30), st.integers(0, 10**6))
@example("---\n---", 0)
@example("---\n[a]: b\n---\n[a]", 1)
@example("a\n\n" * 6, 1)
@example("one http://x.y\\\none ", 0)
@example("b<!--\n-->", 612279)
@example("one `!!! note\n\x0c`", 0)
@example("[^1]: one ", 36)
@example("one # \ntwo\\\n: ", 0)
@example("\\$$\u2028@x $$", 0)
def test_any_document_and_any_model(text: str, seed: int) -> None:
    assert translate_markdown(text, "a", unchanged) == text
    for model in (upper, marked, hostile(seed)):
        calls, translate = recorded(model)
        new = translate_markdown(text, "a", translate)
        assert len(calls) <= 2
        old_shapes, new_shapes = list(shapes(text)), list(shapes(new))
        assert sorted(map(str, new_shapes)) == sorted(map(str, old_shapes))
        blocks = [x[0] for x in old_shapes if str(x[0]).endswith(("_open", "_close"))]
        assert [x[0] for x in new_shapes if str(x[0]).endswith(("_open", "_close"))] == blocks


@pytest.mark.parametrize(
    "text",
    [
        "- " * 200 + "deep",
        "> " * 200 + "deep",
        "".join("  " * depth + "- item\n" for depth in range(60)),
        "word " * 10_000,
        "word\n" * 2_000,
        "[" * 2_000,
        "[a](" * 500,
        "![" * 500,
        "*a " * 1_000,
        "**a _b " * 500,
        "`" * 2_000 + "a",
        "<" * 5_000,
        "<a " * 2_000,
        "\\_" * 2_000,
        "$a" * 2_000,
        "{" * 5_000,
        "[a](b) " * 500,
        "|" * 2_000 + "\n" + "|-" * 2_000,
        "a" * 50_000,
        "\n" * 10_000,
        "[" * 70 + "a" + "](b)" * 70,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_files_are_fast(text: str) -> None:
    assert translate_markdown(text, "a", unchanged) == text
    assert len(translate_markdown(text, "a", upper)) == len(text)
