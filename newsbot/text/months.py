"""Names of the months as news pages write them, in some 60 languages. The names are in ``months.txt``."""

from __future__ import annotations

from importlib.resources import files
from unicodedata import combining, normalize


def by_language() -> dict[str, list[tuple[str, ...]]]:
    """Return for each language code the forms of the twelve months, in order."""
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
    """Return the month of each name; a name that two months share belongs to the first of them."""
    numbers: dict[str, int] = {}
    for months in by_language().values():
        for number, names in enumerate(months, start=1):
            for name in names:
                numbers.setdefault(_key(name), number)
    return numbers


def _key(name: str) -> str:
    """Return a name for comparison: lower case, without marks that lower-casing Turkish and Greek capitals
    adds.
    """
    return normalize("NFC", name.casefold()).replace("i\u0307", "i").rstrip(".")


def _plain(name: str) -> str:
    """Return a name from :func:`_key` without accents, which are often omitted: ΜΑΙΟΥ, fevrier."""
    if name.isascii() or name > _LAST_ACCENTED:
        return name
    return "".join(sign for sign in normalize("NFD", name) if not combining(sign)).replace("ı", "i")


_LAST_ACCENTED = "\u06ff"
"""In scripts after this character, marks are vowels."""

MONTHS: dict[str, int] = _numbers()
"""Month number by lower-case name."""
_PLAIN = {_plain(name): number for name, number in reversed(MONTHS.items())} | MONTHS

AMBIGUOUS = {
    "listopada": {"hr": 10, "pl": 11, "cs": 11},
    "listopad": {"hr": 10},
    "lis": {"hr": 10},
    "lip": {"hr": 6, "uk": 7, "pl": 7},
    "srp": {"hr": 7},
}
"""Names with several meanings; the language decides, else :data:`MONTHS`."""
_ADDED = "'’׳॰"
"""Signs of an abbreviation or a quotation that are not part of a name."""


def month(name: str, language: str | None = None) -> int | None:
    """Return the number of the month ``name``, or None if it is not a month.

    ``language`` may be a tag with a country (``pl-pl``).
    """
    name = _key(name)
    if language and (meant := AMBIGUOUS.get(name, {}).get(language[:2])) is not None:
        return meant
    return MONTHS.get(name) or _inflected(name)


def _inflected(name: str) -> int | None:
    """Return the month of a name with a preposition, an inflectional ending, or a sign after it."""
    name = name.rstrip(_ADDED)
    bare = name.removesuffix("י").removesuffix("ren")
    return _PLAIN.get(_plain(name)) or MONTHS.get(name.removeprefix("ב")) or MONTHS.get(bare)
