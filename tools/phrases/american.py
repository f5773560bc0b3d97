"""American spelling and times for English text: most of the corpora are American.

A model that reads both spellings writes both, also in one text.
"""

import re

_TIME = re.compile(r"\b(\d{1,2})\.(\d\d)(?= [ap]\.m\.)")
_STEMS_OUR = (
    "ard|arm|behavi|cand|clam|col|demean|endeav|fav|ferv|flav|harb|hon|hum|lab|misdemean|neighb|od"
    "|parl|rig|rum|sav|savi|splend|tum|vap|vig|watercol"
)
_STEMS_ISE = (
    "agon|antagon|apolog|author|bapt|capital|categor|central|character|civil|colon|commercial|critic"
    "|crystall|decentral|demoral|desalin|digit|econom|emphas|energ|equal|familiar|fertil|final"
    "|formal|fossil|general|global|harmon|hospital|hypnot|immobil|immortal|immun|industrial|legal"
    "|liberal|local|material|maxim|mechan|memor|militar|minim|mobil|modern|monopol|national|neutral"
    "|normal|optim|organ|ostrac|oxid|patron|penal|personal|plagiar|polar|popular|pressur|priorit"
    "|privat|public|pulver|radical|ration|real|recogn|reorgan|revital|revolution|romantic|scandal"
    "|scrutin|social|special|stabil|standard|steril|stigmat|styl|subsid|summar|symbol|sympath"
    "|synchron|terror|theor|traumat|urban|util|vandal|vapor|victim|visual|vulcan|western"
)
_STEMS_L = (
    "cancel|channel|counsel|dial|drivel|equal|fuel|funnel|grovel|initial|jewel|label|level|libel"
    "|marshal|marvel|model|panel|pedal|pencil|quarrel|refuel|rival|shovel|shrivel|signal|snivel"
    "|spiral|stencil|swivel|total|travel|trial|tunnel|unravel|yodel"
)
_RULES = [
    (re.compile(pattern), new)
    for pattern, new in (
        (rf"\b((?:un|dis|re|multi)?(?:{_STEMS_OUR}))our(?!\w*ous)", r"\1or"),
        (
            rf"\b((?:un|dis|re|de)?(?:{_STEMS_ISE}))is(e[drs]?|ers|ing|ation|ations|able)\b",
            r"\1iz\2",
        ),
        (r"\b((?:psycho)?anal|paral|catal|electrol)ys(e[dr]?|ers|ing)\b", r"\1yz\2"),
        (rf"\b((?:un)?(?:{_STEMS_L}))l(ed|ers?|ing|ors?|ous|ously)\b", r"\1\2"),
        (r"\b((?:kilo|centi|milli)?)(met|lit)re(s?)\b", r"\1\2er\3"),
        (r"\b(epicent|amphitheat|theat|saltpet)re(s?)\b", r"\1er\2"),
        (r"\b(cent|manoeuv)r(?:e(s?)|(ed|ing))\b", r"\1er\2\3"),
        (r"\b(fib|calib|sab|lust|sepulch|somb|meag|spect|mit)re(s?)\b", r"\1er\2"),
        (r"\bmanoeuver", "maneuver"),
        (r"\bprogramme(s?)\b", r"program\1"),
        (r"\b(def|off|pret)ence(s?)\b", r"\1ense\2"),
        (r"\blicence(s?)\b", r"license\1"),
        (r"\bpractis(e[ds]?|ing)\b", r"practic\1"),
        (r"\btyre(s?)\b", r"tire\1"),
        (r"\bgrey(s|er|est|ish)?\b", r"gray\1"),
        (r"\bjewellery\b", "jewelry"),
        (r"\bwoollen(s?)\b", r"woolen\1"),
        (r"\b(sk|w)ilful", r"\1illful"),
        (r"\b(fulfil|enrol|instal|instil)(s|ments?)?\b", r"\1l\2"),
        (r"\bstorey\b", "story"),
        (r"\bstoreys\b", "stories"),
        (r"\bpyjama", "pajama"),
        (r"\bplough", "plow"),
        (r"\b(m|sm)ould(?=s?\b|er|ed\b|ing|y\b)", r"\1old"),
        (r"\bmoult", "molt"),
        (r"\baeroplane", "airplane"),
        (r"\bsceptic", "skeptic"),
        (r"\bkerb(s?)\b", r"curb\1"),
        (r"\bdraught(s|y)?\b", r"draft\1"),
        (r"\bcos(y|ier|iest|ily)\b", r"coz\1"),
        (r"\bageing\b", "aging"),
        (r"\bcheque(s?)\b", r"check\1"),
        (r"\baluminium\b", "aluminum"),
        (r"\bsulph", "sulf"),
        (r"\b(an|leuk)aemi", r"\1emi"),
        (r"\bhaem", "hem"),
        (r"\bpaediatr", "pediatr"),
        (r"\bencyclopaedi", "encyclopedi"),
        (r"\bdiarrhoea", "diarrhea"),
        (r"\bfoet(us|al)", r"fet\1"),
        (r"\banticlockwise\b", "counterclockwise"),
        (r"\bmum(s?)\b", r"mom\1"),
        (r"\bmaths\b", "math"),
        (r"\bper cent\b", "percent"),
    )
]


def american(text: str) -> str:
    """Return English text with American spelling; words with capitals, mostly names, are left."""
    for pattern, new in _RULES:
        text = pattern.sub(new, text)
    return _TIME.sub(r"\1:\2", text)
