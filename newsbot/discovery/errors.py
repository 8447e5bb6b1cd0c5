"""Why a source could not be read at all.

::

    ValueError
    └── SourceError         ``reason`` is a short stable token
        ├── FeedError       empty | html | not_a_feed
        └── SitemapError    empty | html | not_a_sitemap

Lesser faults (a bad date, a broken end) do not raise: they are counted in ``problems`` of the result.
"""

from __future__ import annotations

from typing import Literal


class SourceError(ValueError):
    """The body is not what it was taken for; ``reason`` says in what way."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FeedError(SourceError):
    """The body is no feed."""

    def __init__(self, reason: Literal["empty", "html", "not_a_feed"]) -> None:
        super().__init__(reason)


class SitemapError(SourceError):
    """The body is no sitemap."""

    def __init__(self, reason: Literal["empty", "html", "not_a_sitemap"]) -> None:
        super().__init__(reason)
