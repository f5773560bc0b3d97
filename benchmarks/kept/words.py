"""Everyday words with their translations, and sentences made of some of them.

Languages are data here: the tables below are all that the families know of Portuguese and English.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.kept.cases import DIRECTIONS

# Portuguese = English. `*` is any ending; words separated by commas are equally right.
_LEXICON = """
casa*, lar = house*, home*
carro*, automóve* = car, cars
porta, portas = door*
janela* = window*
mesa* = table*, desk*
cadeira* = chair*
camisa*, camiseta* = shirt*
chave* = key, keys
bolsa*, sacola*, saco, carteira = bag, bags, purse*, handbag*
livro* = book, books
relógio* = watch*, clock*
caderno* = notebook*
casaco* = coat, coats, jacket*
jardi* = garden*
muro*, parede* = wall, walls
prato* = plate*, dish*
cama, camas = bed, beds
caixa* = box, boxes
rua* = street*, road*
cidade* = city, cities, town*
escola* = school*
carta*, letra* = letter*, card*
gato*, gata* = cat, cats
cachorr*, cão, cães = dog, dogs
água* = water*
arquivo*, ficheiro* = file*
pasta* = folder*, director*
página* = page*
imagem, imagens = image*, picture*
música*, canção = music*, song*
mensage* = message*
usuári*, utilizador* = user*
projeto* = project*
documentação = documentation
velocidade* = speed*
tamanho* = size*
erro* = error*
botão, botões = button*
ajuda, ajudar = help*
produto* = product*
preço* = price*
nome* = name*
senha*, palavra-passe = password*
notícia*, novidade* = news
endereço* = address*
linguage*, língua*, idioma* = language*
pesquis*, busca*, procur* = search*, research*, look*
configuraç*, definiç*, ajustes, preferênci* = setting*, configuration*, preference*
instal* = instal*
introdução = introduction
conexão, ligação = connection*, link*
informaç* = information
amig* = friend*
vizinh* = neighbo*
menin*, garot*, rapaz = boy, boys, child*, girl*, kid*
irmão, irmãos = brother*
irmã, irmãs = sister*
mãe, mães = mother*, mom
professor* = teacher*, professor*
médic* = doctor*
filho*, crianças = children, son, sons
banco* = bank, banks, bench*
museu* = museum*
praia* = beach*
leite = milk
pão, pães = bread
sal = salt
carne = meat
café = coffee
pessoa*, habitante*, povo = people, person*, inhabitant*
loja* = shop*, store*
mercado* = market*
quarto*, sala* = room*, bedroom*, hall*
cozinha* = kitchen*
ponte* = bridge*
trem, comboio = train*
avião = plane*, airplane*
barco*, navio* = boat*, ship*
árvore* = tree*
flor, flores = flower*
azul, azuis = blue
vermelh* = red
branc* = white
pret*, negr* = black
verde* = green
amarel* = yellow
novo, nova, novos, novas = new
velh*, antig* = old, ancient, former
grande*, enorme* = big, large, great, huge
pequen* = small, little
limp* = clean, cleaned
suj* = dirty
bonit*, lind*, bel* = beautiful, pretty, nice, handsome, lovely, fine
caro, cara, caros, caras = expensive, dear, costly
barat* = cheap, inexpensive
abert*, abr* = open, opens, opened, opening
fech*, encerr* = close*, shut*
long*, comprid* = long
alt*, elevad* = high, tall, loud
fri* = cold
quente* = hot, warm
modern* = modern
estreit* = narrow
pesad* = heavy
rápid*, veloz* = fast, quick*, rapid*
lent* = slow*
útil, úteis = useful
difíc* = difficult, hard
fácil, fáceis = easy
important* = important
interessant* = interesting
quebrad*, partid* = broken
comprou, compraram = bought
vendeu, venderam = sold
perdeu, perderam = lost
gost* = like*
vimos, viu, viram, vi = saw, seen
leu, lemos, leram, lê, ler, leia* = read, reads
escreveu = wrote
pint* = paint*
ontem = yesterday
hoje = today
aqui, cá = here
amanhã = tomorrow
precis*, necessit* = need*
salv*, guard*, grav* = save*, saving
apag*, exclu*, elimin*, remov* = delet*, remov*, eras*
carreg* = load*
imprim* = print*
cancel* = cancel*
substitu* = replac*
envi*, mand* = send*, sent
encontr*, ach* = found, find*
cli* = click*
tocar, toque*, toca* = touch*, play*
mor*, viv* = live*
trabalh* = work*
dorm* = sleep*
obrigad* = thank*
sim = yes
parar, pare, para = stop*
sair, saída, saia, sai = exit*, leave*, quit*, out
"""


def _pattern(words: str) -> re.Pattern[str]:
    readings = (re.escape(word.strip()).replace(r"\*", r"\w*") for word in words.split(","))
    return re.compile(rf"\b(?:{'|'.join(readings)})\b", re.IGNORECASE)


_PATTERNS = [
    tuple(_pattern(words) for words in line.split(" = ")) for line in _LEXICON.strip().splitlines()
]


def lost_words(
    direction: str, bare: Iterable[str], bare_outputs: Iterable[str], readings: Iterable[str]
) -> list[str]:
    """Words of the lexicon that bare translations have, and a translation not as often.

    Args:
        direction: of the translation.
        bare: the sentences.
        bare_outputs: their translations.
        readings: the translation, in all forms in which a word may be found.
    """
    needed: Counter[re.Pattern[str]] = Counter()
    for source, output in zip(bare, bare_outputs, strict=True):
        for patterns in _PATTERNS:
            word, translated = patterns if direction == "pt-en" else patterns[::-1]
            needed[translated] += min(len(word.findall(source)), len(translated.findall(output)))
    texts = list(readings)
    return [
        pattern.pattern[5:-3]
        for pattern, count in needed.items()
        if max(len(pattern.findall(text)) for text in texts) < count
    ]


def parallel(table: str) -> dict[str, list[str]]:
    """The lines "Portuguese = English" of a table, as a list for each direction."""
    rows = [line.strip().split(" = ") for line in table.strip().splitlines()]
    return {direction: [row[side] for row in rows] for side, direction in enumerate(DIRECTIONS)}


def is_translated(direction: str, word: str, text: str) -> bool:
    """Whether a text has a translation of a word of the lexicon."""
    sides = _PATTERNS if direction == "pt-en" else [patterns[::-1] for patterns in _PATTERNS]
    return any(source.search(word) and target.search(text) for source, target in sides)


@dataclass(frozen=True)
class Sentence:
    """A sentence with a noun and an adjective that describes it.

    Attributes:
        frame: the sentence with {noun} and {adjective} in it.
    """

    frame: str
    noun: str
    adjective: str

    def __str__(self) -> str:
        return self.marked()

    def marked(self, noun: str = "{}", adjective: str = "{}") -> str:
        """The sentence with something around these two words, whose place is {}."""
        words = {
            "noun": noun.replace("{}", self.noun),
            "adjective": adjective.replace("{}", self.adjective),
        }
        return re.sub(r"\{(noun|adjective)\}", lambda match: words[match[1]], self.frame)


_NOUNS = parallel("""
    a casa = house
    o carro = car
    a porta = door
    a janela = window
    a mesa = table
    a cadeira = chair
    a camisa = shirt
    a chave = key
    a bolsa = bag
    o livro = book
    o relógio = watch
    o caderno = notebook
    o casaco = coat
    o jardim = garden
    o prato = plate
    a cama = bed
    a caixa = box
