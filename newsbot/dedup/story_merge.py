"""Merges the stories of similar texts. The order in which workers process the texts does not matter.

A text is inserted into the index before it is stored. If two workers process similar texts at the same time,
at least one finds the other's text in the index (its *peer*), stored or not. After an article is stored, its
story is merged with those of its peers (:meth:`newsbot.storage.stories.Stories.join`). A peer that is not
stored yet takes part with the story that it would begin, and that story is redirected to the merged one. When
the peer is stored, it looks up the current story. Each worker writes first and reads afterwards, so at least
one of two sees the other's write.

A worker may be killed at any time, and its page is then fetched again. The peers are found again only if the
article was not stored. Therefore the stories of the peers are merged before the article is stored, without
its own story, and an unchanged page also looks up its current story.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.decision import (
    DERIVED,
    Decision,
    Neighbour,
    continues,
    decide,
    is_formula,
    without_formulas,
)
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import MIN_SHINGLES, exact, shingle_hashes
from newsbot.dedup.numbers import numbers_in
from newsbot.items import Article
from newsbot.storage.base import Storage
from newsbot.storage.stories import story_id


def settle(storage: Storage, canonical_url: str, peers: Sequence[str], kept_as: str | None = None) -> str:
    """Merge the stories of an article that was just stored and of its peers. Return the story.

    ``peers`` are :attr:`newsbot.dedup.decision.Decision.peers`. ``kept_as`` is the URL of the article that
    has the same text, if this one was not stored itself. Idempotent. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    urls = [canonical_url, *([kept_as] if kept_as else []), *peers]
    story = join(storage, urls)
    kept = storage.articles.get(canonical_url) if peers or kept_as else None
    if kept is not None and kept.duplicate_of is not None and kept.story is not None:
        twin = storage.articles.get(kept.duplicate_of)
        if twin is not None and story_id(twin.canonical_url) == story_id(kept.canonical_url):
            # duplicate_of turned out to be another form of the article's own URL
            storage.stories.assign(kept.canonical_url, kept.story, None)
    return story


def join(storage: Storage, canonical_urls: Sequence[str]) -> str:
    """Merge the stories of articles into one and return it. Articles may be stored at the same time.

    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    joined = storage.stories.join(canonical_urls)
    if joined.missing:  # a missing article may have been stored during the first call
        joined = storage.stories.join(canonical_urls)
    return joined.story


MAX_NEIGHBOURS = 20
"""Maximum number of near texts that are read from the storage. Further texts of other sites are judged by
their signatures alone. Further texts of the same site, whose numbers would have to be compared, are ignored:
each was compared with its own nearest texts."""
OUTDATED = 0.2
"""Difference between estimated and exact similarity (over four standard errors) from which the signature is
taken for a new version that is not stored yet. The text then counts as not stored."""


def place(article: Article, near: Iterable[Near], kept: Mapping[str, Article]) -> Decision:
    """Decide to which story an article belongs. ``kept`` holds the stored articles by their id in the index.

    For a short article, only neighbours in ``kept`` whose text is not standard wording count.
    """
    shingles = shingle_hashes(article.text) if kept else None
    if shingles is not None and len(shingles) < MIN_SHINGLES:
        kept = {key: text for key, text in kept.items() if not is_formula(article, text, text.text)}
        near = [one for one in near if one.doc_id in kept]
    found = [_neighbour(one, article, kept.get(one.doc_id), shingles) for one in near]
    neighbours = [one for one in found if one.exact is not None or one.near.source != article.source]
    numbers = numbers_in(article.text if neighbours else "")  # most articles have no neighbours
    return decide(article.canonical_url, article.source, numbers, neighbours)


def _neighbour(
    near: Near, article: Article, kept: Article | None, shingles: NDArray[np.uint32] | None
) -> Neighbour:
    """Return a near text with its stored article's data; ``shingles`` are those of ``article``."""
    if kept is None or shingles is None:
        return Neighbour(near=near, story=None)
    # use the URL that the text is stored under: it may be that of the article itself
    stored = replace(near, doc_id=kept.canonical_url)
    theirs = shingle_hashes(kept.text)
    alike = exact(shingles, theirs)
    if near.similarity - alike[0] > OUTDATED:
        return Neighbour(stored, kept.story)
    if alike[1] >= DERIVED:
        alike = without_formulas(article, kept) or alike
    longer = len(shingles) > len(theirs) if continues(article, kept, alike) else None
    return Neighbour(stored, kept.story, numbers_in(kept.text), alike, longer)
