"""The phrasebook: its splits, its spelling, and its grammar compared with hand-checked examples."""

import bz2
import re
from collections import defaultdict

import pytest

from nmt_cli.data.corpus import SPLITS, sentence_pairs
from nmt_cli.errors import NmtError
from tools.phrasebook import (
    clauses,
    english,
    nouns,
    numbers,
    phrases,
    portuguese,
    subjects,
    table,
    times,
    verbs,
)
from tools.phrasebook.__main__ import FILE
from tools.phrasebook.adjectives import BIG, GOOD, GREEN, USEFUL
from tools.phrasebook.constructions import CONSTRUCTIONS, SET_PHRASES
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Gender, Person
from tools.phrasebook.split import normalised

SIDES = ("pt", "en")
M, F = Gender.MASCULINE, Gender.FEMININE

ALL = [pair for split in SPLITS for pair in sentence_pairs(split)]
TRAIN = {pair["pt"] for pair in sentence_pairs("train")}


def verb(name):
    return next(entry for entry in (*verbs.ACTIONS, *verbs.STATES) if entry.pt == name)


# Splits


def test_sizes():
    assert 20_000 <= len(sentence_pairs("train")) <= 30_000
    assert len(sentence_pairs("dev")) == 300
    assert len(sentence_pairs("test")) == 1000


def test_unknown_split():
    with pytest.raises(NmtError, match="phrasebook:valid: no such split"):
        sentence_pairs("valid")


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


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_constructions_agree_with_each_other(name):
    """The grammar is one-to-one beyond the sample: new draws do not contradict it."""
    to_english = {pair["pt"]: pair["en"] for pair in ALL}
    to_portuguese = {pair["en"]: pair["pt"] for pair in ALL}
    draw = Draw(f"another {name}")
    for _ in range(150):
        pt, en = CONSTRUCTIONS[name](draw)
        assert to_english.setdefault(pt, en) == en
        assert to_portuguese.setdefault(en, pt) == pt


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_every_construction_occurs_in_training(name):
    draw = Draw(name)
    assert sum(CONSTRUCTIONS[name](draw).pt in TRAIN for _ in range(50)) >= 25


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


def test_variety():
    assert len(CONSTRUCTIONS) >= 100
    lengths = {len(pair["en"].split()) for pair in ALL}
    assert set(range(1, 14)) <= lengths


def test_the_grammar_generates_the_packaged_file():
    """If this fails after a change to the grammar, run python -m tools.phrasebook."""
    assert bz2.decompress(FILE.read_bytes()).decode("utf-8") == table()


# Spelling


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


# Grammar


@pytest.mark.parametrize(
    ("preposition", "phrase", "expected"),
    [
        ("de", "o carro", "do carro"),
        ("de", "aquelas lojas", "daquelas lojas"),
        ("de", "ela", "dela"),
        ("de", "um livro", "de um livro"),
        ("de", "Ana", "de Ana"),
        ("em", "a mesa", "na mesa"),
        ("em", "estes livros", "nestes livros"),
        ("em", "minha casa", "na minha casa"),
        ("a", "o mercado", "ao mercado"),
        ("a", "a escola", "à escola"),
        ("a", "aquele filme", "àquele filme"),
        ("por", "o parque", "pelo parque"),
        ("em frente a", "a igreja", "em frente à igreja"),
        ("perto de", "os hotéis", "perto dos hotéis"),
    ],
)
def test_contract(preposition, phrase, expected):
    assert portuguese.contract(preposition, phrase) == expected


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("maçã", "maçãs"), ("pão", "pães"), ("limão", "limões"), ("mão", "mãos"),
        ("homem", "homens"), ("mulher", "mulheres"), ("jornal", "jornais"), ("hotel", "hotéis"),
        ("azul", "azuis"), ("fácil", "fáceis"), ("confortável", "confortáveis"),
        ("feliz", "felizes"), ("francês", "franceses"), ("ônibus", "ônibus"), ("lápis", "lápis"),
    ],
)  # fmt: skip
def test_portuguese_plural(singular, plural):
    assert portuguese.plural(singular) == plural


@pytest.mark.parametrize(
    ("adjective", "gender", "many", "expected"),
    [
        ("vermelho", F, True, "vermelhas"), ("bom", F, False, "boa"), ("verde", F, False, "verde"),
        ("inglês", F, True, "inglesas"), ("alemão", F, False, "alemã"), ("útil", M, True, "úteis"),
        ("espanhol", M, True, "espanhóis"), ("jovem", M, True, "jovens"),
    ],
)  # fmt: skip
def test_agreement(adjective, gender, many, expected):
    assert portuguese.agree(adjective, gender, many) == expected


