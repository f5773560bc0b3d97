"""About people: moods, feelings, pain, age, origin, trade and family."""

from tools.phrasebook import adjectives, clauses, english, phrases, portuguese, times, verbs
from tools.phrasebook.clauses import ask, question, statement
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Adjective, Gender, NounPhrase, Person, Text, Verb
from tools.phrasebook.nouns import BODY, FAMILY, STRANGERS, named
from tools.phrasebook.numbers import spelt
from tools.phrasebook.subjects import NAMES, YOU, I, acquaintance, another, anyone, someone
from tools.phrasebook.variation import vary

_FEELINGS = (
    Text("fome", "hungry"),
    Text("sede", "thirsty"),
    Text("sono", "sleepy"),
    Text("frio", "cold"),
    Text("calor", "hot"),
    Text("medo", "afraid"),
    Text("pressa", "in a hurry"),
)
_ACHES = (
    Text("dor de cabeça", "a headache"),
    Text("dor de dente", "toothache"),
    Text("febre", "a fever"),
    Text("tosse", "a cough"),
)
_COUNTRIES = (
    Text("o Brasil", "Brazil"),
    Text("Portugal", "Portugal"),
    Text("a França", "France"),
    Text("a Itália", "Italy"),
    Text("a Alemanha", "Germany"),
    Text("a Espanha", "Spain"),
    Text("o Canadá", "Canada"),
    Text("o Japão", "Japan"),
    Text("os Estados Unidos", "the United States"),
)
_NATIONALITIES = (
    Adjective("brasileiro", "Brazilian"),
    Adjective("português", "Portuguese"),
    Adjective("francês", "French"),
    Adjective("italiano", "Italian"),
    Adjective("alemão", "German"),
    Adjective("espanhol", "Spanish"),
    Adjective("inglês", "English"),
)
# Masculine, feminine and English; the article a or an is added.
_TRADES = (
    ("médico", "médica", "doctor"),
    ("professor", "professora", "teacher"),
    ("advogado", "advogada", "lawyer"),
    ("engenheiro", "engenheira", "engineer"),
    ("cozinheiro", "cozinheira", "cook"),
    ("enfermeiro", "enfermeira", "nurse"),
    ("ator", "atriz", "actor"),
)
_RECENTLY = (clauses.NOTHING, Text("hoje", "today"), Text("agora", "now"))


def _with_mood(draw: Draw) -> tuple[NounPhrase, Text]:
    subject = anyone(draw)
    genderless = subject.person in (Person.I, Person.YOU)
    word = draw.one(adjectives.GENDERLESS_MOODS if genderless else adjectives.MOODS)
    pt = portuguese.agree(word.pt, subject.gender, subject.person.plural)
    if draw.chance(0.25) and word is not adjectives.READY:
        return subject, Text(f"muito {pt}", f"very {word.en}")
    return subject, Text(pt, word.en)


def mood(draw: Draw) -> Text:
    """As meninas estão cansadas / the girls are tired."""
    subject, words = _with_mood(draw)
    when = draw.one(_RECENTLY)
    return vary(draw, subject, clauses.is_(subject.person, True), clauses.chain(words, when))


def mood_past(draw: Draw) -> Text:
    """Nós estávamos nervosos ontem / we were nervous yesterday."""
    subject, words = _with_mood(draw)
    when = draw.one(times.YESTERDAY)
    return vary(draw, subject, clauses.was(subject.person, True), clauses.chain(words, when))


def trait(draw: Draw) -> Text:
    """Minha irmã é alta e inteligente / my sister is tall and intelligent."""
    subject = someone(draw)
    one = draw.one(adjectives.TRAITS)
    pt, en = portuguese.agree(one.pt, subject.gender, False), one.en
    if draw.chance(0.4):
        two = draw.one([word for word in adjectives.TRAITS if word is not one])
        pt = f"{pt} e {portuguese.agree(two.pt, subject.gender, False)}"
        en = f"{en} and {two.en}"
    elif draw.chance(0.4):
        pt, en = f"muito {pt}", f"very {en}"
    return vary(draw, subject, clauses.is_(Person.HE, False), Text(pt, en))


def feeling(draw: Draw) -> Text:
    """Eu estou com fome / I am hungry."""
    subject, word = anyone(draw), draw.one(_FEELINGS)
    when = draw.one(_RECENTLY)
    rest = clauses.chain(Text(f"com {word.pt}", word.en), when)
    return vary(draw, subject, clauses.is_(subject.person, True), rest)


def ache(draw: Draw) -> Text:
    """Meu filho está com dor de cabeça / my son has a headache."""
    subject, word = draw.one((I, YOU, someone(draw))), draw.one(_ACHES)
    person = subject.person
    group = clauses.present(Verb("estar", "have"), person)
    return vary(draw, subject, group, Text(f"com {word.pt}", word.en))


def _owning(owner: NounPhrase) -> Text:
    return Text(f"de {owner.pt}", english.possessive(owner.en))


