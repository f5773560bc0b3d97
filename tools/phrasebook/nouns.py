"""The nouns, by meaning, and lists of those that certain verbs take."""

from tools.phrasebook.entries import Gender, Kind, Noun

M, F = Gender.MASCULINE, Gender.FEMININE

_ALL = (
    Noun("maçã", F, "apple", Kind.FRUIT),
    Noun("laranja", F, "orange", Kind.FRUIT),
    Noun("banana", F, "banana", Kind.FRUIT),
    Noun("tomate", M, "tomato", Kind.FRUIT),
    Noun("limão", M, "lemon", Kind.FRUIT),
    Noun("pera", F, "pear", Kind.FRUIT),
    Noun("morango", M, "strawberry", Kind.FRUIT),
    Noun("ovo", M, "egg", Kind.DISH),
    Noun("bolo", M, "cake", Kind.DISH),
    Noun("sanduíche", M, "sandwich", Kind.DISH),
    Noun("batata", F, "potato", Kind.DISH),
    Noun("salada", F, "salad", Kind.DISH),
    Noun("pão", M, "bread", Kind.FOOD, mass=True),
    Noun("arroz", M, "rice", Kind.FOOD, mass=True),
    Noun("queijo", M, "cheese", Kind.FOOD, mass=True),
    Noun("carne", F, "meat", Kind.FOOD, mass=True),
    Noun("peixe", M, "fish", Kind.FOOD, mass=True),
    Noun("frango", M, "chicken", Kind.FOOD, mass=True),
    Noun("sopa", F, "soup", Kind.FOOD, mass=True),
    Noun("água", F, "water", Kind.HOT_DRINK, mass=True),
    Noun("leite", M, "milk", Kind.HOT_DRINK, mass=True),
    Noun("café", M, "coffee", Kind.HOT_DRINK, mass=True),
    Noun("chá", M, "tea", Kind.HOT_DRINK, mass=True),
    Noun("suco", M, "juice", Kind.COLD_DRINK, mass=True),
    Noun("vinho", M, "wine", Kind.COLD_DRINK, mass=True),
    Noun("cerveja", F, "beer", Kind.COLD_DRINK, mass=True),
    Noun("camisa", F, "shirt", Kind.CLOTHING),
    Noun("vestido", M, "dress", Kind.CLOTHING),
    Noun("chapéu", M, "hat", Kind.CLOTHING),
    Noun("casaco", M, "coat", Kind.CLOTHING),
    Noun("saia", F, "skirt", Kind.CLOTHING),
    Noun("livro", M, "book", Kind.READING),
    Noun("jornal", M, "newspaper", Kind.READING),
    Noun("revista", F, "magazine", Kind.READING),
    Noun("carta", F, "letter", Kind.READING),
    Noun("chave", F, "key", Kind.THING),
    Noun("mala", F, "suitcase", Kind.THING),
    Noun("bolsa", F, "bag", Kind.THING),
    Noun("caneta", F, "pen", Kind.THING),
    Noun("lápis", M, "pencil", Kind.THING),
    Noun("caderno", M, "notebook", Kind.THING),
    Noun("guarda-chuva", M, "umbrella", Kind.THING),
    Noun("mapa", M, "map", Kind.THING),
    Noun("copo", M, "glass", Kind.THING),
    Noun("prato", M, "plate", Kind.THING),
    Noun("garrafa", F, "bottle", Kind.THING),
    Noun("faca", F, "knife", Kind.THING, en_plural="knives"),
    Noun("caixa", F, "box", Kind.THING),
    Noun("boneca", F, "doll", Kind.THING),
    Noun("relógio", M, "watch", Kind.DEVICE),
    Noun("telefone", M, "phone", Kind.DEVICE),
    Noun("computador", M, "computer", Kind.DEVICE),
    Noun("câmera", F, "camera", Kind.DEVICE),
    Noun("mesa", F, "table", Kind.FURNITURE, en_place="on"),
    Noun("cadeira", F, "chair", Kind.FURNITURE, en_place="on"),
    Noun("cama", F, "bed", Kind.FURNITURE, en_place="on"),
    Noun("sofá", M, "sofa", Kind.FURNITURE, en_place="on"),
    Noun("geladeira", F, "fridge", Kind.FURNITURE),
    Noun("gaveta", F, "drawer", Kind.FURNITURE),
    Noun("porta", F, "door", Kind.OPENING),
    Noun("janela", F, "window", Kind.OPENING),
    Noun("cozinha", F, "kitchen", Kind.ROOM),
    Noun("sala", F, "living room", Kind.ROOM),
    Noun("quarto", M, "bedroom", Kind.ROOM),
    Noun("banheiro", M, "bathroom", Kind.ROOM),
    Noun("jardim", M, "garden", Kind.ROOM),
    Noun("garagem", F, "garage", Kind.ROOM),
    Noun("casa", F, "house", Kind.HOME),
    Noun("apartamento", M, "apartment", Kind.HOME),
    Noun("escola", F, "school", Kind.PLACE, en_place="at", en_bare=True),
    Noun("hospital", M, "hospital", Kind.PLACE),
    Noun("farmácia", F, "pharmacy", Kind.PLACE, en_place="at"),
    Noun("banco", M, "bank", Kind.PLACE, en_place="at"),
    Noun("mercado", M, "market", Kind.PLACE, en_place="at"),
    Noun("padaria", F, "bakery", Kind.PLACE, en_place="at"),
    Noun("restaurante", M, "restaurant", Kind.PLACE),
    Noun("hotel", M, "hotel", Kind.PLACE),
    Noun("estação", F, "station", Kind.PLACE, en_place="at"),
    Noun("aeroporto", M, "airport", Kind.PLACE, en_place="at"),
    Noun("praia", F, "beach", Kind.OUTDOORS, en_place="on"),
    Noun("parque", M, "park", Kind.OUTDOORS),
    Noun("museu", M, "museum", Kind.PLACE, en_place="at"),
    Noun("cinema", M, "cinema", Kind.PLACE, en_place="at"),
    Noun("biblioteca", F, "library", Kind.PLACE),
    Noun("igreja", F, "church", Kind.PLACE, en_place="in"),
    Noun("correio", M, "post office", Kind.PLACE, en_place="at"),
    Noun("praça", F, "square", Kind.OUTDOORS),
    Noun("loja", F, "shop", Kind.PLACE),
    Noun("teatro", M, "theatre", Kind.PLACE, en_place="at"),
    Noun("universidade", F, "university", Kind.PLACE, en_place="at"),
    Noun("carro", M, "car", Kind.VEHICLE),
    Noun("bicicleta", F, "bicycle", Kind.VEHICLE, en_place="on"),
    Noun("ônibus", M, "bus", Kind.VEHICLE, en_place="on"),
    Noun("trem", M, "train", Kind.VEHICLE, en_place="on"),
    Noun("táxi", M, "taxi", Kind.VEHICLE),
    Noun("avião", M, "plane", Kind.VEHICLE, en_place="on"),
    Noun("barco", M, "boat", Kind.VEHICLE, en_place="on"),
    Noun("gato", M, "cat", Kind.ANIMAL),
    Noun("cachorro", M, "dog", Kind.ANIMAL),
    Noun("cavalo", M, "horse", Kind.ANIMAL),
    Noun("pássaro", M, "bird", Kind.ANIMAL),
    Noun("coelho", M, "rabbit", Kind.ANIMAL),
    Noun("irmão", M, "brother", Kind.FAMILY),
    Noun("irmã", F, "sister", Kind.FAMILY),
    Noun("pai", M, "father", Kind.FAMILY),
    Noun("mãe", F, "mother", Kind.FAMILY),
    Noun("filho", M, "son", Kind.FAMILY),
    Noun("filha", F, "daughter", Kind.FAMILY),
    Noun("avó", F, "grandmother", Kind.FAMILY),
    Noun("tio", M, "uncle", Kind.FAMILY),
    Noun("tia", F, "aunt", Kind.FAMILY),
    Noun("amigo", M, "friend", Kind.FAMILY),
    Noun("vizinho", M, "neighbour", Kind.FAMILY),
    Noun("professora", F, "teacher", Kind.STRANGER),
    Noun("médico", M, "doctor", Kind.STRANGER),
    Noun("enfermeira", F, "nurse", Kind.STRANGER),
    Noun("aluno", M, "student", Kind.STRANGER),
    Noun("menino", M, "boy", Kind.STRANGER),
    Noun("menina", F, "girl", Kind.STRANGER),
    Noun("homem", M, "man", Kind.STRANGER, en_plural="men"),
    Noun("mulher", F, "woman", Kind.STRANGER, en_plural="women"),
    Noun("criança", F, "child", Kind.STRANGER, en_plural="children"),
    Noun("turista", M, "tourist", Kind.STRANGER),
    Noun("cabeça", F, "head", Kind.BODY),
    Noun("perna", F, "leg", Kind.BODY),
    Noun("mão", F, "hand", Kind.BODY),
    Noun("pé", M, "foot", Kind.BODY, en_plural="feet"),
    Noun("braço", M, "arm", Kind.BODY),
    Noun("joelho", M, "knee", Kind.BODY),
    Noun("dedo", M, "finger", Kind.BODY),
    Noun("filme", M, "film", Kind.SHOW),
    Noun("jogo", M, "game", Kind.SHOW),
    Noun("concerto", M, "concert", Kind.SHOW),
    Noun("aula", F, "lesson", Kind.SHOW),
    Noun("festa", F, "party", Kind.SHOW),
    Noun("reunião", F, "meeting", Kind.SHOW),
    # Namelike nouns take no determiner in Portuguese; English play "the piano".
    Noun("inglês", M, "English", Kind.NAMELIKE, mass=True),
    Noun("português", M, "Portuguese", Kind.NAMELIKE, mass=True),
    Noun("francês", M, "French", Kind.NAMELIKE, mass=True),
    Noun("espanhol", M, "Spanish", Kind.NAMELIKE, mass=True),
    Noun("italiano", M, "Italian", Kind.NAMELIKE, mass=True),
    Noun("alemão", M, "German", Kind.NAMELIKE, mass=True),
    Noun("matemática", F, "mathematics", Kind.NAMELIKE, mass=True),
    Noun("história", F, "history", Kind.NAMELIKE, mass=True),
    Noun("química", F, "chemistry", Kind.NAMELIKE, mass=True),
    Noun("música", F, "music", Kind.NAMELIKE, mass=True),
    Noun("piano", M, "the piano", Kind.NAMELIKE, mass=True),
    Noun("violão", M, "the guitar", Kind.NAMELIKE, mass=True),
    Noun("violino", M, "the violin", Kind.NAMELIKE, mass=True),
    Noun("futebol", M, "football", Kind.NAMELIKE, mass=True),
    Noun("tênis", M, "tennis", Kind.NAMELIKE, mass=True),
    Noun("xadrez", M, "chess", Kind.NAMELIKE, mass=True),
    Noun("basquete", M, "basketball", Kind.NAMELIKE, mass=True),
)