@pytest.mark.parametrize(
    ("infinitive", "present", "past"),
    [
        ("comprar", "compro compra compramos compram", "comprei comprou compramos compraram"),
        ("comer", "como come comemos comem", "comi comeu comemos comeram"),
        ("abrir", "abro abre abrimos abrem", "abri abriu abrimos abriram"),
        ("tocar", "toco toca tocamos tocam", "toquei tocou tocamos tocaram"),
        ("pegar", "pego pega pegamos pegam", "peguei pegou pegamos pegaram"),
        ("dirigir", "dirijo dirige dirigimos dirigem", "dirigi dirigiu dirigimos dirigiram"),
        (
            "esquecer",
            "esqueço esquece esquecemos esquecem",
            "esqueci esqueceu esquecemos esqueceram",
        ),
        ("fazer", "faço faz fazemos fazem", "fiz fez fizemos fizeram"),
        ("ler", "leio lê lemos leem", "li leu lemos leram"),
        ("ver", "vejo vê vemos veem", "vi viu vimos viram"),
        ("ir", "vou vai vamos vão", "fui foi fomos foram"),
        ("dar", "dou dá damos dão", "dei deu demos deram"),
        ("trazer", "trago traz trazemos trazem", "trouxe trouxe trouxemos trouxeram"),
        ("perder", "perco perde perdemos perdem", "perdi perdeu perdemos perderam"),
        ("ouvir", "ouço ouve ouvimos ouvem", "ouvi ouviu ouvimos ouviram"),
        ("dormir", "durmo dorme dormimos dormem", "dormi dormiu dormimos dormiram"),
        ("sair", "saio sai saímos saem", "saí saiu saímos saíram"),
        ("ter", "tenho tem temos têm", "tive teve tivemos tiveram"),
    ],
)
def test_conjugation(infinitive, present, past):
    persons = (Person.I, Person.HE, Person.WE, Person.THEY)
    assert " ".join(portuguese.present(infinitive, person) for person in persons) == present
    assert " ".join(portuguese.past(infinitive, person) for person in persons) == past


@pytest.mark.parametrize(
    ("infinitive", "command"),
    [
        ("comprar", "compre"), ("tocar", "toque"), ("jogar", "jogue"), ("abrir", "abra"),
        ("ler", "leia"), ("fazer", "faça"), ("trazer", "traga"), ("ouvir", "ouça"), ("dar", "dê"),
    ],
)  # fmt: skip
def test_command(infinitive, command):
    assert portuguese.command(infinitive) == command


@pytest.mark.parametrize(
    ("base", "third", "past", "gerund"),
    [
        ("play", "plays", "played", "playing"), ("study", "studies", "studied", "studying"),
        ("watch", "watches", "watched", "watching"), ("dance", "dances", "danced", "dancing"),
        ("travel", "travels", "travelled", "travelling"),
    ],
)  # fmt: skip
def test_english_verbs(base, third, past, gerund):
    assert english.present(base, Person.HE) == third
    assert english.past(base) == past
    assert english.gerund(base) == gerund


@pytest.mark.parametrize(
    ("number", "gender", "pt", "en"),
    [
        (2, M, "dois", "two"),
        (2, F, "duas", "two"),
        (21, F, "vinte e uma", "twenty-one"),
        (42, F, "quarenta e duas", "forty-two"),
        (100, M, "cem", "one hundred"),
        (120, M, "cento e vinte", "one hundred and twenty"),
        (202, F, "duzentas e duas", "two hundred and two"),
        (999, M, "novecentos e noventa e nove", "nine hundred and ninety-nine"),
    ],
)
def test_numbers(number, gender, pt, en):
    assert numbers.spelt(number, gender) == (pt, en)


def test_numbers_out_of_range():
    with pytest.raises(ValueError, match="1000"):
        numbers.spelt(1000)


@pytest.mark.parametrize(
    ("number", "ordinal"),
    [(1, "first"), (12, "twelfth"), (20, "twentieth"), (23, "twenty-third"), (30, "thirtieth")],
)
def test_ordinals(number, ordinal):
    assert numbers.english_ordinal(number) == ordinal


@pytest.mark.parametrize(
    ("hour", "minute", "pt", "en"),
    [
        (1, 0, "uma hora", "one o'clock"),
        (3, 0, "três horas", "three o'clock"),
        (2, 30, "duas e meia", "half past two"),
        (7, 15, "sete e quinze", "a quarter past seven"),
    ],
)
def test_clock(hour, minute, pt, en):
    assert times.clock(hour, minute) == (pt, en)
    assert times.clock_before(4, 10) == ("dez para as quatro", "ten to four")