""")
_ADJECTIVES = parallel("""
    azul = blue
    vermelho = red
    branco = white
    preto = black
    verde = green
    amarelo = yellow
    novo = new
    velho = old
    grande = big
    pequeno = small
    limpo = clean
    sujo = dirty
    bonito = beautiful
    caro = expensive
    barato = cheap
""")
_MORE_ADJECTIVES = parallel("""
    longo = long
    alto = high
    frio = cold
    quente = hot
    moderno = modern
    estreito = narrow
    pesado = heavy
    rápido = fast
    lento = slow
    útil = useful
    difícil = difficult
    importante = important
    interessante = interesting
    quebrado = broken
    aberto = open
    fechado = closed
""")
_FRAMES = parallel("""
    Ela gosta d<o> {noun} {adjective}. = She likes the {adjective} {noun}.
    O vizinho comprou um<a> {noun} {adjective}. = The neighbour bought the {adjective} {noun}.
    Nós vimos <o> {noun} {adjective} ontem. = We saw the {adjective} {noun} yesterday.
    O menino perdeu <o> {noun} {adjective}. = The boy lost the {adjective} {noun}.
    Meu irmão vendeu <o> {noun} {adjective}. = My brother sold the {adjective} {noun}.
    Ana precisa d<o> {noun} {adjective} hoje. = Ana needs the {adjective} {noun} today.
    <O> {noun} {adjective} está aqui. = The {adjective} {noun} is here.
""")


def sentences(direction: str, count: int, chance: random.Random) -> list[Sentence]:
    """Different sentences of everyday words, by chance."""
    made: dict[str, Sentence] = {}
    while len(made) < count:
        frame = chance.choice(_FRAMES[direction])
        noun = chance.choice(_NOUNS[direction])
        adjective = chance.choice(_ADJECTIVES[direction])
        if direction == "pt-en":
            article, noun = noun.split()
            frame = frame.replace("<a>", "a" if article == "a" else "")
            frame = frame.replace("<o>", article).replace("<O>", article.upper())
            if article == "a" and adjective.endswith("o"):
                adjective = f"{adjective[:-1]}a"
        sentence = Sentence(frame, noun, adjective)
        made[str(sentence)] = sentence
    return list(made.values())


def adjectives(direction: str) -> list[str]:
    """The adjectives, as in a dictionary."""
    return _ADJECTIVES[direction] + _MORE_ADJECTIVES[direction]