_BY_NAME = {noun.pt: noun for noun in _ALL}


def named(names: str) -> tuple[Noun, ...]:
    """The nouns with these Portuguese names, separated by spaces."""
    return tuple(_BY_NAME[name] for name in names.split())


def of_kind(*kinds: Kind) -> tuple[Noun, ...]:
    """All nouns of some kinds."""
    return tuple(noun for noun in _ALL if noun.kind in kinds)


FRUIT = of_kind(Kind.FRUIT)
EDIBLE = of_kind(Kind.FRUIT, Kind.FOOD, Kind.DISH)
DRINKS = of_kind(Kind.HOT_DRINK, Kind.COLD_DRINK)
CLOTHES = of_kind(Kind.CLOTHING)
GOODS = of_kind(Kind.CLOTHING, Kind.THING, Kind.DEVICE)
PORTABLE = named("chave mala bolsa caneta caderno guarda-chuva mapa livro relógio telefone câmera")
SMALL = (*PORTABLE, *named("lápis copo faca boneca carta revista"))
ROOMS = of_kind(Kind.ROOM)
PLACES = of_kind(Kind.PLACE, Kind.OUTDOORS)
ANIMALS = of_kind(Kind.ANIMAL)
FAMILY = of_kind(Kind.FAMILY)
STRANGERS = of_kind(Kind.STRANGER)
PEOPLE = (*FAMILY, *STRANGERS)
BODY = of_kind(Kind.BODY)
SHOWS = of_kind(Kind.SHOW)
TRANSPORT = named("ônibus trem avião barco")
LANGUAGES = named("inglês português francês espanhol italiano alemão")
SCHOOL_SUBJECTS = named("matemática história química música")
INSTRUMENTS = named("piano violão violino")
SPORTS = named("futebol tênis xadrez basquete")
