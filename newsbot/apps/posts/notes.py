"""Reads JSON Feeds with notes: items without a title, whose content is in the feed.

JSON Feed calls such items posts of a microblog. The items with a title are articles; their pages are fetched.
Source: https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import re
from typing import Any

from newsbot.apps.posts.post import (
    MAX_TEXT,
    POSTS,
    Post,
    PostFeed,
    inner,
    json_of,
    mappings,
    moment,
    strings,
    tags_of,
    text,
    text_of_html,
)
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction.fields.media import listed, medium
from newsbot.urls import absolute

_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version")


class Notes(SourceReader):
    """Reads the notes of a JSON Feed."""

    kind = POSTS

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        if not body[:20].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or b"jsonfeed.org" not in body:
            return False
        try:
            feed = inner(json_of(body))  # the members of an object have no order
        except ValueError:
            return False
        is_feed = _VERSION.match(text(feed, "version")) is not None
        return is_feed and any(map(_is_note, mappings(feed.get("items"))))

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        content, feed = inner(json_of(body)), parse_feed(body, url, content_type, dates=dates)
        posts = [_note(one, content, url) for one in mappings(content.get("items")) if _is_note(one)]
        known = {post.url for post in posts}
        return PostFeed(
            links=[link for link in feed.links if link.url not in known],
            posts=posts,
            hubs=feed.hubs,
            self_url=feed.self_url,
            problems=feed.problems,
        )


def _is_note(item: dict[str, Any]) -> bool:
    has_text = bool(text(item, "content_text").strip() or text(item, "content_html").strip())
    return has_text and not text(item, "title").strip() and bool(text(item, "url") or text(item, "id"))


def _note(item: dict[str, Any], feed: dict[str, Any], url: str) -> Post:
    authors = mappings(item.get("authors")) or mappings(feed.get("authors")) or [inner(feed, "author")]
    plain = "\n".join(line.strip() for line in text(item, "content_text").splitlines() if line.strip())
    files = [
        medium(
            text(one, "url"),
            mime=text(one, "mime_type"),
            size=one.get("size_in_bytes"),
            caption=text(one, "title"),
        )
        for one in [{"url": text(item, "image"), "mime_type": "image/*"}, *mappings(item.get("attachments"))]
    ]
    return Post(
        url=absolute(url, text(item, "url") or text(item, "id")) or "",
        text=text_of_html(text(item, "content_html")) or plain[:MAX_TEXT],
        author=text(authors[0], "name"),
        published_at=moment(text(item, "date_published")),
        modified_at=moment(text(item, "date_modified")),
        language=text(item, "language") or text(feed, "language") or None,
        tags=tags_of(strings(item.get("tags"))),
        media=listed(files),
    )


READER = Notes()
