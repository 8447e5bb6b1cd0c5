"""Where an article belongs among the texts that the index found like it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.decision import Decision, Neighbour, decide, numbers_in
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import exact, shingle_hashes
from newsbot.items import Article

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
