"""Finds the number of a month by its name, in some 60 languages. The names are in ``months.txt``."""

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