def test_noun_phrases():
    (apple, book, bread, map_) = nouns.named("maçã livro pão mapa")
    teacher = phrases.the(*nouns.named("professora"))
    expected = [
        (phrases.counted(2, apple, GREEN), "duas maçãs verdes", "two green apples"),
        (phrases.a(apple), "uma maçã", "an apple"),
        (phrases.a(map_, USEFUL), "um mapa útil", "a useful map"),
        (phrases.a(book, GOOD), "um bom livro", "a good book"),
        (phrases.the(apple, BIG, many=True), "as maçãs grandes", "the big apples"),
        (phrases.this(book, many=True), "estes livros", "these books"),
        (phrases.that(apple), "aquela maçã", "that apple"),
        (phrases.bare(bread), "pão", "bread"),
        (phrases.many_of(apple), "muitas maçãs", "many apples"),
        (phrases.owned(Person.I, apple, many=True), "minhas maçãs", "my apples"),
        (phrases.owned_by(phrases.HER, book), "o livro dela", "her book"),
        (phrases.belonging(teacher, book), "o livro da professora", "the teacher's book"),
    ]
    for phrase, pt, en in expected:
        assert (phrase.pt, phrase.en) == (pt, en)


def test_clauses():
    (apple, film) = nouns.named("maçã filme")
    want, watch, like = verb("querer"), verb("assistir"), verbs.LIKING
    she, we, you = subjects.SHE, subjects.WE, subjects.YOU
    apples = clauses.with_object(want, phrases.counted(2, apple, GREEN))
    the_film = clauses.with_object(watch, phrases.the(film))
    liked = clauses.with_object(like, phrases.this(film))
    HE, WE, YOU = Person.HE, Person.WE, Person.YOU
    expected = [
        (
            clauses.statement(clauses.deny(she, clauses.present(want, HE), apples)),
            "Ela não quer duas maçãs verdes.",
            "She does not want two green apples.",
        ),
        (
            clauses.statement(clauses.affirm(we, clauses.past(watch, WE), the_film)),
            "Nós assistimos ao filme.",
            "We watched the film.",
        ),
        (
            clauses.question(clauses.ask(you, clauses.going_to(watch, YOU), the_film)),
            "Você vai assistir ao filme?",
            "Are you going to watch the film?",
        ),
        (
            clauses.question(clauses.ask(she, clauses.going_on(watch, HE), the_film)),
            "Ela está assistindo ao filme?",
            "Is she watching the film?",
        ),
        (
            clauses.question(clauses.ask(you, clauses.present(like, YOU), liked)),
            "Você gosta deste filme?",
            "Do you like this film?",
        ),
        (
            clauses.statement(clauses.deny(we, clauses.governed(clauses.CAN, watch, WE), the_film)),
            "Nós não podemos assistir ao filme.",
            "We cannot watch the film.",
        ),
        (
            clauses.statement(
                clauses.affirm(she, clauses.governed(clauses.HAVE, watch, HE), the_film)
            ),
            "Ela tem que assistir ao filme.",
            "She has to watch the film.",
        ),
    ]
    for clause, pt, en in expected:
        assert (clause.pt, clause.en) == (pt, en)


