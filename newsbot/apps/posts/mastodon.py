"""Reads accounts and tags of Mastodon, and of other servers with its API.

The address of an account is ``https://SERVER/@NAME``, that of a tag ``https://SERVER/tags/NAME``. Other sites
have such addresses too, so the page shows whether the server has the API. Then the posts of a tag are
requested, or the number of an account and its posts. The feeds of both (``.rss``) are read, too; they do not
tell edits.

Sources: https://docs.joinmastodon.org/methods/accounts/, …/methods/timelines/, …/entities/Status/.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from newsbot.apps.posts.post import (
    MAX_POSTS,
    POSTS,
    Post,
    PostFeed,
    inner,
    json_of,
    mappings,
    moment,
    named,
    tags_of,
    text,
    text_of_html,
    xml_of,
)
from newsbot.items import Medium
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction.fields.details import listed, medium

PAGE = 40
"""Number of posts of one request. It is the most that the API allows."""
_ACCOUNT = re.compile(r"/@([\w.-]{1,100}(?:@[\w.-]{1,200})?)/?")
_TAG = re.compile(r"/tags/([^/?]{1,200}?)/?")
_API = re.compile(r"/api/v1/(accounts/lookup|accounts/[\w-]{1,40}/statuses|timelines/tag/[^/]{1,300})")
# <div id="mastodon">; other servers with this API link to their ActivityPub document
_PAGE = re.compile(
    rb"""id=["']?(?:mastodon|initial-state)["'\s>]|<link[^>]{1,500}application/activity\+json"""
)
_GENERATOR = re.compile(rb"<generator>Mastodon v")
_HEAD = 100_000
_NUMBER = re.compile(r"[\w-]{1,40}")
_MEDIA = "{http://search.yahoo.com/mrss/}"


class Mastodon(SourceReader):
    """Reads the public posts of accounts and tags."""

    kind = POSTS

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        path, head = urlsplit(url).path, body[:_HEAD]
        if _API.fullmatch(path):
            return True
        is_page = (_TAG.fullmatch(path) or _ACCOUNT.fullmatch(path)) and _PAGE.search(head)
        return bool(is_page or _GENERATOR.search(head))

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        tag, account = _TAG.fullmatch(parts.path), _ACCOUNT.fullmatch(parts.path)
        if _GENERATOR.search(body[:_HEAD]):
            return PostFeed(posts=_of_feed(body))
        if tag is not None:
            name = quote(unquote(tag[1]), safe="")
            return PostFeed(next_url=f"{_origin(url)}/api/v1/timelines/tag/{name}?limit={PAGE}")
        if account is not None:
            name = urlencode({"acct": account[1]})
            return PostFeed(next_url=f"{_origin(url)}/api/v1/accounts/lookup?{name}")
        content = json_of(body)
        if parts.path.endswith("/lookup"):
            return PostFeed(next_url=_posts_of(content, url))
        if not isinstance(content, list):
            raise FeedError("not_a_feed")
        statuses = mappings(content)
        found = [post for one in statuses if (post := _post(one, url)) is not None]
        feed = PostFeed(posts=found, rows=len(statuses))
        if len(statuses) >= PAGE and (last := text(statuses[-1], "id")):
            query = dict(parse_qsl(parts.query)) | {"max_id": last}
            feed.next_url = parts._replace(query=urlencode(query)).geturl()
        return feed


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _posts_of(account: Any, url: str) -> str:
    """Return the address of the posts of an account. Raises :class:`FeedError`."""
    number = text(inner(account), "id")
    if not _NUMBER.fullmatch(number):
        raise FeedError("not_a_feed")
    if account.get("noindex") is True or account.get("suspended") is True:
        raise FeedError("no_posts")
    query = {"limit": PAGE, "exclude_replies": "true", "exclude_reblogs": "true"}
    return f"{_origin(url)}/api/v1/accounts/{number}/statuses?{urlencode(query)}"


def _post(status: dict[str, Any], url: str) -> Post | None:
    """Return a post. The result is None for boosts, for answers to others, and if it is not fully public."""
    account = inner(status, "account")
    answers = status.get("in_reply_to_id") and status.get("in_reply_to_account_id") != account.get("id")
    if status.get("reblog") or answers or status.get("visibility", "public") != "public":
        return None
    if account.get("noindex") is True:
        return None
    host, name = urlsplit(url).netloc, text(account, "acct")
    address = text(status, "url") or text(status, "uri")
    if urlsplit(address).netloc != host:  # the post of another server; this server shows it here
        address = f"{_origin(url)}/@{name}/{text(status, 'id')}"
    options = [f"– {text(one, 'title')}" for one in mappings(inner(status, "poll").get("options"))]
    sensitive = status.get("sensitive") is True
    return Post(
        url=address,
        text="\n".join([text_of_html(text(status, "content")), *options]).strip(),
        title=text(status, "spoiler_text").strip(),
        author=named(text(account, "display_name"), name if "@" in name else f"{name}@{host}"),
        published_at=moment(text(status, "created_at")),
        modified_at=moment(text(status, "edited_at")),
        language=text(status, "language") or None,
        tags=tags_of(text(one, "name") for one in mappings(status.get("tags"))),
        media=[] if sensitive else listed(map(_medium, mappings(status.get("media_attachments")))),
        sensitive=sensitive,
    )


def _medium(attachment: dict[str, Any]) -> Medium | None:
    original, form = inner(attachment, "meta", "original"), text(attachment, "type")
    return medium(
        text(attachment, "url"),
        form={"gifv": "video", "unknown": ""}.get(form, form),
        width=original.get("width"),
        height=original.get("height"),
        caption=text(attachment, "description"),
    )


def _of_feed(body: bytes) -> list[Post]:
    root = xml_of(body)
    channel = root.find("channel")
    author = "" if channel is None else (channel.findtext("title") or "")
    return [_of_item(item, author) for item in root.iter("item")][:MAX_POSTS]


def _of_item(item: Any, author: str) -> Post:
    found = [
        medium(
            one.get("url") or "",
            mime=one.get("type") or "",
            size=one.get("fileSize"),
            caption=one.findtext(f"{_MEDIA}description") or "",
        )
        for one in item.iter(f"{_MEDIA}content")
    ]
    sensitive = any(one.findtext(f"{_MEDIA}rating") == "adult" for one in item.iter(f"{_MEDIA}content"))
    return Post(
        url=item.findtext("link") or item.findtext("guid") or "",
        text=text_of_html(item.findtext("description") or ""),
        author=author,
        published_at=moment(item.findtext("pubDate")),
        tags=tags_of(one.text or "" for one in item.iter("category")),
        media=[] if sensitive else listed(found),
        sensitive=sensitive,
    )


READER = Mastodon()
