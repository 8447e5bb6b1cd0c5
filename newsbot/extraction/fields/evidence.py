"""Evidence for the value of a field: the value, its source, and the trust in it."""

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
"""Names of methods, as they stand in ``Article.extraction``."""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """One possible value of a field.

    ``confidence`` is from 0 to 1 and orders the candidates of one field; it is not a probability.
    """

    value: T
    method: str
    confidence: float


def best(candidates: Iterable[Candidate[T]]) -> Candidate[T] | None:
    """Return the most trusted candidate, the first of equals; None if there is none."""
    return max(candidates, key=lambda candidate: candidate.confidence, default=None)
