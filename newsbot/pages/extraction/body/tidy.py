"""Removes lines that are between the paragraphs of an article but do not belong to it.

A label is a short line such as "Advertisement". An appeal asks the reader to do something, such as to
subscribe. The words are in ``newsbot/pages/extraction/languages``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from newsbot.pages.extraction.blocks import Block
from newsbot.pages.extraction.fields.authors import clean_authors
from newsbot.pages.extraction.fields.dates.moments import date_without_year, find_date
from newsbot.pages.extraction.fields.dates.relative import is_ago
from newsbot.pages.extraction.strings import key
from newsbot.pages.text.languages import compiled

MAX_LABEL = 40
"""Maximum length of a label before a link to another page ("Read also:")."""

_READ_ALSO = r"^\W{0,3}%(read_also)s"
_LABEL = r"^\W*(?:%(labels)s|[_*-]{2,})\W*$"
_APPEAL = r"^\W{0,3}%(appeals)s"
_ARROW = re.compile(r"(?:>>|»»)\s*$")
_CREDIT = r"^\W{0,2}%(credits)s\s*(?:[:：©|/]|%(by)s\s(?-i:[A-Z][\w.]+\s[A-Z]))"
"""Matches a picture credit: a word such as "photo", and after it a sign or a name.

"Photos by satellites" is not a credit but the start of a sentence.
"""
_BY = r"^%(bylines)s\s"
_MAX_APPEAL = 320
"""Maximum length of an appeal, in characters. Longer lines are never removed."""
_MAX_CREDIT = 160
"""Maximum length of a picture credit, in characters."""
_ENDS = re.compile(r"[.!?…。»”\"')]\s*$")


def tidy(blocks: list[Block]) -> list[Block]:
    """Return ``blocks`` without links to other articles, labels, appeals to readers and picture credits."""
    return [block for block in blocks if not is_foreign(block.text)]


@lru_cache(maxsize=1024)
def is_foreign(text: str) -> bool:
    """True for a line whose words show that it is not part of an article.

    Results are cached, because different versions of an article have many lines in common.
    """
    if len(text) > _MAX_APPEAL:
        return False
    if compiled(_APPEAL).match(text) or _ARROW.search(text):
        return True
    if len(text) <= MAX_LABEL and compiled(_LABEL).match(text):
        return True
    # "Read also the small print, he told them." is a sentence: it has no colon and ends with a full stop.
    if compiled(_READ_ALSO).match(text) and (":" in text[:MAX_LABEL] or not text.endswith(".")):
        return True
    return len(text) <= _MAX_CREDIT and compiled(_CREDIT).match(text) is not None


def trim_edges(blocks: list[Block], title: str, authors: Collection[str]) -> list[Block]:
    """Return ``blocks`` without the headline, names and date at the start and without names at the end.

    If no other blocks are left, all blocks are returned.
    """
    names = {key(author) for author in authors}
    headline = key(title)
    kept = [
        block
        for index, block in enumerate(blocks)
        # Headline, byline and date are in the first four lines. Further down, a short line belongs to the
        # text.
        if not (
            (index < 4 and _is_head(block.text, headline, names))
            or (index >= len(blocks) - 2 and _is_byline(block.text, names))
        )
    ]
    return kept or blocks


def _is_head(text: str, headline: str, names: set[str]) -> bool:
    """True for a line that is the headline, names of authors, or a date."""
    words = key(text)
    if not words or (
        headline and (words == headline or (words.endswith(headline) and len(words) < len(headline) + 50))
    ):
        return True
    if _is_byline(text, names):
        return True
    if len(text) > 45 or _ENDS.search(text):
        return False
    return find_date(text) is not None or date_without_year(text) is not None or is_ago(text)


def _is_byline(text: str, names: set[str]) -> bool:
    """True for a line of names of authors, possibly with roles and places.

    After "by", it may also have a name that is not an author: "By Ann Lee, Harbour News".
    """
    if not names or len(text) > 80:
        return False
    words = key(text)
    if words in names or compiled(_BY).sub("", words) in names:
        return True
    named = set() if _ENDS.search(text) else {key(name) for name in clean_authors([text])}
    return bool(named & names) and (named <= names or compiled(_BY).match(words) is not None)
