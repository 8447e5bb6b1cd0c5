"""Joins the stories of texts that resemble each other, whatever the order in which workers meet them.

A text is put into the index before it is stored; of two workers that meet like texts at the same instant at
least one finds the other's there (its *peer*), stored or not. So after an article was stored its story is
joined with those of its peers (:meth:`newsbot.storage.stories.Stories.join`). A peer that is not stored
yet counts by the story that it would begin, which leads to the joined one from then on; when that peer is
stored, it looks where its own story is now. Each writes first and looks then: of two at least one sees what
the other has written.

A worker may be killed at any moment, and its page is fetched again. Its peers are found again only if it was
not stored. So their stories are joined before that, without its own; and a page that is unchanged still looks
where its story is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.decision import Decision, Neighbour, decide, numbers_in
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import exact, shingle_hashes
from newsbot.items import Article
from newsbot.storage.base import Storage
from newsbot.storage.stories import story_id


def settle(storage: Storage, canonical_url: str, peers: Sequence[str], kept_as: str | None = None) -> str:
    """Bring the article that was just stored under ``canonical_url`` and its peers into one story; return it.

    ``peers`` are :attr:`newsbot.dedup.decision.Decision.peers`. ``kept_as``: the address of the article that
    has its text, if it was not stored itself. Doing it again does no harm. Raises
    :class:`newsbot.errors.DataError` kinds.
    """
    urls = [canonical_url, *([kept_as] if kept_as else []), *peers]
    story = join(storage, urls)
    kept = storage.articles.get(canonical_url) if peers or kept_as else None
    if kept is not None and kept.duplicate_of is not None and kept.story is not None:
        twin = storage.articles.get(kept.duplicate_of)
        if twin is not None and story_id(twin.canonical_url) == story_id(kept.canonical_url):
            # the address that it nearly equals turned out to be one of its own
            storage.stories.assign(kept.canonical_url, kept.story, None)
    return story


def join(storage: Storage, canonical_urls: Sequence[str]) -> str:
    """Bring the stories of articles into one; return it. One that is not stored may be stored meanwhile.

    Raises :class:`newsbot.errors.DataError` kinds.
    """
    joined = storage.stories.join(canonical_urls)
    if joined.missing:
        joined = storage.stories.join(canonical_urls)
    return joined.story


MAX_NEIGHBOURS = 20
"""The nearest texts that are read. Further ones of other sites join by their signatures alone; those of the
same site, where numbers must be compared, are left: each of them was compared with its own nearest."""
OUTDATED = 0.2
"""Where the stored text is so much less alike than the signature says (over four standard errors), the
signature is that of a new version on its way to storage, and counts as that of a text that is not stored."""


def place(article: Article, near: Iterable[Near], kept: Mapping[str, Article]) -> Decision:
    """Decide where an article belongs; ``kept``: by their id in the index, the texts that are at hand."""
    shingles = shingle_hashes(article.text) if kept else None
    found = [_neighbour(one, kept.get(one.doc_id), shingles) for one in near]
    neighbours = [one for one in found if one.exact is not None or one.near.source != article.source]
    return decide(article.canonical_url, article.source, numbers_in(article.text), neighbours)


def _neighbour(near: Near, kept: Article | None, shingles: NDArray[np.uint32] | None) -> Neighbour:
    if kept is None or shingles is None:
        return Neighbour(near=near, story=None)
    # under the address that has the text: it may be the very page that asks
    stored = replace(near, doc_id=kept.canonical_url)
    alike = exact(shingles, shingle_hashes(kept.text))
    if near.similarity - alike[0] > OUTDATED:
        return Neighbour(stored, kept.story)
    return Neighbour(stored, kept.story, numbers_in(kept.text), alike)
