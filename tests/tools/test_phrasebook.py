"""The phrasebook in the package: its splits, its spelling, and how it is generated."""

import bz2
import re
from collections import defaultdict

import pytest

from nmt_cli.data.corpus import SPLITS, sentence_pairs
from tools.phrasebook import table
from tools.phrasebook.__main__ import FILE
from tools.phrasebook.constructions import CONSTRUCTIONS, SET_PHRASES
from tools.phrasebook.draw import Draw
from tools.phrasebook.split import normalised

SIDES = ("pt", "en")

ALL = [pair for split in SPLITS for pair in sentence_pairs(split)]


def test_the_grammar_generates_the_packaged_file():
    """If this fails after a change to the grammar, run python -m tools.phrasebook."""
    assert bz2.decompress(FILE.read_bytes()).decode("utf-8") == table()


def test_sizes():
    assert 20_000 <= len(sentence_pairs("train")) <= 30_000
    assert len(sentence_pairs("dev")) == 300
    assert len(sentence_pairs("test")) == 1000


def test_pairs_are_distinct():
    assert len({(pair["pt"], pair["en"]) for pair in ALL}) == len(ALL)


@pytest.mark.parametrize("side", SIDES)
def test_no_sentence_in_two_splits(side):
    owner = {}
    for split in SPLITS:
        for pair in sentence_pairs(split):
            assert owner.setdefault(normalised(pair[side]), split) == split, pair


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("split", ["dev", "test"])
def test_every_word_occurs_in_training(split, side):
    def words(name):
        return {word for pair in sentence_pairs(name) for word in normalised(pair[side]).split()}

    assert words(split) <= words("train")


@pytest.mark.parametrize(("source", "target"), [SIDES, SIDES[::-1]])
def test_every_sentence_has_one_translation(source, target):
    translations = defaultdict(set)
    for pair in ALL:
        translations[pair[source]].add(pair[target])
    assert [sentence for sentence, given in translations.items() if len(given) > 1] == []


def test_held_out_pairings_occur_only_in_test():
    """Pairs that are drawn as held out for the test set do not occur in train or dev."""
    taught = {
        (pair["pt"], pair["en"]) for split in ("train", "dev") for pair in sentence_pairs(split)
    }
    held_out = 0
    for name, construct in CONSTRUCTIONS.items():
        draw = Draw(name)
        for _ in range(150):
            pair = construct(draw)
            if draw.take_held_out():
                held_out += 1
                assert (pair.pt, pair.en) not in taught
    assert held_out > 300


def test_set_phrases_are_for_training_only():
    train = sentence_pairs("train")
    assert {"pt": "Bom dia!", "en": "Good morning!"} in train
    assert {"pt": "Obrigado.", "en": "Thank you."} in train
    assert all({"pt": phrase.pt, "en": phrase.en} in train for phrase in SET_PHRASES)


@pytest.mark.parametrize("side", SIDES)
def test_spelling(side):
    letters = {"pt": "A-Za-zÀ-ÿ", "en": "A-Za-zãúÃÚ"}[side]
    sentence = re.compile(rf"[{letters}]+(?:(?:, |[ '-]|' )[{letters}]+)*[.?!]")
    for pair in ALL:
        assert sentence.fullmatch(pair[side]), pair
        assert pair[side][0].isupper(), pair


def test_same_final_mark():
    assert all(pair["pt"][-1] == pair["en"][-1] for pair in ALL)


def test_english_articles():
    for pair in ALL:
        for article, word in re.findall(r"\b([Aa]n?) (\w+)", pair["en"]):
            vowel = word[0].lower() in "aeiou" and word not in ("useful", "university")
            assert (article.lower() == "an") == vowel, pair


def test_portuguese_contractions():
    determiners = r"os?|as?|meus?|minhas?|seus?|suas?|nossos?|nossas?"
    apart = re.compile(
        rf"\b(?:de|em|a|por) (?:{determiners})\b"
        r"|\b(?:de|em) (?:est[ea]s?|aquel[ea]s?)\b|\bde (?:eles?|elas?)\b|\ba aquel[ea]s?\b",
        re.IGNORECASE,
    )
    assert [pair["pt"] for pair in ALL if apart.search(pair["pt"])] == []


# One pair of each kind of construction, checked by hand in both languages.
CHECKED = """\
Nosso pai não vende tomates doces todas as semanas. | Our father does not sell sweet tomatoes every week.
João ouviu a professora ontem? | Did João listen to the teacher yesterday?
O tio dele não vai dirigir os carros verdes na segunda-feira. | His uncle is not going to drive the green cars on Monday.
Eles não estão consertando aquela cadeira agora. | They are not repairing that chair now.
A criança precisa alugar três barcos pretos. | The child needs to rent three black boats.
Não jogue futebol! | Do not play football!
Minha avó comprou dois copos de suco ontem à noite. | My grandmother bought two glasses of juice last night.
Você pode emprestar a chave velha à tia deles? | Can you lend the old key to their aunt?
Com que frequência o filho dela compra limões doces? | How often does her son buy sweet lemons?
As professoras vão ao mercado hoje à noite? | Are the teachers going to the market tonight?
Meus filhos não caminham pelo museu aos domingos. | My sons do not walk through the museum on Sundays.
Este ônibus não chega à igreja às dez e dez. | This bus does not arrive at the church at ten past ten.
Onde fica o museu mais próximo? | Where is the nearest museum?
A praia fica entre o aeroporto e a igreja. | The beach is between the airport and the church.
Não há batatas na mesa. | There are no potatoes on the table.
"""  # noqa: E501


@pytest.mark.parametrize("line", CHECKED.splitlines())
def test_pairs_checked_by_hand(line):
    pt, en = line.split(" | ")
    assert {"pt": pt, "en": en} in ALL
