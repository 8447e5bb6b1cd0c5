"""What people type into a search: words, ``"a phrase"``, ``-without``, ``title:word``.

Every text is a legal query: an open quote runs to the end, signs that are no word are passed over,
and there are no reserved words (AND, OR and NOT are words like others).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, product

from newsbot.storage.stems import asked_stems

MAX_QUERY = 1000
"""Characters of a query that are read."""
MAX_TERMS = 32
"""Terms of a query, and words of a phrase, that are read."""
MAX_PHRASES = 16

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_TERM = re.compile(
    r'(?P<minus>-)?(?P<title>title:)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or several that follow each other."""

    words: tuple[tuple[str, ...], ...]
    """Of each word, the stems any of which will do (see :func:`newsbot.storage.stems.asked_stems`)."""
    in_title: bool = False

    def phrases(self) -> list[tuple[str, ...]]:
        """The runs of stems any of which will do."""
        return list(islice(product(*self.words), MAX_PHRASES))


@dataclass(frozen=True, slots=True)
class Query:
    """All of ``wanted`` and none of ``unwanted``."""

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...]
    blank: bool
    """Nothing but white space was asked."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems that a snippet marks."""
        return frozenset(stem for term in self.wanted for word in term.words for stem in word)


def parse(query: str) -> Query:
    """Read a query; never fails."""
    text = query[:MAX_QUERY].translate(_QUOTES)
    wanted: list[Term] = []
    unwanted: list[Term] = []
    for match in _TERM.finditer(text):
        found = asked_stems(match["phrase"] if match["word"] is None else match["word"])[:MAX_TERMS]
        if found:
            term = Term(tuple(found), in_title=match["title"] is not None)
            (wanted if match["minus"] is None else unwanted).append(term)
        if len(wanted) + len(unwanted) >= MAX_TERMS:
            break
    return Query(tuple(wanted), tuple(unwanted), blank=not text.strip())
