"""The interface of readers. A reader reads a kind of source that is not a feed in a common format.

Examples are the API of a service, or a page with posts. The address of such a source is named like that of a
feed, and it is polled like a feed. Apps register readers (:attr:`newsbot.config.apps.App.readers`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import tzinfo
from typing import Protocol

from newsbot.pages.discovery.feeds import Feed, FeedError, parse_feed


class SourceReader(Protocol):
    """Reads one kind of source."""

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:
        """Return True if a response is of this kind. ``content_type`` is its header, empty if it has none."""

    def read(self, body: bytes, url: str, content_type: str, zone: tzinfo) -> Feed:
        """Return the links of a source.

        ``zone`` is the time zone of dates without one. ``Feed.ttl`` says how often the source may be polled
        at most. Raises :class:`newsbot.pages.discovery.feeds.FeedError`. The function may run in any thread.
        """


def read_source(
    readers: Sequence[SourceReader], body: bytes, url: str, content_type: str, zone: tzinfo
) -> Feed:
    """Read a source with the first reader that recognises it; otherwise as a feed.

    Any error of a reader counts as an invalid feed. Raises
    :class:`newsbot.pages.discovery.feeds.FeedError`.
    """
    for one in readers:
        try:
            if one.recognises(url, content_type, body):
                return one.read(body, url, content_type, zone)
        except FeedError:
            raise
        except Exception as error:
            logging.getLogger(__name__).exception("reader=%s failed url=%s", type(one).__name__, url)
            raise FeedError("not_a_feed") from error
    return parse_feed(body, url, content_type, zone=zone)
