"""Reads the feeds of channels and playlists of YouTube, with the descriptions of the videos.

The address of a channel is ``https://www.youtube.com/channel/ID`` or ``https://www.youtube.com/@NAME``.
The page of the second form names the feed.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from newsbot.apps.posts.post import MAX_POSTS, MAX_TEXT, POSTS, Post, PostFeed, moment, xml_of
from newsbot.items import Medium
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction.fields.details import listed, medium

_HOSTS = ("youtube.com", "www.youtube.com", "m.youtube.com")
_CHANNEL = re.compile(r"/channel/(UC[\w-]{22})/?(?:videos|shorts|streams|featured)?/?")
_HANDLE = re.compile(r"/(?:@|c/|user/)[\w.·-]{1,100}/?(?:videos|shorts|streams|featured)?/?")
_FEED = "/feeds/videos.xml"
_LINK = re.compile(rb"/feeds/videos\.xml\?channel_id=(UC[\w-]{22})")
_ATOM, _MEDIA = "{http://www.w3.org/2005/Atom}", "{http://search.yahoo.com/mrss/}"
_VIDEO = re.compile(r"[\w-]{5,20}")


class YouTube(SourceReader):
    """Reads the videos of a channel."""

    kind = POSTS

    def claims(self, url: str) -> bool:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname in _HOSTS and (
            parts.path in (_FEED, "/playlist")
            or any(one.fullmatch(parts.path) is not None for one in (_CHANNEL, _HANDLE))
        )

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        if found := _CHANNEL.fullmatch(parts.path):
            return _feed(url, "channel_id", found[1])
        if parts.path == "/playlist":
            return _feed(url, "playlist_id", "".join(parse_qs(parts.query).get("list", ())[:1]))
        return url

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        if urlsplit(url).path != _FEED:
            if (found := _LINK.search(body)) is None:
                raise FeedError("no_posts")
            return PostFeed(next_url=_feed(url, "channel_id", found[1].decode()))
        root = xml_of(body)
        if root.tag != f"{_ATOM}feed":
            raise FeedError("not_a_feed")
        entries = list(root.iter(f"{_ATOM}entry"))[:MAX_POSTS]
        return PostFeed(posts=[post for one in entries if (post := _post(one)) is not None])


def _feed(url: str, key: str, value: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://www.youtube.com{_FEED}?{urlencode({key: value})}"


def _post(entry: Any) -> Post | None:
    number = (entry.findtext("{http://www.youtube.com/xml/schemas/2015}videoId") or "").strip()
    if not _VIDEO.fullmatch(number):
        return None
    group = entry.find(f"{_MEDIA}group")
    description = "" if group is None else (group.findtext(f"{_MEDIA}description") or "")
    pictures = [] if group is None else list(group.iter(f"{_MEDIA}thumbnail"))
    title = entry.findtext(f"{_ATOM}title") or ""
    address = f"https://www.youtube.com/watch?v={number}"
    return Post(
        url=address,
        title=title.strip(),
        # A video without a description is a post as well.
        text="\n".join(
            line.strip() for line in (description or title)[:MAX_TEXT].splitlines() if line.strip()
        ),
        author=entry.findtext(f"{_ATOM}author/{_ATOM}name") or "",
        published_at=moment(entry.findtext(f"{_ATOM}published")),
        modified_at=moment(entry.findtext(f"{_ATOM}updated")),
        media=listed([medium(address, form="video", caption=title), *map(_picture, pictures)]),
    )


def _picture(element: Any) -> Medium | None:
    size = {name: element.get(name) for name in ("width", "height")}
    return medium(element.get("url") or "", form="image", **size)


READER = YouTube()
