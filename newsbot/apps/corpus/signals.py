"""Quality signals of a text.

The signals of repetition and of stop words are those of Gopher (Rae et al. 2021, arXiv:2112.11446, table A1),
which FineWeb and datatrove use too. Shares are from 0 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from newsbot.items import Article
from newsbot.pages.extraction.fields.language import certainty
from newsbot.pages.rights import LICENSE, opted_out
from newsbot.pages.text.languages import by_language
from newsbot.pages.text.words import tokens


@dataclass(frozen=True, slots=True)
class Signals:
    """The quality signals of one article, as columns of a corpus."""

    characters: int
    words: int
    lines: int
    mean_word_length: float
    """In characters."""
    stop_word_share: float | None
    """Share of the words that are stop words of the language; None if its stop words are not known."""
    letter_share: float
    """Share of the characters other than spaces that are letters."""
    duplicate_line_share: float
    """Share of the lines that occur before in the text."""
    top_2gram_share: float
    """Share of the characters in the most frequent pair of words."""
    duplicate_5gram_share: float
    """Share of the words in sequences of five words that occur before in the text."""
    language_confidence: float
    opt_out: bool
    """True if a signal reserves the page against use by AI."""
    licence: str | None
    """Address of the licence that the site states."""


def signals(article: Article) -> Signals:
    """Return the signals of an article."""
    text = article.text
    words = tokens(text)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    known = by_language("stop_words").get(article.language or "")
    visible = [sign for sign in text if not sign.isspace()]
    return Signals(
        characters=len(text),
        words=len(words),
        lines=len(lines),
        mean_word_length=_share(sum(map(len, words)), len(words)),
        stop_word_share=None
        if known is None
        else _share(sum(map(frozenset(known).__contains__, words)), len(words)),
        letter_share=_share(sum(sign.isalpha() for sign in visible), len(visible)),
        duplicate_line_share=_share(len(lines) - len(set(lines)), len(lines)),
        top_2gram_share=_top(words),
        duplicate_5gram_share=_repeated(words),
        language_confidence=round(certainty(f"{article.title}\n{text}", article.language), 4),
        opt_out=opted_out(article.rights),
        licence=article.rights.get(LICENSE),
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _top(words: Sequence[str]) -> float:
    """Return the share of the characters that are in the most frequent pair of words.

    A pair that occurs only once does not count.
    """
    pairs = Counter(pairwise(words))
    if not pairs:
        return 0.0
    pair, number = max(pairs.items(), key=lambda item: (item[1], item[0]))
    return _share(number * sum(map(len, pair)), sum(map(len, words))) if number > 1 else 0.0


def _repeated(words: Sequence[str]) -> float:
    seen: set[tuple[str, ...]] = set()
    repeated: set[int] = set()
    for at in range(len(words) - 4):
        gram = tuple(words[at : at + 5])
        if gram in seen:
            repeated.update(range(at, at + 5))
        seen.add(gram)
    return _share(len(repeated), len(words))
