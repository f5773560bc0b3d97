"""N lines in, N lines out, in order: windows, batches, splitting and rejoining."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.errors import NmtError
from nmt_cli.search import segments
from nmt_cli.search import translator as module
from nmt_cli.search.alignment import links, tokens_of_words
from nmt_cli.search.lines import Line
from nmt_cli.search.segments import WIDTH_STEP, batches_of
from nmt_cli.search.step_model import BatchTooLarge
from nmt_cli.search.translator import Translator
from nmt_cli.text import steps
from nmt_cli.text.tokenizer import END_ID, PAD_ID, UNK_ID, TokenizerPair
from tests.search.fakes import (
    FIRST_CHARACTER_ID,
    Characters,
    FakeStepModel,
    copying,
    fake_translator,
    options,
)


def copier(max_source: int = 1000, beams: int = 1) -> tuple[Translator, FakeStepModel]:
    """Return a translator that copies, and its model."""
    model = FakeStepModel(copying)
    return fake_translator(model, options(beams), max_source), model


def texts(translator: Translator, lines: list[str]) -> list[str]:
    return [translation.text for translation in translator.translate(lines)]


line = st.one_of(st.sampled_from(["", "  ", "\t", "\u3000"]), st.text("ab .!\u2028", max_size=12))


@given(st.lists(line, max_size=20), st.integers(1, 7), st.integers(1, 40), st.integers(1, 3))
def test_n_lines_in_n_lines_out_in_order(
    lines: list[str], window: int, budget: int, beams: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", window)
        translator, _ = copier(beams=beams)
        translator = replace(translator, batch_tokens=budget)
        assert texts(translator, lines) == lines


@given(st.lists(line, max_size=12), st.integers(1, 5), st.integers(1, 6))
def test_split_lines_lose_no_text(lines: list[str], window: int, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW", window)
        translator, model = copier(longest)
        translated = texts(translator, lines)
    assert [re.sub(r"\s", "", text) for text in translated] == [re.sub(r"\s", "", x) for x in lines]
    # Widths include END and are rounded up to a multiple of WIDTH_STEP.
    assert all(width < longest + 1 + WIDTH_STEP for _, width in model.widths)


def test_scores_and_ids() -> None:
    translator, _ = copier()
    blank, short = translator.translate([" \u2060", "ab"])
    assert (blank.text, blank.score, blank.ids) == (" \u2060", 0, [])
    assert short.ids == [FIRST_CHARACTER_ID + ord(character) for character in "ab"]
    assert short.score == pytest.approx(3 * -0.125)


def test_sentences_are_translated_one_by_one_and_what_is_between_them_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    translator, model = copier(max_source=12)
    lines = ["One, two?", "", "A first one. A second!  «A third?» The last…", "End."]
    assert texts(translator, lines) == lines
    assert caplog.messages == []
    assert model.widths == [(6, 16)]  # 13 with END, in steps of 4


def test_a_long_sentence_is_cut_between_clauses_or_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    translator, _ = copier(max_source=16)
    lines = ["A first one, a second one  and a third.", "abcdefghijklmnopqrstuvwxyz. Xy."]
    first, second = translator.translate(lines)
    # Only a word that is too long by itself is cut, and gets a space.
    assert first.text == lines[0]
    assert second.text == "abcdefghijklm nopqrstuvwxyz. Xy."
    assert caplog.messages == [
        "line 1: has a sentence longer than 16 tokens, translated in 3 parts",
        "line 2: has a sentence longer than 16 tokens, translated in 2 parts",
    ]
    assert spelt(first.ids) == "A first one,a second oneand a third."
    assert second.score == pytest.approx(-0.125 * (14 + 15 + 4))


def test_only_sentences_above_the_limit_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    translator, _ = copier(max_source=5)
    assert texts(translator, ["ab cd", "ab cde"]) == ["ab cd", "ab cde"]
    assert caplog.messages == ["line 2: has a sentence longer than 5 tokens, translated in 2 parts"]


def test_warnings_number_lines_across_windows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WINDOW", 2)
    translator, _ = copier(max_source=3)
    lines = ["ab", "", "", "abcd", "", "abc abc"]
    assert len(texts(translator, lines)) == 6
    assert [text.split(":")[0] for text in caplog.messages] == ["line 4", "line 6"]


def test_at_most_one_window_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 3)
    read: list[int] = []

    def source() -> Iterator[str]:
        for number in range(10):
            read.append(number)
            yield str(number)

    translations = copier()[0].translate(source())
    assert read == []
    assert [next(translations).text for _ in range(3)] == ["0", "1", "2"]
    assert len(read) == 3
    assert next(translations).text == "3"
    assert len(read) == 6
    assert list(copier()[0].translate([])) == []


def test_fewer_long_lines_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW_CHARACTERS", 10)
    translator, model = copier()
    lines = ["abcdef", "abcdef", "a", "b"]
    assert texts(translator, lines) == lines
    assert [shape[0] for shape in model.widths] == [2, 2]


def test_as_many_lines_are_read_ahead_as_take_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    class Slow(FakeStepModel):
        """A model that needs some time for each character."""

        def encode(self, source):  # type: ignore[no-untyped-def]
            nonlocal now
            now += pace * int((source >= FIRST_CHARACTER_ID).sum())
            return super().encode(source)

    clock = SimpleNamespace(monotonic=lambda: now, perf_counter=lambda: now)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "WINDOW", 200)
    translator = fake_translator(Slow(copying))
    lines = ["line " + "".join(chr(97 + int(digit)) for digit in f"{n:04}") for n in range(600)]

    def windows(seconds: float) -> list[int]:
        """The number of lines that are yielded at each time."""
        times = []
        for line, translation in zip(lines, translator.translate(lines, 1, seconds), strict=True):
            assert translation.text == line
            times.append(now)
        return list(Counter(times).values())

    pace = 0.01
    monkeypatch.setattr(module, "FIRST_SPEED", 1000.0)
    assert windows(1) == [100, *[12] * 41, 8]
    pace = 0.0001
    assert windows(1) == [100, 200, 200, 100]
    assert windows(math.inf) == [200] * 3
    assert windows(0) == [1] * 600


def test_line_breaks_stay_and_those_that_a_model_writes_become_spaces() -> None:
    lines = ["a\nb", "a\r\n\nb", "c\r", "\x0ca\x85"]
    assert texts(copier()[0], lines) == lines

    def breaking(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        ids = [FIRST_CHARACTER_ID + ord(character) for character in "a\r\nb\n"]
        return {ids[len(history)] if len(history) < len(ids) else END_ID: -0.125}

    assert texts(fake_translator(FakeStepModel(breaking)), ["x"]) == ["a b "]


def test_batches_keep_the_budget_and_group_similar_lengths() -> None:
    lines = ["a" * length for length in (1, 9, 2, 30, 4, 4, 4, 9)]
    translator, model = copier(beams=2)
    translator = replace(translator, batch_tokens=40)
    assert texts(translator, lines) == lines
    # 20 tokens per batch at beam size 2; a longer line is a batch by itself.
    assert model.widths == [(1, 32), (2, 12), (4, 8), (1, 4)]
    sizes = [len(rows) for rows in batches_of([5] * 9, 20, 1)]
    assert sizes == [4, 4, 1]


def test_lines_without_letters_stay_as_they_are_and_others_are_never_blank() -> None:
    class Dropping(Characters):
        """Drops a letter, as SentencePiece drops its own mark of a space."""

        def encode(self, lines: Sequence[str]) -> list[list[int]]:
            return [
                [FIRST_CHARACTER_ID + ord(character) for character in x if character != "ª"]
                for x in lines
            ]

    sources: list[tuple[int, ...]] = []

    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        sources.append(source)
        return {END_ID: -0.5} if history else {FIRST_CHARACTER_ID + ord("x"): -0.5}

    tokenizers = TokenizerPair(Dropping(), Dropping())
    search = replace(options(2), n_best=2)
    translator = fake_translator(FakeStepModel(follow), search, tokenizers=tokenizers)
    blank = ["\0", "\x85", "\u2028 \u3000", "\u2060", "\xad", "\u180e", "\ufeff\u200b", "\r\n"]
    translations = list(translator.translate(blank))
    assert [translation.text for translation in translations] == blank
    assert [translation.others[0].text for translation in translations] == blank
    assert sources == []
    assert [translation.text for translation in translator.translate(["ª", "é"])] == ["x", "x"]
    assert set(sources) == {(UNK_ID, END_ID), (FIRST_CHARACTER_ID + ord("é"), END_ID)}
    sources.clear()
    signs = ["▁", "\u0301", "?! 🙂", "1,5"]
    assert [translation.text for translation in translator.translate(signs)] == signs
    assert sources == []


def test_the_search_gets_padded_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(model, source, *others):  # type: ignore[no-untyped-def]
        seen.append(source.copy())
        return original(model, source, *others)

    original = segments.beam_search
    monkeypatch.setattr(segments, "beam_search", spy)
    texts(copier()[0], ["a", "abc"])
    (source,) = seen
    a, b, c = (FIRST_CHARACTER_ID + ord(character) for character in "abc")
    assert source.tolist() == [[a, b, c, END_ID], [a, END_ID, PAD_ID, PAD_ID]]
    assert source.dtype == np.int32


class _Small(FakeStepModel):
    """A model that runs out of memory with larger batches, after step `from_step`."""

    def __init__(self, sentences: int, from_step: int) -> None:
        super().__init__(copying)
        self.sentences = sentences
        self.from_step = from_step

    def step(self, state, tokens, ancestry):  # type: ignore[no-untyped-def]
        if len(tokens) > self.sentences and ancestry.shape[2] > self.from_step:
            raise BatchTooLarge
        return super().step(state, tokens, ancestry)


@pytest.mark.parametrize("from_step", [0, 2])
def test_a_batch_too_large_for_memory_is_halved(
    from_step: int, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["abcd", "", "xyz", "abcde", "abc", "z.z.", "abcdef", "aaaa"]
    translator = fake_translator(_Small(2, from_step))
    assert texts(translator, lines) == lines
    assert caplog.messages == [
        "not enough memory for 7 sentences at a time; trying 3",
        "not enough memory for 3 sentences at a time; trying 1",
        "not enough memory for 4 sentences at a time; trying 2",
    ]


def test_one_sentence_too_large_for_memory_is_an_error() -> None:
    translator = fake_translator(_Small(0, 0), options(3))
    with pytest.raises(NmtError, match="memory .* one sentence of 3 tokens; .*`beam_size`"):
        texts(translator, ["ab"])


@settings(max_examples=20)
@given(st.lists(line, max_size=30), st.integers(2, 5), st.integers(8, 60))
def test_parallel_workers_keep_the_order_of_lines(
    lines: list[str], workers: int, budget: int
) -> None:
    translator, _ = copier()
    serial = list(replace(translator, batch_tokens=budget).translate(lines))
    translations = list(replace(translator, batch_tokens=budget, workers=workers).translate(lines))
    assert translations == serial


def test_workers_run_in_parallel_and_share_small_inputs() -> None:
    meeting = Barrier(3)

    class Waiting(FakeStepModel):
        def encode(self, source):  # type: ignore[no-untyped-def]
            meeting.wait(30)  # passes only when all three workers have arrived
            return super().encode(source)

    model = Waiting(copying)
    translator = fake_translator(model, workers=3)
    assert texts(translator, ["a", "bb", "cc"]) == ["a", "bb", "cc"]
    assert model.widths == [(1, 4)] * 3  # all three would fit in one batch


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    translator = fake_translator(_Small(0, 0), workers=2)
    with pytest.raises(NmtError, match="not enough memory"):
        texts(translator, ["ab", "cd", "ef"])


class TestRepetition:
    """Lines that begin with "z" become a loop; all others are copied."""

    LOOP = "so it goes, " * 6
    LINES = ("a cat", "z", "", "z again", "ha ha ha ha ha", "z" + " ah ah" * 4)
    AGAIN = ("a cat", "so it goes, so it go", "", "so it goes, so it go", "ha ha ha ha ha", LOOP)

    @staticmethod
    def looping(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        if source[0] != FIRST_CHARACTER_ID + ord("z"):
            return copying(source, history)
        loop = TestRepetition.LOOP
        going = len(history) < len(loop)
        token = FIRST_CHARACTER_ID + ord(loop[len(history)]) if going else END_ID
        return {END_ID: -50.0 if len(history) >= 14 else -90.0, token: -0.125}

    def translator(self, **values: int | bool) -> Translator:
        settings = replace(options(values.get("beam_size", 1)), **values)
        return fake_translator(FakeStepModel(self.looping), settings)

    @pytest.mark.parametrize("beams", [1, 3])
    @pytest.mark.parametrize("budget", [1, 30, 1000])
    def test_a_loop_is_searched_again_unless_its_source_loops(
        self, beams: int, budget: int
    ) -> None:
        translator = replace(self.translator(beam_size=beams), batch_tokens=budget)
        assert texts(translator, list(self.LINES)) == list(self.AGAIN)

    def test_a_loop_that_another_token_completes_is_searched_once_more(self) -> None:
        class Words(Characters):
            def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
                return [text.replace("a", "initialized").replace("b", "ized")
                        for text in super().decode(sequences)]  # fmt: skip

            def surfaces(self) -> list[bytes]:
                return [b"initialized", b"ized"]

        def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
            ids = [FIRST_CHARACTER_ID + ord(character) for character in "abbbbb"]
            token = ids[len(history)] if len(history) < len(ids) else END_ID
            return {token: -0.125, END_ID: -9.0}

        words = TokenizerPair(Characters(), Words())
        translator = fake_translator(FakeStepModel(follow), tokenizers=words)
        assert texts(translator, ["x"]) == ["initializedizedized"]

    def test_scores_are_the_models_and_n_best_lists_are_whole(self) -> None:
        (best,) = self.translator(beam_size=2, n_best=2).translate(["z"])
        assert [translation.text for translation in best.n_best] == ["so it goes, so it go", ""]
        assert [translation.score for translation in best.n_best] == [-0.125 * 20 - 50, -90]

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"no_repeat_ngram": 0}, LOOP),
            ({"no_repeat_ngram": 5}, "so it goes, so i"),
            ({"sample": True}, LOOP),
        ],
    )
    def test_only_by_default(self, values: dict[str, int | bool], expected: str) -> None:
        assert texts(self.translator(**values), ["z"]) == [expected]


def test_a_word_is_aligned_within_its_own_part() -> None:
    words = [(0, 1), (2, 3)]
    tokens = tokens_of_words("a b", words, [(2, 3)])
    assert tokens == {1: [0]}
    # All attention is on END, which belongs to no word.
    attention = np.array([[0.0, 1.0]], np.float32)
    assert list(links(tokens, tokens, attention)) == [(1, 1, 0.0)]


@pytest.mark.parametrize("beams", [1, 3])
def test_an_empty_translation_is_searched_again(
    beams: int, caplog: pytest.LogCaptureFixture
) -> None:
    def hasty(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return {END_ID: -0.125, FIRST_CHARACTER_ID + ord("a"): -9.0}

    model = FakeStepModel(hasty)
    translator = fake_translator(model, options(beams))
    assert texts(translator, ["x", "", "y"]) == ["a", "", "a"]
    for once in (replace(options(1), sample=True), replace(options(beams), no_repeat_ngram=0)):
        # Nothing is lost, even if options forbid another search of the same text.
        assert texts(replace(translator, options=once), ["x"]) == ["x"]
    assert caplog.messages == ["line 1: 'x' is left as it is"] * 2


def folding(beams: int = 1) -> Translator:
    return fake_translator(
        FakeStepModel(copying), options(beams), steps=[steps.fold_capitals], keeps_code=True
    )


def spelt(ids: list[int]) -> str:
    return "".join(chr(id_ - FIRST_CHARACTER_ID) for id_ in ids)


def test_a_text_in_capitals_is_translated_as_a_sentence() -> None:
    lines = ["OPEN IT, PLEASE!", "Open it, please!", "", "AVISO É DEZ VEZES MAIOR"]
    translations = list(folding().translate(lines))
    assert [translation.text for translation in translations] == lines
    read = ["Open it, please!", "Open it, please!", "", "Aviso é dez vezes maior"]
    assert [spelt(translation.ids) for translation in translations] == read
    unfolded = copier()[0].translate(lines)
    assert [spelt(translation.ids) for translation in unfolded] == lines


def test_all_translations_of_a_line_in_capitals_are_in_capitals() -> None:
    translator = folding(beams=3)
    translator = replace(translator, options=replace(translator.options, n_best=3))
    (best,) = translator.translate(["OPEN IT"])
    assert len(best.n_best) == 3
    assert all(translation.text == translation.text.upper() for translation in best.n_best)
    assert {spelt(translation.ids) for translation in best.n_best} != {
        translation.text for translation in best.n_best
    }


@pytest.mark.parametrize("line", ["USB", "12345", "THE IBM", "OPEN iT", "-", "SEE HOW"])
def test_abbreviations_and_code_are_not_taken_for_texts_in_capitals(line: str) -> None:
    (translation,) = folding().translate([line])
    assert translation.text == line
    assert spelt(translation.ids) in (line, "")


def test_words_that_a_translation_must_contain_keep_its_case() -> None:
    (translation,) = folding().translate([Line("OPEN IT", ("It",))])
    assert spelt(translation.ids[:7]) == "OPEN IT"  # as the line has it
    (translation,) = folding().translate([Line("OPEN IT", ("IT",))])  # it has the word anyway
    assert (translation.text, spelt(translation.ids)) == ("OPEN IT", "Open it")


def test_a_translation_that_has_its_phrases_anyway_is_searched_once() -> None:
    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        letters = {FIRST_CHARACTER_ID + ord(name): -4.0 for name in "abABCxy"}
        return letters | copying(source, history)

    model = FakeStepModel(follow)
    translator, text = fake_translator(model, options(2, limit=40)), "One, two. A (third) one."
    free, has, lacks = translator.translate(
        [text, Line(text, ("two", "third", " A  (third) ")), Line("ab cd", ("xy",))]
    )
    assert (has.text, has.score, has.ids) == (free.text, free.score, free.ids)
    assert "xy" in lacks.text
    assert [rows for rows, _ in model.widths] == [5, 1]
    (other_case,) = translator.translate([Line("abc", ("ABC",))])
    assert "ABC" in other_case.text


def test_n_best_lists_have_translations_with_the_phrases() -> None:
    def follow(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        if len(history) == 1:
            return {END_ID: -0.125}
        return {FIRST_CHARACTER_ID + ord(name): -place for place, name in enumerate("abc", 1)}

    def texts_of(line: Line, count: int) -> list[str]:
        search = replace(options(4), n_best=count)
        (best,) = fake_translator(FakeStepModel(follow), search).translate([line])
        assert all(translation.others == [] for translation in best.others)
        return [translation.text for translation in best.n_best]

    assert texts_of(Line("x"), 3) == ["a", "b", "c"]
    assert texts_of(Line("x", ("b",)), 1) == ["b"]
    first, *others = texts_of(Line("x", ("a",)), 3)
    assert first == "a"
    assert not {"b", "c"} & set(others)


def test_lines_before_one_with_an_impossible_phrase_are_translated() -> None:
    translator = replace(copier()[0], options=options(limit=6))
    lines = ["ab", Line("cd", ("cd",)), Line("ef", ("too long",)), Line("gh", ("",))]
    translations = translator.translate(lines)
    assert [next(translations).text for _ in range(2)] == ["ab", "cd"]
    with pytest.raises(NmtError, match="line 3: prefix and constraints take 8 tokens"):
        next(translations)
    with pytest.raises(NmtError, match="line 1: '' is blank"):
        next(translator.translate(lines[3:]))


def test_phrases_widen_the_beam_of_their_sentence_only(monkeypatch: pytest.MonkeyPatch) -> None:
    beams = list[tuple[int, int]]()
    search = segments.beam_search

    def recorded(model, source, options, *rest):  # type: ignore[no-untyped-def]
        beams.append((len(source), options.beam_size))
        return search(model, source, options, *rest)

    monkeypatch.setattr(segments, "beam_search", recorded)
    translator = fake_translator(FakeStepModel(copying), options(3, limit=20))
    list(translator.translate(["ab", Line("cd", ("xyz", "x")), Line("ef", ("uv", "w"))]))
    assert beams[0] == (3, 3)
    assert sorted(beams[1:]) == [(1, 3 + 3), (1, 3 + 4)]


def test_a_prefix_keeps_its_case() -> None:
    translator = folding()
    translator = replace(translator, options=replace(translator.options, prefix="OP"))
    (translation,) = translator.translate(["OPEN IT"])
    assert translation.text.startswith("OP")
    assert translation.text == spelt(translation.ids)


def misspelling(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
    """Copy the source, but write B first, and no "u"."""
    kept = [token for token in source[1:] if token != FIRST_CHARACTER_ID + ord("u")]
    return copying((FIRST_CHARACTER_ID + ord("B"), *kept), history)


def test_a_number_stands_in_for_misspelled_code() -> None:
    line, wrong, right = "Call item_count", "Ball item_cont", "Ball item_count"
    assert texts(fake_translator(FakeStepModel(misspelling)), [line]) == [wrong]
    keeping = fake_translator(FakeStepModel(misspelling), keeps_code=True)
    (translation,) = keeping.translate([line])
    assert (translation.text, spelt(translation.ids)) == (right, "Ball 37")
    (best,) = replace(keeping, options=replace(options(3), n_best=3)).translate([line])
    assert best.text == right
    assert len(best.n_best) == 3


def test_words_that_a_translation_must_contain_are_not_corrected() -> None:
    translator = fake_translator(FakeStepModel(misspelling), keeps_code=True)
    (translation,) = translator.translate([Line("Call item_count", ("item_cont",))])
    assert translation.text == "Ball item_cont"
