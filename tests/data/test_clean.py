"""Which pairs are dropped, and why."""

from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.corpus import Corpus
from nmt_cli.data.pairs import SHORT_CHARACTERS, clean, report
from nmt_cli.recipe.config import DataConfig

CONFIG = DataConfig(max_characters=50, max_ratio=2.0)


def cleaned(*pairs: tuple[str, str]) -> tuple[list[tuple[str, str]], dict[str, int]]:
    corpus = Corpus("c", [source for source, _ in pairs], [target for _, target in pairs])
    kept, counts = clean([corpus], CONFIG, set())
    assert kept.name == "train"
    return list(zip(kept.source, kept.target, strict=True)), counts


def nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {key: count for key, count in counts.items() if count}


def test_each_dropped_pair_is_counted_under_one_reason() -> None:
    good = ("um dois", "one two")
    pairs = [
        good,
        (" \t", "empty"),
        ("vazio", ""),
        ("", ""),
        ("a" * 51, "b" * 49),
        ("a", "b" * 51),  # too long before its ratio counts
        ("a" * 41, "b" * 20),
        (" um dois ", "one two\u3000"),  # the same pair except for outer white space
        ("um dois", "one, two"),
        ("Um dois", "one two"),
    ]
    kept, counts = cleaned(*pairs)
    assert kept == [good, ("um dois", "one, two"), ("Um dois", "one two")]
    assert nonzero(counts) == {
        "read": 10,
        "empty": 3,
        "too_long": 2,
        "ratio": 1,
        "duplicate": 1,
        "kept": 3,
    }


def test_pairs_at_the_limits_are_kept() -> None:
    edges = [
        ("a" * 50, "b" * 25),  # longest, and at the ratio
        ("a" * 25, "b" * 50),
        ("a" * SHORT_CHARACTERS, "b"),  # short: the ratio is not checked
        ("a", "b" * SHORT_CHARACTERS),
    ]
    assert cleaned(*edges)[0] == edges
    assert cleaned(("a" * (SHORT_CHARACTERS + 1), "b" * 10))[1]["ratio"] == 1
    assert cleaned(("a" * 10, "b" * (SHORT_CHARACTERS + 1)))[1]["ratio"] == 1


def test_duplicates_are_found_across_corpora_and_the_first_stays() -> None:
    first, second = Corpus("1", ["a", "b"], ["x", "y"]), Corpus("2", ["c", "a"], ["z", "x"])
    kept, counts = clean([first, second], CONFIG, set())
    assert (kept.source, kept.target) == (["a", "b", "c"], ["x", "y", "z"])
    assert (counts["read"], counts["duplicate"]) == (4, 1)
    assert second.source == ["c", "a"]  # the input is not changed


def test_pairs_seen_before_are_duplicates_too() -> None:
    seen: set[tuple[str, str]] = set()
    clean([Corpus("real", ["a", "b"], ["x", "y"])], CONFIG, seen)
    kept, counts = clean([Corpus("made", ["b", "c", "c"], ["y", "z", "z"])], CONFIG, seen)
    assert (kept.source, kept.target) == (["c"], ["z"])
    assert (counts["read"], counts["duplicate"]) == (3, 2)


def test_nothing_to_clean() -> None:
    kept, counts = clean([], CONFIG, set())
    assert len(kept) == 0
    assert not nonzero(counts)


def test_the_report_has_one_line_per_reason() -> None:
    keys = ("read", "empty", "too_long", "ratio", "duplicate", "too_many_tokens", "kept")
    lines = report(dict(zip(keys, (1234567, 2, 3, 4, 5, 6, 1234547), strict=True)))
    assert [line.split()[-1] for line in lines] == ["1,234,567", *"23456", "1,234,547"]
    assert lines[0].startswith("pairs read")
    assert len({len(line) for line in lines}) == 1  # aligned


texts = st.one_of(st.text("ab \t", max_size=5), st.integers(0, 60).map(lambda size: "x" * size))


@given(st.lists(st.tuples(texts, texts)))
def test_counts_add_up_and_cleaning_twice_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    kept, counts = cleaned(*pairs)
    dropped = sum(counts[key] for key in ("empty", "too_long", "ratio", "duplicate"))
    assert counts["read"] == len(pairs) == dropped + counts["kept"]
    assert counts["kept"] == len(kept)
    again, counts = cleaned(*kept)
    assert again == kept
    assert counts["read"] == counts["kept"] == sum(counts.values()) / 2 == len(kept)
    stripped = iter([(source.strip(), target.strip()) for source, target in pairs])
    assert all(pair in stripped for pair in kept)  # in order
