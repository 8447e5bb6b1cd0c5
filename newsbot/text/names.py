"""Finds the number of a month and the UTC offset of a time zone by the names that pages and feeds write.

The names of months are in ``months.txt``, in some 60 languages.
"""

from __future__ import annotations

from importlib.resources import files
from unicodedata import combining, normalize


def by_language() -> dict[str, list[tuple[str, ...]]]:
    """Return the names of the twelve months by language code, January first.

    Each month has a tuple with all its forms. The code ``*`` holds names of several languages.
    """
    lines = (files(__package__) / "months.txt").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[tuple[str, ...]]] = {}
    language = ""
    for word in " ".join(line for line in lines if not line.startswith("#")).split():
        if word.endswith(":"):
            language = word[:-1]
            found[language] = []
        else:
            found[language].append(() if word == "-" else tuple(word.replace("_", " ").split("/")))
    return found


def _numbers() -> dict[str, int]:
    """Return the month number by name. If two months share a name, the first line of the table decides."""
    numbers: dict[str, int] = {}
    for months in by_language().values():
        for number, names in enumerate(months, start=1):
            for name in names:
                numbers.setdefault(_key(name), number)
    return numbers


def _key(name: str) -> str:
    """Return a name for comparison: in lower case and without a point at the end."""
    # casefold() decomposes some Greek letters, which NFC composes again. The Turkish İ becomes i and a dot.
    return normalize("NFC", name.casefold()).replace("i\u0307", "i").rstrip(".")


def _plain(name: str) -> str:
    """Return a name from :func:`_key` without accents. Pages often omit them: ΜΑΙΟΥ, fevrier."""
    if name.isascii() or name > _LAST_ACCENTED:
        return name
    return "".join(sign for sign in normalize("NFD", name) if not combining(sign)).replace("ı", "i")


_LAST_ACCENTED = "\u06ff"
"""The last character of the Arabic block. In the scripts after it, marks are vowels and must stay."""

MONTHS: dict[str, int] = _numbers()
"""Month number by lower-case name."""
# The names are read in reverse. So if two names are equal without accents, the first of them is kept. A name
# that is in MONTHS itself is preferred to both.
_PLAIN = {_plain(name): number for name, number in reversed(MONTHS.items())} | MONTHS

AMBIGUOUS = {
    "listopada": {"hr": 10, "pl": 11, "cs": 11},
    "listopad": {"hr": 10},
    "lis": {"hr": 10},
    "lip": {"hr": 6, "uk": 7, "pl": 7},
    "srp": {"hr": 7},
}
"""Names that mean different months in different languages, with the month by language.

For other languages, :data:`MONTHS` has their meaning.
"""
_ADDED = "'’׳॰"
"""Apostrophes and similar signs that pages write after a name."""


def month(name: str, language: str | None = None) -> int | None:
    """Return the number of the month ``name``, or None if it is not a month.

    ``language`` may be a tag with a country (``pl-pl``).
    """
    name = _key(name)
    if language and (meant := AMBIGUOUS.get(name, {}).get(language[:2])) is not None:
        return meant
    return MONTHS.get(name) or _inflected(name)


def _inflected(name: str) -> int | None:
    """Return the month of a name with a prefix, an ending or a sign that the table does not have."""
    name = name.rstrip(_ADDED)
    # Hebrew: the prefix ב ("in") and the ending י. Basque: the ending -ren.
    bare = name.removesuffix("י").removesuffix("ren")
    return _PLAIN.get(_plain(name)) or MONTHS.get(name.removeprefix("ב")) or MONTHS.get(bare)


HOURS = {
    "z": 0.0, "ut": 0.0, "utc": 0.0, "gmt": 0.0, "wet": 0.0, "bst": 1.0, "west": 1.0, "wat": 1.0, "cet": 1.0,
    "mez": 1.0, "cat": 2.0, "sast": 2.0, "cest": 2.0, "mesz": 2.0, "eet": 2.0, "eest": 3.0, "idt": 3.0,
    "eat": 3.0, "msk": 3.0, "мск": 3.0, "trt": 3.0, "gst": 4.0, "pkt": 5.0, "ist": 5.5, "npt": 5.75,
    "wib": 7.0, "ict": 7.0, "hkt": 8.0, "sgt": 8.0, "myt": 8.0, "pht": 8.0, "wita": 8.0, "awst": 8.0,
    "wit": 9.0, "jst": 9.0, "kst": 9.0, "acst": 9.5, "aest": 10.0, "acdt": 10.5, "aedt": 11.0, "nzst": 12.0,
    "nzdt": 13.0, "nst": -3.5, "ndt": -2.5, "ast": -4.0, "adt": -3.0, "est": -5.0, "edt": -4.0, "et": -5.0,
    "cst": -6.0, "cdt": -5.0, "ct": -6.0, "mst": -7.0, "mdt": -6.0, "mt": -7.0, "pst": -8.0, "pdt": -7.0,
    "pt": -8.0, "akst": -9.0, "akdt": -8.0, "hst": -10.0, "brt": -3.0, "art": -3.0,
    "met": 1.0, "mest": 2.0, "msd": 4.0,
}  # fmt: skip
"""Hours ahead of UTC by name of the zone.

Single letters other than Z are left out, because RFC 2822 (4.3) calls them unreliable.
"""
_SUMMER = frozenset({"et", "ct", "mt", "pt"})
"""Names that stand for standard time in winter and for summer time in summer."""
_ELSEWHERE = {("cst", "zh"): 8.0, ("ist", "he"): 2.0, ("ist", "ga"): 1.0, ("bst", "bn"): 6.0}
"""Hours ahead of UTC by name and language, for names that mean another zone on pages in this language."""


def hours_ahead(zone: str, month: int, language: str | None = None) -> float | None:
    """Return how many hours a zone is ahead of UTC in a month, or None if its name is unknown.

    ``month`` (1 to 12) decides between standard and summer time: "ET" is EST in winter and EDT in summer.
    ``language`` is the language of the page.
    """
    name = zone.lower()
    hours = _ELSEWHERE.get((name, (language or "")[:2])) or HOURS.get(name)
    # From April to October, summer time is assumed. The exact days on which the time changes are ignored.
    return hours + 1 if hours is not None and name in _SUMMER and 3 < month < 11 else hours
