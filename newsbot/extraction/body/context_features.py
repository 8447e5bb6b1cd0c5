"""Computes features of a piece of text from another extractor's text, the headline, authors and pictures.

Teasers of other articles use other words than the article. A caption describes the picture beside it. Notes
about the author contain the author's name, and notes about the site contain the site's name. Labels before
links begin with the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.pieces import Piece
from newsbot.extraction.body.word_features import Columns, Known, Numbers
from newsbot.extraction.strings import words

_STEM = 5
"""Number of letters at the start of a word that are compared. The rest may be an ending."""
_LONG = 4
"""Maximum length of words that are ignored, because they are in every text. Single CJK characters count."""
_COMPARED = 60_000
"""Maximum number of letters of the text that are compared with a piece."""
_LOOKED_AT = 1000
"""Maximum number of letters of a piece that are compared."""
_LABEL = 12
"""Number of letters at the start of two pieces that must be equal if the pieces are alike."""
_CAPTION = 60
"""Number of letters at the start of a piece that are compared with captions."""
_MOST = 5.0
"""Maximum value of features that are counts."""


def company(
    pieces: Sequence[Piece], said: Sequence[list[str]], known: Known, extracted: str, found: Numbers
) -> Columns:
    """Return the features of each piece by name.

    ``said`` has the words at the start of each piece. ``extracted`` is the text of another extractor, and
    ``found`` is above 0 for the pieces of that text. A feature that is a share is -1 if there is nothing
    to compare the piece with.
    """
    starts = [piece.text[:_LOOKED_AT] for piece in pieces]
    stems = [Counter(_stems(own)) for own in said]
    headline = set(_stems(words(f"{' '.join(known.titles)} {known.description}"[:_LOOKED_AT])))
    whole = Counter(_stems(words(extracted[:_COMPARED])))
    shared = np.array(
        [_shared(own, whole, within=inside) for own, inside in zip(stems, (found > 0).tolist(), strict=True)],
        np.float32,
    )
    columns: Columns = {
        "shared": shared,
        "shared_title": np.array([_of_headline(own, headline) for own in stems], np.float32),
        "rare": np.array([len(own) for own in stems], np.float32),
    }
    # A single teaser may share words with the article by chance. The mean over all pieces in its box shows
    # that it is a teaser.
    weights = np.array([len(own) for own in stems], float)
    for step in (1, 2):
        columns[f"shared_group{step}"] = _by_box([piece.box.above(step) for piece in pieces], shared, weights)
    columns |= _pictures(pieces, known)
    lowered = [text.casefold() for text in starts]
    columns["says_author"] = _said(lowered, known.authors)
    # The names come from host names, which have no spaces.
    columns["says_site"] = _said([text.replace(" ", "") for text in lowered], known.site)
    columns["alike"] = _alike(starts)
    return columns


def _stems(said: list[str]) -> list[str]:
    return [word[:_STEM] for word in said if len(word) > _LONG or (len(word) == 1 and not word.isascii())]


def _shared(own: Counter[str], whole: Counter[str], *, within: bool) -> float:
    """Return the share of a piece's stems that occur in the text outside of the piece itself.

    ``within`` is True if the piece is part of that text. Then its own words do not count.
    """
    if not own or not whole:
        return -1.0
    # A stem occurs elsewhere in the text if the text contains it more often than the piece does.
    return sum(whole[stem] > (times if within else 0) for stem, times in own.items()) / len(own)


def _of_headline(own: Counter[str], headline: set[str]) -> float:
    return len(headline & own.keys()) / min(len(own), len(headline)) if own and headline else -1.0


def _by_box(boxes: list[object], shares: Numbers, weights: NDArray[np.float64]) -> Numbers:
    """Return for each piece the weighted mean of the shares in its box. Shares of -1 do not count."""
    numbers: dict[object, int] = {}
    keys = np.array([numbers.setdefault(box, len(numbers)) for box in boxes], np.intp)
    counted = np.where(shares >= 0, weights, 0.0)
    total = np.bincount(keys, counted)
    means = np.where(total > 0, np.bincount(keys, counted * shares) / np.maximum(total, 1.0), -1.0)
    result: Numbers = means[keys].astype(np.float32)
    return result


def _pictures(pieces: Sequence[Piece], known: Known) -> Columns:
    before = np.array([min(piece.pictures, _MOST) for piece in pieces], np.float32)
    return {
        "pictures": before,
        "pictures_next": np.append(before[1:], np.float32(0)),
        "caption": np.array([piece.text[:_CAPTION] in known.captions for piece in pieces], np.float32),
    }


def _said(texts: list[str], names: frozenset[str]) -> Numbers:
    return np.array([any(name in text for name in names) for text in texts], np.float32)


def _alike(starts: list[str]) -> Numbers:
    """Return for each piece the number of other pieces with the same first letters, at most _MOST.

    It is 0 if the first letters are only one word.
    """
    labels = [text[:_LABEL] if " " in text[:_LABEL].strip() and len(text) > _LABEL else "" for text in starts]
    seen = Counter(labels)
    return np.array([min(seen[label] - 1, _MOST) if label else 0 for label in labels], np.float32)