# One sentence per construction, checked by hand in both languages.
ORACLE = """\
habit | O homem toca piano à noite. | The man plays the piano at night.
habit_denied | Nosso pai não vende tomates doces todas as semanas. | Our father does not sell sweet tomatoes every week.
habit_asked | O turista compra bonecas de manhã? | Does the tourist buy dolls in the morning?
frequency | Ele raramente pega táxis. | He rarely takes taxis.
past | Ana jogou xadrez ontem. | Ana played chess yesterday.
past_denied | A filha dela não cozinhou na sexta-feira passada. | Her daughter did not cook last Friday.
past_asked | João ouviu a professora ontem? | Did João listen to the teacher yesterday?
plan | Ela vai visitar nossa tia na quarta-feira. | She is going to visit our aunt on Wednesday.
plan_denied | O tio dele não vai dirigir os carros verdes na segunda-feira. | His uncle is not going to drive the green cars on Monday.
plan_asked | Pedro vai jogar tênis amanhã? | Is Pedro going to play tennis tomorrow?
ongoing | Seu irmão está chamando a mulher. | Your brother is calling the woman.
ongoing_denied | Eles não estão consertando aquela cadeira agora. | They are not repairing that chair now.
ongoing_asked | Eles estão trabalhando? | Are they working?
state | A criança conhece este turista. | The child knows this tourist.
state_denied | Eu não preciso das suas peras. | I do not need your pears.
state_asked | Pedro precisa de peixe quente? | Does Pedro need hot fish?
modal | A criança precisa alugar três barcos pretos. | The child needs to rent three black boats.
modal_denied | O filho dele não tem que usar duas canetas novas. | His son does not have to use two new pens.
modal_asked | Ana pode carregar uma caixa leve? | Can Ana carry a light box?
wish | Meus tios gostariam de trabalhar? | Would my uncles like to work?
command | Assista a dois filmes! | Watch two films!
prohibition | Não jogue futebol! | Do not play football!
suggestion | Vamos pegar um avião velho no sábado! | Let's take an old plane on Saturday!
portion | Minha avó comprou dois copos de suco ontem à noite. | My grandmother bought two glasses of juice last night.
weight | A enfermeira não precisa de nove quilos de limões. | The nurse does not need nine kilos of lemons.
giving | Nosso tio mostrou a casa barata a João na semana passada. | Our uncle showed the cheap house to João last week.
giving_planned | Ana não vai mostrar a mala ao nosso tio. | Ana is not going to show the suitcase to our uncle.
giving_asked_for | Você pode emprestar a chave velha à tia deles? | Can you lend the old key to their aunt?
liking | Eu não gosto dos nossos bolos. | I do not like our cakes.
pastime | Eles não gostam de viajar às sextas-feiras. | They do not like to travel on Fridays.
offer | Quem quer bananas? | Who wants bananas?
what | O que a professora vai ensinar na sexta-feira? | What is the teacher going to teach on Friday?
where | Onde a mãe dele trabalha? | Where does his mother work?
when | Quando nossa filha vai procurar um telefone velho? | When is our daughter going to look for an old phone?
why | Por que ele está estudando alemão? | Why is he studying German?
why_mood | Por que a mulher está doente? | Why is the woman ill?
who | Quem vai comprar a laranja amanhã de manhã? | Who is going to buy the orange tomorrow morning?
which | Qual vestido ela prefere? | Which dress does she prefer?
how_many | Quantos filhos meu irmão tem? | How many sons does my brother have?
how_often | Com que frequência o filho dela compra limões doces? | How often does her son buy sweet lemons?
how_to_get | Como sua filha pode chegar ao hospital? | How can your daughter get to the hospital?
going_usually | Nós vamos ao parque à noite. | We go to the park at night.
going_tomorrow | As professoras vão ao mercado hoje à noite? | Are the teachers going to the market tonight?
went | Ele foi à universidade na segunda-feira passada. | He went to the university last Monday.
wanting_to_go | Você não deve ir ao banco amanhã de manhã. | You must not go to the bank tomorrow morning.
outing | Vamos ao banco de ônibus! | Let's go to the bank by bus!
coming_back | Ele vai voltar da escola na quinta-feira. | He is going to come back from school on Thursday.
strolling | Meus filhos não caminham pelo museu aos domingos. | My sons do not walk through the museum on Sundays.
travelling | A mulher não vai viajar para Nova York de trem na próxima semana. | The woman is not going to travel to New York by train next week.
living | A avó dele não estuda em Lisboa. | His grandmother does not study in Lisbon.
company | Meus amigos foram à padaria com nosso tio ontem? | Did my friends go to the bakery with our uncle yesterday?
staying | Ela estava na escola ontem à noite. | She was at school last night.
doing_somewhere | O vizinho dele está correndo na praça? | Is his neighbour running in the square?
traffic | Este ônibus não chega à igreja às dez e dez. | This bus does not arrive at the church at ten past ten.
where_is | Onde fica o museu mais próximo? | Where is the nearest museum?
where_are_things | Onde estão os carros dele? | Where are his cars?
neighbours | O banco fica em frente à biblioteca? | Is the bank in front of the library?
between | A praia fica entre o aeroporto e a igreja. | The beach is between the airport and the church.
thing_in_place | Suas bonecas estão no sofá. | Your dolls are on the sofa.
there_is | Há onze cartas na mesa. | There are eleven letters on the table.
there_was | Havia uma câmera ao lado do carro. | There was a camera next to the car.
there_is_none | Não há batatas na mesa. | There are no potatoes on the table.
is_there_nearby | Há um banco moderno perto da loja? | Is there a modern bank near the shop?
direction | Vire à esquerda depois da loja. | Turn left after the shop.
distance | A escola fica a dez minutos do parque. | The school is ten minutes from the park.
waiting_place | Espere por mim em frente à universidade. | Wait for me in front of the university.
entrance | A porta do restaurante está aberta? | Is the door of the restaurant open?
quality | A mala dela é branca. | Her suitcase is white.
quality_denied | O ovo não está quente. | The egg is not hot.
quality_asked | As chaves deles são úteis? | Are their keys useful?
quality_past | O limão era muito caro. | The lemon was very expensive.
too_much | Suas saias são curtas demais. | Your skirts are too short.
comparison | A casa é menor do que o apartamento. | The house is smaller than the apartment.
equality | Este restaurante não é tão bonito quanto aquele restaurante. | This restaurant is not as beautiful as that restaurant.
superlative | Este é o pássaro mais jovem do mundo? | Is this the youngest bird in the world?
wonder | Que faca pequena! | What a small knife!
colour | De que cor é a caneta deles? | What colour is their pen?
whose | De quem são aqueles casacos? | Whose coats are those?
mine | Os telefones são dela. | The phones are hers.
belonging | A camisa da minha mãe não é azul. | My mother's shirt is not blue.
mood | O homem não está muito triste. | The man is not very sad.
mood_past | Eu estava doente ontem à noite. | I was ill last night.
trait | João não é jovem e forte. | João is not young and strong.
feeling | Nós não estamos com fome agora. | We are not hungry now.
ache | Paulo está com dor de cabeça? | Does Paulo have a headache?
pain | O braço de Pedro não dói muito. | Pedro's arm does not hurt a lot.
age | Você não tem cinquenta e cinco anos. | You are not fifty-five years old.
how_old | Quantos anos Ana tem? | How old is Ana?
origin | Meus amigos não são do Canadá. | My friends are not from Canada.
residence | Eles estudam no Canadá? | Do they study in Canada?
nationality | Ele não é português. | He is not Portuguese.
trade | Pedro é cozinheiro? | Is Pedro a cook?
speaking | Minha avó fala italiano e inglês? | Does my grandmother speak Italian and English?
naming | O nome do nosso amigo é Paulo. | Our friend's name is Paulo.
introducing | Este é meu irmão Pedro. | This is my brother Pedro.
price | As canetas custam quinze dólares. | The pens cost fifteen dollars.
how_much | Quanto custa a pera? | How much does the pear cost?
paying | Júlia pagou nove dólares por aqueles tomates ontem. | Júlia paid nine dollars for those tomatoes yesterday.
addition | Dois mais quinze são dezessete. | Two plus fifteen is seventeen.
time_of_day | São onze e vinte e cinco. | It is twenty-five past eleven.
departure | O trem de Madri chega às sete e dez. | The train from Madrid arrives at ten past seven.
opening_hours | O museu fecha às cinco e dez. | The museum closes at ten past five.
show_time | A aula termina às doze horas. | The lesson ends at twelve o'clock.
routine | Ela sai de casa às duas horas. | She leaves home at two o'clock.
today | Amanhã é dia vinte e quatro de abril. | Tomorrow is the twenty-fourth of April.
occasion | O jogo é no dia dezoito de novembro. | The game is on the eighteenth of November.
raining | Está chovendo neste momento. | It is raining at the moment.
rained | Nevou muito em Londres no ano passado. | It snowed a lot in London last year.
rain_expected | Vai chover em Lisboa na terça-feira? | Is it going to rain in Lisbon on Tuesday?
climate | Neva muito em fevereiro. | It snows a lot in February.
temperature | Estava quente em Nova York na sexta-feira passada. | It was hot in New York last Friday.
because_of_past | Ele está feliz porque ele encontrou um cachorro ontem. | He is happy because he found a dog yesterday.
because_of_mood | Você não quer fazer sopa porque você está doente. | You do not want to make soup because you are ill.
contrast | Ele gosta de tênis, mas ele não gosta de xadrez. | He likes tennis, but he does not like chess.
weather_habit | Quando chove, eu trabalho. | When it rains, I work.
weather_plan | Se chover amanhã de manhã, Júlia vai beber vinho. | If it rains tomorrow morning, Júlia is going to drink wine.
belief | Ana sabe que o teatro é novo. | Ana knows that the theatre is new.
pair_of_objects | Ele gosta de pão e batatas. | He likes bread and potatoes.
pair_of_people | Júlia e Ana viram o cachorro jovem na segunda-feira passada. | Júlia and Ana saw the young dog last Monday.
order_of_actions | Ele nunca estuda depois de nadar. | He never studies after swimming.
"""  # noqa: E501


@pytest.mark.parametrize("line", ORACLE.strip().splitlines())
def test_oracle(line):
    name, pt, en = line.split(" | ")
    draw = Draw(name)
    assert (pt, en) in {tuple(CONSTRUCTIONS[name](draw)) for _ in range(400)}
