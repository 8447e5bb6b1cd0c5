"""Reads accounts of Bluesky with its public API, without an account: ``https://bsky.app/profile/NAME``.

Sources: https://docs.bsky.app/docs/api/app-bsky-feed-get-author-feed, https://docs.bsky.app/docs/advanced-guides/post-richtext.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from newsbot.apps.posts.post import (
    MAX_TEXT,
    POSTS,
    Post,
    PostFeed,
    inner,
    json_of,
    mappings,
    moment,
    named,
    strings,
    tags_of,
    text,
)
from newsbot.items import Medium
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction.fields.details import listed, medium

API = "public.api.bsky.app"
PAGE = 50
"""Number of posts of one request; the API allows 100."""
_METHOD = "/xrpc/app.bsky.feed.getAuthorFeed"
_ACCOUNT = re.compile(r"/profile/([\w.:%-]{3,250})/?")
_POST = re.compile(r"at://(did:[\w:.%-]{5,250})/app\.bsky\.feed\.post/([\w.~:-]{1,100})")
_HIDDEN = ("!hide", "!takedown", "!no-unauthenticated")
"""Labels with which an account or the service asks not to show posts to people without an account."""
_FEATURE = "app.bsky.richtext.facet#"
_VIEW = "app.bsky.embed."


class Bluesky(SourceReader):
    """Reads the posts of an account."""

    kind = POSTS

    def claims(self, url: str) -> bool:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname == "bsky.app" and _ACCOUNT.fullmatch(parts.path) is not None

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        found = _ACCOUNT.fullmatch(parts.path)
        query = {
            "actor": unquote(found[1]) if found else "",
            "filter": "posts_and_author_threads",
            "limit": PAGE,
        }
        return f"{parts.scheme}://{API}{_METHOD}?{urlencode(query)}"

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname == API and parts.path == _METHOD

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        content = inner(json_of(body))
        if not isinstance(content.get("feed"), list):
            raise FeedError("not_a_feed")
        rows = mappings(content["feed"])
        times = [found for one in rows if (found := _time_of(one)) is not None]
        feed = PostFeed(
            posts=[post for one in rows if (post := _post(one)) is not None],
            rows=len(rows),
            oldest=min(times, default=None),
        )
        if rows and (cursor := text(content, "cursor")):
            parts = urlsplit(url)
            query = dict(parse_qsl(parts.query)) | {"cursor": cursor}
            feed.next_url = parts._replace(query=urlencode(query)).geturl()
        return feed


def _post(row: dict[str, Any]) -> Post | None:
    """Return a post; None for reposts, for answers to others, and for hidden posts."""
    view = inner(row, "post")
    author, record = inner(view, "author"), inner(view, "record")
    address = _POST.fullmatch(text(view, "uri"))
    labels = {text(one, "val") for part in (author, view) for one in mappings(part.get("labels"))}
    labels |= {text(one, "val") for one in mappings(inner(record, "labels").get("values"))}
    if address is None or labels.intersection(_HIDDEN) or inner(row, "reason"):
        return None
    # The posts that are answered are in the same account if their addresses begin with the same identifier.
    answered = [text(inner(record, "reply", name), "uri") for name in ("parent", "root")]
    if not all(one.startswith(f"at://{address[1]}/") for one in answered if one):
        return None
    sensitive, embed = bool(labels), inner(view, "embed")
    said = _with_whole_links(text(record, "text")[:MAX_TEXT], mappings(record.get("facets")))
    card = text(inner(inner(embed, "media") or embed, "external"), "uri")
    return Post(
        url=f"https://bsky.app/profile/{address[1]}/post/{address[2]}",
        # The link of a post is often in its card only.
        text=said if not said or card in said else f"{said}\n{card[:2000]}",
        author=named(text(author, "displayName"), text(author, "handle")),
        published_at=moment(text(record, "createdAt")) or moment(text(view, "indexedAt")),
        language=next(iter(strings(record.get("langs"))), None),
        tags=tags_of([*strings(record.get("tags")), *_features(record, "tag")]),
        media=[] if sensitive else listed(_media(embed)),
        sensitive=sensitive,
    )


def _time_of(row: dict[str, Any]) -> datetime | None:
    """Return the time of a post or a repost in the account."""
    return moment(text(inner(row, "reason") or inner(row, "post"), "indexedAt"))


def _features(record: dict[str, Any], name: str) -> list[str]:
    """Return the values of the facets of one type: tags, links or mentions."""
    features = (one for facet in mappings(record.get("facets")) for one in mappings(facet.get("features")))
    return [text(one, name) for one in features if text(one, "$type") == _FEATURE + name]


def _with_whole_links(shown: str, facets: list[dict[str, Any]]) -> str:
    """Replace shortened addresses in a text by the addresses. Facets count the bytes of the text in UTF-8."""
    encoded = shown.encode()
    places = []
    for facet in facets:
        index = inner(facet, "index")
        start, end = index.get("byteStart"), index.get("byteEnd")
        uri = next((text(one, "uri") for one in mappings(facet.get("features")) if text(one, "uri")), "")
        if uri and isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(encoded):
            places.append((start, end, uri[:2000]))
    # from the end, so that the places of the others stay valid
    before = len(encoded)
    for start, end, uri in sorted(places, reverse=True):
        if end <= before and encoded[start:end].rstrip().endswith((b"...", "…".encode())):
            encoded = encoded[:start] + uri.encode() + encoded[end:]
        before = min(before, start)
    return encoded.decode("utf-8", "ignore").strip()


def _media(embed: dict[str, Any]) -> list[Medium | None]:
    embed = inner(embed, "media") or embed  # a quotation with media
    if text(embed, "$type") == f"{_VIEW}video#view":
        return [_medium(embed, text(embed, "playlist"), "video")]
    return [
        _medium(one, text(one, "fullsize"), "image")
        for one in mappings(embed.get("images") or embed.get("items"))
    ]


def _medium(view: dict[str, Any], url: str, form: str) -> Medium | None:
    # The ratio of the sides is that of the picture in pixels in most programs, but need not be.
    return medium(url, form=form, caption=text(view, "alt"))


READER = Bluesky()
