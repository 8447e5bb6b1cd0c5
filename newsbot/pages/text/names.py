"""Finds the number of a month and the UTC offset of a time zone from the names that pages and feeds use."""

from __future__ import annotations

from unicodedata import combining, normalize

from newsbot.pages.text import languages


def by_language() -> dict[str, list[tuple[str, ...]]]:
    """Return the names of the twelve months by language code, January first.

    Each month has a tuple with all its names. The tuple is empty if the file of the language has no names.
    """
    return {
        code: [() if names == "-" else tuple(names.replace("_", " ").split("/")) for names in months]
        for code, months in languages.by_language("months").items()
    }


def _key(name: str) -> str:
    """Return a name for comparison: in lower case and without a point at the end."""
    # casefold() decomposes some Greek letters, and NFC composes them again. The Turkish İ becomes i and a
    # dot.
    return normalize("NFC", name.casefold()).replace("i\u0307", "i").rstrip(".")


def _plain(name: str) -> str:
    """Return a name from :func:`_key` without accents. Pages often omit them: ΜΑΙΟΥ, fevrier."""
    if name.isascii() or name > _LAST_ACCENTED:
        return name
    return "".join(sign for sign in normalize("NFD", name) if not combining(sign)).replace("ı", "i")


_LAST_ACCENTED = "\u06ff"
"""The last character of the Arabic block. In the scripts after this block, marks are vowels and must stay."""

_MONTHS: dict[str, dict[str, int]] = {
    code: {_key(name): number for number, names in enumerate(months, start=1) for name in names}
    for code, months in by_language().items()
}
MONTHS: dict[str, int] = {
    name: number for numbers in reversed(_MONTHS.values()) for name, number in numbers.items()
}
"""Lower-case name -> number of the month. If a name has two meanings, the first language decides."""
# An exact match with a name in MONTHS wins over a match without accents.
_PLAIN = {_plain(name): number for name, number in MONTHS.items()} | MONTHS
_ADDED = "'’׳॰"
"""Apostrophes and similar signs that pages write after a name."""


def month(name: str, language: str | None = None) -> int | None:
    """Return the number of the month ``name``, or None if it is not a month.

    ``language`` may be a tag with a country (``pl-pl``). "Listopad" is November in Polish and October in
    Croatian.
    """
    name = _key(name)
    return _MONTHS.get((language or "")[:2], {}).get(name) or MONTHS.get(name) or _inflected(name)


def _inflected(name: str) -> int | None:
    """Return the month of a name with a prefix, an ending or a sign that is not in the files."""
    name = name.rstrip(_ADDED)
    # Hebrew: the prefix ב ("in") and the ending י. Basque: the ending -ren.
    bare = name.removesuffix("י").removesuffix("ren")
    return _PLAIN.get(_plain(name)) or MONTHS.get(name.removeprefix("ב")) or MONTHS.get(bare)


# --- time zones
_ZONES: dict[str, dict[str, float]] = {
    code: {name: float(hours) for name, hours in zones.items()}
    for code, zones in languages.pairs("zones").items()
}
HOURS: dict[str, float] = {
    name: hours for zones in reversed(_ZONES.values()) for name, hours in zones.items()
}
"""Name of a time zone -> hours ahead of UTC.

Single letters other than Z are left out, because RFC 2822 (4.3) calls them unreliable.
"""
_SUMMER = frozenset({"et", "ct", "mt", "pt"})
"""Names that mean standard time in winter and summer time in summer."""


def hours_ahead(zone: str, month: int, language: str | None = None) -> float | None:
    """Return how many hours a zone is ahead of UTC in a month, or None if its name is unknown.

    ``month`` (1 to 12) decides between standard and summer time: "ET" is EST in winter and EDT in summer.
    ``language`` is the language of the page. "IST" is the time zone of Israel on pages in Hebrew, and the
    time zone of India on other pages.
    """
    name = zone.lower()
    hours = _ZONES.get((language or "")[:2], {}).get(name, HOURS.get(name))
    # From April to October, summer time is assumed. The exact days on which the time changes are ignored.
    return hours + 1 if hours is not None and name in _SUMMER and 3 < month < 11 else hours
