"""Reads posts from the answers of services: one reader for each service, and their common parts.

Mastodon, and other servers with its API: the address of an account is ``https://SERVER/@NAME``, that of a tag
``https://SERVER/tags/NAME``. Other sites have such addresses too, so the page shows whether the server has
the API. Then the posts of a tag are requested, or the number of an account and its posts. The feeds of both
(``.rss``) are read, too; they do not tell edits. Sources:
https://docs.joinmastodon.org/methods/accounts/, …/methods/timelines/, …/entities/Status/.

Bluesky: ``https://bsky.app/profile/NAME``, with its public API, without an account. Sources:
https://docs.bsky.app/docs/api/app-bsky-feed-get-author-feed, https://docs.bsky.app/docs/advanced-guides/post-richtext.

Telegram: public channels (``https://t.me/NAME``), from the page that it shows to everybody. The page
``https://t.me/s/NAME`` has the last posts. Channels without this page, groups and private channels are not
read.

YouTube: the feeds of channels and playlists, with the descriptions of the videos. The address of a channel is
``https://www.youtube.com/channel/ID`` or ``https://www.youtube.com/@NAME``. The page of the second form names
the feed.

JSON Feeds with notes: items without a title, whose content is in the feed. JSON Feed calls such items posts
of a microblog. The items with a title are articles; their pages are fetched. Source:
https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring

from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.items import Kind, Medium
from newsbot.pages.discovery.dates import SiteDates, parse_date
from newsbot.pages.discovery.feeds import Feed, FeedError, parse_feed
from newsbot.pages.discovery.reader import SourceReader
from newsbot.pages.extraction import parse_html
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
Row = TypeVar("Row")
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


class Service(SourceReader):
    """Reads the posts of a service, whose accounts have addresses at :attr:`hosts`."""

    kind = POSTS
    hosts: tuple[str, ...] = ()
    path: re.Pattern[str]
    """Matches the paths of accounts."""

    def claims(self, url: str) -> bool:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname in self.hosts and self.path.fullmatch(parts.path) is not None


def posts_of(rows: Iterable[Row], read: Callable[[Row], Post | None]) -> list[Post]:
    """Return the posts that ``read`` makes of rows; it returns None for those that are left out."""
    return [post for post in map(read, rows) if post is not None]


def _with_query(url: str, **more: str) -> str:
    """Return an address with further or other parameters."""
    parts = urlsplit(url)
    return parts._replace(query=urlencode(dict(parse_qsl(parts.query)) | more)).geturl()


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


API = "public.api.bsky.app"
BLUESKY_PAGE = 50
"""Number of posts of one request; the API allows 100."""
_AUTHOR_FEED = "/xrpc/app.bsky.feed.getAuthorFeed"
_BLUESKY_POST = re.compile(r"at://(did:[\w:.%-]{5,250})/app\.bsky\.feed\.post/([\w.~:-]{1,100})")
_HIDDEN = ("!hide", "!takedown", "!no-unauthenticated")
"""Labels with which an account or the service asks not to show posts to people without an account."""
_FEATURE = "app.bsky.richtext.facet#"
_VIEW = "app.bsky.embed."


class Bluesky(Service):
    """Reads the posts of an account."""

    hosts, path = ("bsky.app",), re.compile(r"/profile/([\w.:%-]{3,250})/?")

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        found = self.path.fullmatch(parts.path)
        query = {
            "actor": unquote(found[1]) if found else "",
            "filter": "posts_and_author_threads",
            "limit": BLUESKY_PAGE,
        }
        return f"{parts.scheme}://{API}{_AUTHOR_FEED}?{urlencode(query)}"

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        return parts.hostname == API and parts.path == _AUTHOR_FEED

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        content = inner(json_of(body))
        if not isinstance(content.get("feed"), list):
            raise FeedError("not_a_feed")
        rows = mappings(content["feed"])
        times = [found for one in rows if (found := _time_of(one)) is not None]
        cursor = text(content, "cursor")
        return PostFeed(
            posts=posts_of(rows, _bluesky_post),
            rows=len(rows),
            oldest=min(times, default=None),
            next_url=_with_query(url, cursor=cursor) if rows and cursor else None,
        )


def _bluesky_post(row: dict[str, Any]) -> Post | None:
    """Return a post; None for reposts, for answers to others, and for hidden posts."""
    view = inner(row, "post")
    author, record = inner(view, "author"), inner(view, "record")
    address = _BLUESKY_POST.fullmatch(text(view, "uri"))
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
        media=[] if sensitive else listed(_embedded(embed)),
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


def _embedded(embed: dict[str, Any]) -> list[Medium | None]:
    embed = inner(embed, "media") or embed  # a quotation with media
    if text(embed, "$type") == f"{_VIEW}video#view":
        return [medium(text(embed, "playlist"), form="video", caption=text(embed, "alt"))]
    # The ratio of the sides is that of the picture in pixels in most programs, but need not be.
    return [
        medium(text(one, "fullsize"), form="image", caption=text(one, "alt"))
        for one in mappings(embed.get("images") or embed.get("items"))
    ]


BLUESKY = Bluesky()

_MESSAGE = re.compile(r"(\w{4,32})/(\d{1,12})")
_BACKGROUND = re.compile(r"background-image:\s*url\(['\"]?(https?://[^'\")\s]{1,2000})")
_WIDTH = re.compile(r"width:(\d{2,5})px")
_SIZE = re.compile(r"([\d.]{1,8})\s*(KB|MB|GB)")
_UNITS = {"KB": 1024, "MB": 1024**2, "GB": 1024**3}


class Telegram(Service):
    """Reads the posts of a channel."""

    hosts, path = ("t.me", "telegram.me"), re.compile(r"/(?:s/)?([A-Za-z]\w{3,31})/?")

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        found = self.path.fullmatch(parts.path)
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
        feed = PostFeed(posts=posts_of(messages[:MAX_POSTS], _message))
        older = next((one.get("data-before") for one in tree.iter("a") if one.get("data-before")), "")
        if older and older.isdecimal():
            feed.next_url = urljoin(url, f"{urlsplit(url).path}?before={older}")
        return feed


def _with(root: HtmlElement, name: str) -> list[HtmlElement]:
    """Return the elements with a class."""
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


def _message(message: HtmlElement) -> Post | None:
    """Return a post; None if it is forwarded from elsewhere, or a message of Telegram itself."""
    address = _MESSAGE.fullmatch(message.get("data-post") or "")
    forwarded = ("tgme_widget_message_forwarded_from", "tgme_widget_message_forwarded_from_name")
    if address is None or any(_with(message, name) for name in forwarded):
        return None
    if "service_message" in (message.get("class") or "").split():
        return None
    texts = _with(message, "tgme_widget_message_text")
    # A quotation of another post has the same class, and is inside the part for answers.
    answers = _with(message, "tgme_widget_message_reply")
    own = [one for one in texts if not any(above in answers for above in one.iterancestors())]
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
        media=listed(_attached(message)),
    )


def _attached(message: HtmlElement) -> list[Medium | None]:
    found = []
    for one in _with(message, "tgme_widget_message_photo_wrap"):
        style = one.get("style") or ""
        picture, width = _BACKGROUND.search(style), _WIDTH.search(style)
        found.append(medium(picture[1] if picture else "", form="image", width=width[1] if width else None))
    found += [medium(one.get("src") or "", form="video") for one in message.iter("video")]
    found += [medium(one.get("src") or "", form="audio") for one in message.iter("audio")]
    return found


TELEGRAM = Telegram()

_FEED = "/feeds/videos.xml"
_LINK = re.compile(rb"/feeds/videos\.xml\?channel_id=(UC[\w-]{22})")
_ATOM, _MEDIA = "{http://www.w3.org/2005/Atom}", "{http://search.yahoo.com/mrss/}"
_VIDEO = re.compile(r"[\w-]{5,20}")


class YouTube(Service):
    """Reads the videos of a channel."""

    hosts = ("youtube.com", "www.youtube.com", "m.youtube.com")
    path = re.compile(
        r"/feeds/videos\.xml|/playlist|"
        r"/(?:channel/(?P<channel>UC[\w-]{22})|(?:@|c/|user/)[\w.·-]{1,100})"
        r"/?(?:videos|shorts|streams|featured)?/?"
    )

    def address(self, url: str) -> str:
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        if (found := self.path.fullmatch(parts.path)) and found["channel"]:
            return _feed(url, "channel_id", found["channel"])
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
        return PostFeed(posts=posts_of(list(root.iter(f"{_ATOM}entry"))[:MAX_POSTS], _video))


def _feed(url: str, key: str, value: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://www.youtube.com{_FEED}?{urlencode({key: value})}"


def _video(entry: Any) -> Post | None:
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


YOUTUBE = YouTube()

MASTODON_PAGE = 40
"""Number of posts of one request. It is the most that the API allows."""
_ACCOUNT = re.compile(r"/@([\w.-]{1,100}(?:@[\w.-]{1,200})?)/?")
_TAG = re.compile(r"/tags/([^/?]{1,200}?)/?")
_API = re.compile(r"/api/v1/(accounts/lookup|accounts/[\w-]{1,40}/statuses|timelines/tag/[^/]{1,300})")
# <div id="mastodon">; other servers with this API link to their ActivityPub document
_API_PAGE = re.compile(
    rb"""id=["']?(?:mastodon|initial-state)["'\s>]|<link[^>]{1,500}application/activity\+json"""
)
_GENERATOR = re.compile(rb"<generator>Mastodon v")
_HEAD = 100_000
_NUMBER = re.compile(r"[\w-]{1,40}")


