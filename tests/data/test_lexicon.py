"""Translations learned by IBM model 1, and the tables of shortlists, from corpora small enough to
work through by hand."""

from types import SimpleNamespace

import numpy as np

from nmt_cli.data.lexicon import learn_translations, sample, shortlist_tables
from nmt_cli.data.prepared import TokenArray
from nmt_cli.text.tokenizer import END_ID, START_ID, UNK_ID

# Source tokens 4 and 5, target tokens 6 and 7. After one iteration, t(6 | 4) = 1.5 / 2 and
# t(6 | 5) = t(7 | 5) = 1 / 2. In the second, 5 gets 0.5 / (0.75 + 0.5) of 6, 0.5 / (0.25 + 0.5)
# of 7, and translates to 7.
SOURCE, TARGET = TokenArray.of([[4, 5], [4]]), TokenArray.of([[6, 7], [6]])


def tokenizer(*pieces: str) -> SimpleNamespace:
    return SimpleNamespace(vocab_size=len(pieces), tokens=lambda ids: [pieces[x] for x in ids])


def test_translations_of_two_sentences() -> None:
    lexicon = learn_translations(SOURCE, TARGET, 8)
    assert {token: ids.tolist() for token, ids in lexicon.items()} == {4: [6, 7], 5: [7, 6]}


def test_tables_begin_with_what_is_always_needed_and_with_copies() -> None:
    special = ("<pad>", "<unk>", "<s>", "</s>")
    pair = SimpleNamespace(
        source=tokenizer(*special, "um", "dois", "x"),
        target=tokenizer(*special, "x", "y", "one", "two"),
    )
    filling, table = shortlist_tables(SOURCE, TARGET, pair, 7, 2)  # type: ignore[arg-type]
    # 6 occurs twice, 7 once; PAD and START come last.
    assert filling.tolist() == [UNK_ID, END_ID, 6, 7, 4, 5, 0]
    assert table[START_ID].tolist() == [START_ID, END_ID]
    assert table[4:].tolist() == [[6, 7], [7, 6], [4, END_ID]]


def test_samples_are_even_and_keep_pairs_together() -> None:
    sides = TokenArray.of([[row] * 2 for row in range(10)]), TokenArray.of([[r] for r in range(10)])
    source, target = sample(*sides, token_pairs=8)  # of 20
    assert source.ids.tolist() == np.repeat(target.ids, 2).tolist()
    assert target.ids.tolist() == [0, 3, 6, 9]
