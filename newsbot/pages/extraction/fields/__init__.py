"""Finds the fields of an article besides its text.

Files in reading order:

* ``titles``: headlines, without the name of the site
* ``authors``: the names of the authors and of news agencies
* ``published``: when the article was published and changed, chosen between the candidates
* ``date_candidates``: times in the metadata and the visible text of a page, in its URL, and in the link to
  the page; decides whether a place on the page can hold the article's own date
* ``moments``: parses dates and times, including other digits and other calendars; the country and the time
  zone of a site
* ``details``: summary, section, tags, main picture, media; live blogs, galleries and teasers

Each of them finds candidates: values with their source, and the confidence in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

RULE = "rule"
JSON_LD = "json-ld"
MICRODATA = "microdata"
OPEN_GRAPH = "og"
META = "meta"
TIME_TAG = "time-tag"
VISIBLE = "visible"
FEED = "feed"
SITEMAP = "sitemap"
URL = "url"
GENERIC = "generic"
DERIVED = "derived"
"""These strings name the source of a value.

They are stored in ``Article.extraction``. ``GENERIC`` stands for data of the page's scripts. ``DERIVED``
means that the value was made from the text.
"""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """One possible value of a field.

    ``confidence`` is from 0 to 1. It orders the candidates of one field and is not a probability.
    """

    value: T
    method: str
    confidence: float


def best(candidates: Iterable[Candidate[T]]) -> Candidate[T] | None:
    """Return the candidate with the highest confidence, or None if there are no candidates.

    If several candidates have the highest confidence, the first one is returned.
    """
    return max(candidates, key=lambda candidate: candidate.confidence, default=None)