class Mastodon(Service):
    """Reads the public posts of accounts and tags."""

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        path, head = urlsplit(url).path, body[:_HEAD]
        if _API.fullmatch(path):
            return True
        is_page = (_TAG.fullmatch(path) or _ACCOUNT.fullmatch(path)) and _API_PAGE.search(head)
        return bool(is_page or _GENERATOR.search(head))

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> PostFeed:  # noqa: ARG002
        """See :class:`newsbot.pages.discovery.reader.SourceReader`."""
        parts = urlsplit(url)
        tag, account = _TAG.fullmatch(parts.path), _ACCOUNT.fullmatch(parts.path)
        if _GENERATOR.search(body[:_HEAD]):
            return PostFeed(posts=_of_feed(body))
        if tag is not None:
            name = quote(unquote(tag[1]), safe="")
            return PostFeed(next_url=f"{_origin(url)}/api/v1/timelines/tag/{name}?limit={MASTODON_PAGE}")
        if account is not None:
            name = urlencode({"acct": account[1]})
            return PostFeed(next_url=f"{_origin(url)}/api/v1/accounts/lookup?{name}")
        content = json_of(body)
        if parts.path.endswith("/lookup"):
            return PostFeed(next_url=_posts_of(content, url))
        if not isinstance(content, list):
            raise FeedError("not_a_feed")
        statuses = mappings(content)
        last = text(statuses[-1], "id") if len(statuses) >= MASTODON_PAGE else ""
        return PostFeed(
            posts=posts_of(statuses, lambda status: _status(status, url)),
            rows=len(statuses),
            next_url=_with_query(url, max_id=last) if last else None,
        )


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
    query = {"limit": MASTODON_PAGE, "exclude_replies": "true", "exclude_reblogs": "true"}
    return f"{_origin(url)}/api/v1/accounts/{number}/statuses?{urlencode(query)}"


def _status(status: dict[str, Any], url: str) -> Post | None:
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
        media=[] if sensitive else listed(map(_attachment, mappings(status.get("media_attachments")))),
        sensitive=sensitive,
    )


def _attachment(attachment: dict[str, Any]) -> Medium | None:
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


MASTODON = Mastodon()

_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version")


class Notes(Service):
    """Reads the notes of a JSON Feed."""

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


NOTES = Notes()
