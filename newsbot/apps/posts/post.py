"""One post, as the readers of all services return it.

The reader here reads JSON Feeds with notes: items without a title, whose content is in the feed. JSON Feed
calls such items posts of a microblog. The items with a title are articles; their pages are fetched. Source:
https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring

from newsbot.clock import system_clock, utc
from newsbot.items import Kind, Medium
from newsbot.pages.discovery.dates import SiteDates, parse_date
from newsbot.pages.discovery.feeds import Feed, FeedError, parse_feed
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction.fields.details import listed, medium
from newsbot.pages.text.words import squash
from newsbot.urls import absolute

POSTS = Kind("posts", like=Kind.FEED)
MAX_POSTS = 200
"""Maximum number of posts that are read of one answer."""
MAX_TEXT = 50_000
"""Maximum number of characters of a post. The rest is left out."""
MAX_TITLE = 100
"""Maximum number of characters of a title that is made from the text."""
MAX_TAGS = 30
MAX_NAME = 200
SENSITIVE = "sensitive"
"""The tag of posts that their author or the service marks as sensitive. Their media are not listed."""
_BLOCKS = ("p", "div", "li", "ul", "ol", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(slots=True, kw_only=True)
class Post:
    """One post."""

    url: str
    text: str
    title: str = ""
    """Empty if the first line of the text is the title."""
    author: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    """The time of the last edit."""
    language: str | None = None
    tags: Sequence[str] = ()
    media: Sequence[Medium] = ()
    sensitive: bool = False


@dataclass(slots=True, kw_only=True)
class PostFeed(Feed):
    """A source with posts. ``next_url`` is the address of its next part, which has older posts."""

    posts: list[Post] = field(default_factory=list)
    rows: int = 0
    """The number of all posts in the answer, with those that are left out."""
    oldest: datetime | None = None
    """The time of the oldest of them."""

    def __post_init__(self) -> None:
        times = [post.published_at for post in self.posts if post.published_at is not None]
        self.rows = self.rows or len(self.posts)
        self.oldest = self.oldest or min(times, default=None)


def title_of(text: str) -> str:
    """Return the first line of a text, shortened at a word."""
    line = text.strip().partition("\n")[0].strip()
    if len(line) <= MAX_TITLE:
        return line
    cut = line[: MAX_TITLE - 1]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,;:–—-')}…"


def text_of_html(html: str) -> str:
    """Return the text of a piece of HTML: one line for each paragraph, and the whole addresses of links.

    The address of a quoted post, which some servers write before the text, comes last.
    """
    if not html.strip():
        return ""
    try:
        root = fragment_fromstring(html[: 4 * MAX_TEXT], create_parent="div")
        for quoted in root.find_class("quote-inline"):
            quoted.drop_tree()
            root.append(quoted)
        return text_of_tree(root)
    except (etree.LxmlError, ValueError):  # ValueError: characters that XML forbids
        return ""


def text_of_tree(root: HtmlElement) -> str:
    """Return the text of an element, with a line for each paragraph."""
    parts: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        is_text = isinstance(element.tag, str) and element.tag not in ("script", "style")
        if event == "start":
            starts = element.tag in (*_BLOCKS, "br") or element.get("class") == "quote-inline"
            parts.append("\n" if starts else "")
            parts.append((element.text or "") if is_text else "")
        else:
            parts.append("\n" if element.tag in _BLOCKS else "")
            parts.append((element.tail or "") if element is not root else "")
    lines = map(squash, "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)[:MAX_TEXT]


def json_of(body: bytes) -> Any:
    """Return the content of a JSON document. Raises :class:`FeedError`."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FeedError("not_a_feed") from error


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list of a JSON document; an empty list for all other values."""
    found = value[:MAX_POSTS] if isinstance(value, list) else ()
    return [one for one in found if isinstance(one, dict)]


def inner(value: Any, *names: str) -> dict[str, Any]:
    """Return the object at a path in a JSON document; an empty one if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: Mapping[str, Any], name: str) -> str:
    """Return a text in a JSON object; empty if it is something else."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def strings(value: Any) -> list[str]:
    """Return the texts in a list of a JSON document; an empty list for all other values."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def xml_of(body: bytes) -> Any:
    """Return the root of an XML document. Raises :class:`FeedError`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        root = etree.fromstring(body, parser)
    except etree.XMLSyntaxError as error:
        raise FeedError("not_a_feed") from error
    if root is None:
        raise FeedError("not_a_feed")
    return root


def moment(stated: str | None) -> datetime | None:
    """Return a time in the form of ISO 8601 or RFC 822, in UTC; None if it is wrong or in the future."""
    return parse_date(stated or "", now=utc(system_clock()))


def named(name: str, account: str) -> str:
    """Return the author of a post: the shown name, and the account."""
    name = squash(name)[:MAX_NAME]
    return f"{name} (@{account[:MAX_NAME]})" if name and name != account else f"@{account[:MAX_NAME]}"


def tags_of(names: Iterable[str]) -> list[str]:
    """Return tags without their sign, each once."""
    found = (squash(name).lstrip("#")[:MAX_NAME] for name in names)
    return list(dict.fromkeys(name for name in found if name))[:MAX_TAGS]


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
