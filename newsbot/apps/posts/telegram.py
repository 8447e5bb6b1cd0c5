"""Reads public channels of Telegram from the page that it shows to everybody: ``https://t.me/NAME``.

The page ``https://t.me/s/NAME`` has the last posts. Channels without this page, groups and private channels
are not read.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from newsbot.apps.posts.post import MAX_POSTS, POSTS, Post, PostFeed, moment, named, tags_of, text_of_tree
from newsbot.errors import NotAnArticle
from newsbot.items import Medium
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction.fields.details import listed, medium

_HOSTS = ("t.me", "telegram.me")
_CHANNEL = re.compile(r"/(?:s/)?([A-Za-z]\w{3,31})/?")
_POST = re.compile(r"(\w{4,32})/(\d{1,12})")
_BACKGROUND = re.compile(r"background-image:\s*url\(['\"]?(https?://[^'\")\s]{1,2000})")
_WIDTH = re.compile(r"width:(\d{2,5})px")
_SIZE = re.compile(r"([\d.]{1,8})\s*(KB|MB|GB)")
_UNITS = {"KB": 1024, "MB": 1024**2, "GB": 1024**3}


class Telegram(SourceReader):
    """Reads the posts of a channel."""

    kind = POSTS

    def claims(self, url: str) -> bool:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname in _HOSTS and _CHANNEL.fullmatch(parts.path) is not None

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        found = _CHANNEL.fullmatch(parts.path)
        return f"{parts.scheme}://t.me/s/{found[1] if found else ''}"

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        try:
            tree = parse_html(body, "utf-8")
        except NotAnArticle as error:
            raise FeedError("not_a_feed") from error
        messages = [one for one in tree.iter("div") if one.get("data-post")]
        if not messages:
            raise FeedError("no_posts")
        feed = PostFeed(posts=[post for one in messages[:MAX_POSTS] if (post := _post(one)) is not None])
        older = next((one.get("data-before") for one in tree.iter("a") if one.get("data-before")), "")
        if older and older.isdecimal():
            feed.next_url = urljoin(url, f"{urlsplit(url).path}?before={older}")
        return feed


def _with(root: HtmlElement, name: str) -> list[HtmlElement]:
    """Return the elements with a class."""
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


def _post(message: HtmlElement) -> Post | None:
    """Return a post; None if it is forwarded from elsewhere, or a message of Telegram itself."""
    address = _POST.fullmatch(message.get("data-post") or "")
    forwarded = ("tgme_widget_message_forwarded_from", "tgme_widget_message_forwarded_from_name")
    if address is None or any(_with(message, name) for name in forwarded):
        return None
    if "service_message" in (message.get("class") or "").split():
        return None
    texts = _with(message, "tgme_widget_message_text")
    # A quotation of another post has the same class, and is inside the part for answers.
    own = [one for one in texts if not any(_is_answer(above) for above in one.iterancestors())]
    owner = next(iter(_with(message, "tgme_widget_message_owner_name")), None)
    times = [one.get("datetime") for one in message.iter("time") if one.get("datetime")]
    links = [one for text in own for one in text.iter("a")]
    question = _with(message, "tgme_widget_message_poll_question")
    options = _with(message, "tgme_widget_message_poll_option_text")
    lines = [*map(text_of_tree, [*own[:1], *question]), *(f"– {text_of_tree(one)}" for one in options)]
    return Post(
        url=f"https://t.me/{address[1]}/{address[2]}",
        text="\n".join(lines),
        author=named("" if owner is None else owner.text_content(), address[1]),
        published_at=moment(times[-1] if times else None),
        tags=tags_of(one.text_content() for one in links if (one.text_content() or "").startswith("#")),
        media=listed(_media(message)),
    )


def _is_answer(element: HtmlElement) -> bool:
    return "tgme_widget_message_reply" in (element.get("class") or "").split()


def _media(message: HtmlElement) -> list[Medium | None]:
    found = []
    for one in _with(message, "tgme_widget_message_photo_wrap"):
        style = one.get("style") or ""
        picture, width = _BACKGROUND.search(style), _WIDTH.search(style)
        found.append(medium(picture[1] if picture else "", form="image", width=width[1] if width else None))
    found += [medium(one.get("src") or "", form="video") for one in message.iter("video")]
    found += [medium(one.get("src") or "", form="audio") for one in message.iter("audio")]
    return found


READER = Telegram()
