"""When: adverbs of time, days, months and the clock."""

from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Gender, Text, Verb
from tools.phrasebook.numbers import english_ordinal, spelt

WEEKDAYS = (
    Text("segunda-feira", "Monday"),
    Text("terça-feira", "Tuesday"),
    Text("quarta-feira", "Wednesday"),
    Text("quinta-feira", "Thursday"),
    Text("sexta-feira", "Friday"),
    Text("sábado", "Saturday"),
    Text("domingo", "Sunday"),
)

MONTHS = (
    Text("janeiro", "January"),
    Text("fevereiro", "February"),
    Text("março", "March"),
    Text("abril", "April"),
    Text("maio", "May"),
    Text("junho", "June"),
    Text("julho", "July"),
    Text("agosto", "August"),
    Text("setembro", "September"),
    Text("outubro", "October"),
    Text("novembro", "November"),
    Text("dezembro", "December"),
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

SEASONS = (
    Text("no verão", "in summer"),
    Text("no inverno", "in winter"),
    Text("no outono", "in autumn"),
    Text("na primavera", "in spring"),
)


def on_day(day: Text) -> Text:
    """Na segunda-feira / on Monday."""
    return Text(("na " if day.pt.endswith("feira") else "no ") + day.pt, f"on {day.en}")


def _on_days(day: Text) -> Text:
    return Text(
        f"às {day.pt[:-6]}s-feiras" if day.pt.endswith("feira") else f"aos {day.pt}s",
        f"on {day.en}s",
    )


# "Nós comemos" is both present and past. To keep the readings apart, the past
# always comes with a time of its own, and so do repeated actions.
YESTERDAY = (Text("ontem", "yesterday"), Text("ontem à noite", "last night"))
_DAYS_AGO = (
    *YESTERDAY,
    *(
        Text(f"{on_day(day).pt} passad{'a' if day.pt.endswith('feira') else 'o'}", f"last {day.en}")
        for day in (WEEKDAYS[0], WEEKDAYS[4], WEEKDAYS[5])
    ),
)
PAST = (
    *_DAYS_AGO,
    Text("na semana passada", "last week"),
    Text("no mês passado", "last month"),
    Text("no ano passado", "last year"),
)
TOMORROW = (
    Text("amanhã", "tomorrow"),
    Text("amanhã de manhã", "tomorrow morning"),
    Text("hoje à noite", "tonight"),
)
_DAYS_AHEAD = (*TOMORROW, *(on_day(day) for day in WEEKDAYS))
FUTURE = (
    *_DAYS_AHEAD,
    Text("na próxima semana", "next week"),
    Text("no próximo mês", "next month"),
)
USUAL = (
    Text("todos os dias", "every day"),
    Text("todas as semanas", "every week"),
    Text("de manhã", "in the morning"),
    Text("à tarde", "in the afternoon"),
    Text("à noite", "at night"),
    *(_on_days(day) for day in WEEKDAYS),
)
FREQUENCY = (
    Text("sempre", "always"),
    Text("nunca", "never"),
    Text("geralmente", "usually"),
    Text("raramente", "rarely"),
)
NOW = (Text("agora", "now"), Text("neste momento", "at the moment"))


def past(draw: Draw, verb: Verb) -> Text:
    """A time at which the verb's action may have been done."""
    return draw.one(_DAYS_AGO if verb.brief else PAST)


def future(draw: Draw, verb: Verb) -> Text:
    """A time at which the verb's action may be going to be done."""
    return draw.one(_DAYS_AHEAD if verb.brief else FUTURE)


_PARTS_OF_DAY = {
    "morning": Text("da manhã", "in the morning"),
    "afternoon": Text("da tarde", "in the afternoon"),
    "evening": Text("da noite", "in the evening"),
}


def part_of_day(draw: Draw, hour: int) -> Text:
    """Da manhã, da tarde or da noite, as fits an hour of the twelve-hour clock."""
    fitting = ["morning"] if hour >= 5 else []
    if hour <= 6:
        fitting.append("afternoon")
    if 7 <= hour <= 11:
        fitting.append("evening")
    return _PARTS_OF_DAY[draw.one(fitting)]


def clock(hour: int, minute: int) -> Text:
    """Três e meia / half past three; the minute a multiple of five up to 30."""
    hours = spelt(hour, Gender.FEMININE)
    if minute == 0:
        return Text(f"{hours.pt} hora{'s' if hour > 1 else ''}", f"{hours.en} o'clock")
    if minute == 30:
        return Text(f"{hours.pt} e meia", f"half past {hours.en}")
    minutes = spelt(minute)
    past = "a quarter" if minute == 15 else minutes.en
    return Text(f"{hours.pt} e {minutes.pt}", f"{past} past {hours.en}")


def clock_before(hour: int, minutes: int) -> Text:
    """Dez para as quatro / ten to four."""
    hours, missing = spelt(hour, Gender.FEMININE), spelt(minutes)
    to = "a quarter" if minutes == 15 else missing.en
    return Text(f"{missing.pt} para {'as' if hour > 1 else 'a'} {hours.pt}", f"{to} to {hours.en}")


def at_clock(draw: Draw) -> Text:
    """Às oito e dez / at ten past eight, or at noon."""
    if draw.chance(0.04):
        return Text("ao meio-dia", "at noon")
    hour, minute = draw.between(1, 12), draw.one((0, 0, 10, 15, 20, 30, 30))
    time = clock(hour, minute)
    return Text(f"{'às' if hour > 1 else 'à'} {time.pt}", f"at {time.en}")


def date(draw: Draw) -> Text:
    """Dia três de maio / the third of May."""
    which = draw.between(0, 11)
    month, day = MONTHS[which], draw.between(1, _DAYS_IN_MONTH[which])
    pt_day = "primeiro" if day == 1 else spelt(day).pt
    return Text(f"dia {pt_day} de {month.pt}", f"the {english_ordinal(day)} of {month.en}")