def pain(draw: Draw) -> Text:
    """Minhas mãos doem muito / my hands hurt a lot."""
    noun = draw.one(BODY)
    many = noun.pt != "cabeça" and draw.chance(0.5)
    if draw.chance(0.5):
        part = phrases.owned(draw.one((Person.I, Person.YOU)), noun, many)
    else:
        owner = draw.one((phrases.HIS, phrases.HER, *(_owning(name) for name in NAMES)))
        part = phrases.owned_by(owner, noun, many)
    rest = Text("muito", "a lot") if draw.chance(0.3) else clauses.NOTHING
    return vary(draw, part, clauses.present(Verb("doer", "hurt"), part.person), rest)


def age(draw: Draw) -> Text:
    """Minha tia tem quarenta e dois anos / my aunt is forty-two years old."""
    subject, number = anyone(draw), spelt(draw.between(2, 99))
    group = clauses.is_(subject.person, False)
    group = group._replace(pt=portuguese.present("ter", subject.person))
    rest = Text(f"{number.pt} anos", f"{number.en} years old")
    return vary(draw, subject, group, rest)


def how_old(draw: Draw) -> Text:
    """Quantos anos sua filha tem? / how old is your daughter?"""
    subject = another(draw)
    if draw.chance(0.3):
        subject = phrases.somebodys(draw, draw.one(FAMILY))
    group = clauses.is_(subject.person, False)
    group = group._replace(pt=portuguese.present("ter", subject.person))
    return question(ask(subject, group, opener=Text("quantos anos", "how old")))


def origin(draw: Draw) -> Text:
    """Eu sou do Brasil / I am from Brazil."""
    subject, country = anyone(draw), draw.one(_COUNTRIES)
    rest = Text(portuguese.contract("de", country.pt), f"from {country.en}")
    return vary(draw, subject, clauses.is_(subject.person, False), rest)


def residence(draw: Draw) -> Text:
    """Meus tios moram na França / my uncles live in France."""
    subject, country = anyone(draw), draw.one(_COUNTRIES)
    verb = draw.one((Verb("morar", "live"), Verb("trabalhar", "work"), Verb("estudar", "study")))
    rest = Text(portuguese.contract("em", country.pt), f"in {country.en}")
    return vary(draw, subject, clauses.present(verb, subject.person), rest)


def nationality(draw: Draw) -> Text:
    """Minha tia é francesa / my aunt is French."""
    subject, word = acquaintance(draw), draw.one(_NATIONALITIES)
    rest = Text(portuguese.agree(word.pt, subject.gender, False), word.en)
    return vary(draw, subject, clauses.is_(Person.HE, False), rest)


def trade(draw: Draw) -> Text:
    """Ela é engenheira / she is an engineer."""
    subject, (masculine, feminine, en) = acquaintance(draw), draw.one(_TRADES)
    pt = masculine if subject.gender is Gender.MASCULINE else feminine
    rest = Text(pt, f"{english.article(en)} {en}")
    return vary(draw, subject, clauses.is_(Person.HE, False), rest)


def speaking(draw: Draw) -> Text:
    """Você fala inglês? / do you speak English?"""
    subject, verb = anyone(draw), verbs.SPEAK
    language = phrases.bare(draw.object_of(verb))
    rest = Text(language.pt, language.en)
    if draw.chance(0.3):
        rest = Text(f"{rest.pt} muito bem", f"{rest.en} very well")
    elif draw.chance(0.4):
        other = language
        while other == language:
            other = phrases.bare(draw.object_of(verb))
        rest = Text(f"{rest.pt} e {other.pt}", f"{rest.en} and {other.en}")
    return vary(draw, subject, clauses.present(verb, subject.person), rest)


def naming(draw: Draw) -> Text:
    """O nome do meu irmão é Pedro / my brother's name is Pedro."""
    owner = draw.one(NAMES)
    relative = phrases.somebodys(draw, draw.one([n for n in FAMILY if n.gender is owner.gender]))
    pt = f"o nome {portuguese.contract('de', relative.pt)} é {owner.pt}"
    en = f"{english.possessive(relative.en)} name is {owner.en}"
    if draw.chance(0.3):
        stranger = phrases.the(draw.one(STRANGERS))
        pt = f"qual é o nome {portuguese.contract('de', stranger.pt)}"
        return question(Text(pt, f"what is {english.possessive(stranger.en)} name"))
    return statement(Text(pt, en))


_INTRODUCED = named("irmão irmã filho filha tio tia amigo vizinho")


def introducing(draw: Draw) -> Text:
    """Este é meu amigo Paulo / this is my friend Paulo."""
    person = draw.one(NAMES)
    fitting = [noun for noun in _INTRODUCED if noun.gender is person.gender]
    relative = phrases.owned(draw.one((Person.I, Person.WE)), draw.one(fitting))
    this = "este" if person.gender is Gender.MASCULINE else "esta"
    return statement(
        Text(f"{this} é {relative.pt} {person.pt}", f"this is {relative.en} {person.en}")
    )


CONSTRUCTIONS = (
    mood, mood_past, trait, feeling, ache, pain, age, how_old, origin, residence, nationality,
    trade, speaking, naming, introducing,
)  # fmt: skip
