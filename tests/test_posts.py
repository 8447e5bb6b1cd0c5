"""Posts of blogs and microblogs. The answers have the form that each service documents."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from newsbot import backends
from newsbot.apps.posts.readers import (
    BLUESKY,
    MASTODON,
    MAX_TITLE,
    NOTES,
    TELEGRAM,
    YOUTUBE,
    Post,
    PostFeed,
    text_of_html,
    title_of,
)
from newsbot.apps.search.articles import searching
from newsbot.items import ArticleFilter
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError
from newsbot.pages.discovery.reader import SourceReader, claiming, recognising
from testbed.messages import Answer
from tests.crawls import article_html, feed_xml
from tests.dashboarddata import make_article
from tests.dashboards import settings_of

READERS: list[SourceReader] = [BLUESKY, TELEGRAM, YOUTUBE, MASTODON, NOTES]
SOCIAL = "http://social.test"
ACCOUNT = {
    "id": "109",
    "username": "harbour",
    "acct": "harbour",
    "display_name": "Harbour Board",
    "url": f"{SOCIAL}/@harbour",
    "noindex": False,
}
LOOKUP = f"{SOCIAL}/api/v1/accounts/lookup?acct=harbour"
PAGE = "<!DOCTYPE html><html><body class='app-body'><div id='mastodon'></div></body></html>"
STATUSES = f"{SOCIAL}/api/v1/accounts/109/statuses?limit=40&exclude_replies=true&exclude_reblogs=true"
DID = "did:plc:harbour23456"
AUTHOR_FEED = "https://public.api.bsky.app/xrpc/app.bsky.feed.getAuthorFeed?actor=harbour.example&limit=50"
JSON = {"Content-Type": "application/json; charset=utf-8"}


def status(number: int, content: str, **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "created_at": "2026-11-20T08:30:00.000Z",
        "in_reply_to_id": None,
        "in_reply_to_account_id": None,
        "sensitive": False,
        "spoiler_text": "",
        "visibility": "public",
        "language": "en",
        "uri": f"{SOCIAL}/users/harbour/statuses/{number}",
        "url": f"{SOCIAL}/@harbour/{number}",
        "edited_at": None,
        "content": content,
        "reblog": None,
        "account": ACCOUNT,
        "media_attachments": [],
        "mentions": [],
        "tags": [],
        "emojis": [],
        "poll": None,
    } | more


CLOSED = (
    "<p>The eastern quay is closed to lorries until Sunday evening.</p><p>Read more: "
    '<a href="https://harbour.example/notices/quay-closed-to-lorries" rel="nofollow noopener">'
    '<span class="invisible">https://</span><span class="ellipsis">harbour.example/notices/quay-c</span>'
    '<span class="invisible">losed-to-lorries</span></a> <a href="http://social.test/tags/harbour" '
    'class="mention hashtag" rel="tag">#<span>harbour</span></a></p>'
)


def read(reader: SourceReader, body: Any, url: str) -> PostFeed:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    feed = reader.read(data, url, "", SiteDates())
    assert isinstance(feed, PostFeed)
    return feed


def read_statuses(*statuses: dict[str, Any], url: str = STATUSES) -> list[Post]:
    return read(MASTODON, list(statuses), url).posts


# --- the address chooses the reader
@pytest.mark.parametrize(
    ("url", "reader", "asked"),
    [
        (
            "https://bsky.app/profile/harbour.example",
            BLUESKY,
            f"{AUTHOR_FEED.replace('&limit', '&filter=posts_and_author_threads&limit')}",
        ),
        ("https://t.me/harbournews", TELEGRAM, "https://t.me/s/harbournews"),
        ("https://telegram.me/s/harbournews", TELEGRAM, "https://t.me/s/harbournews"),
        (
            "https://www.youtube.com/channel/UCabcdefghijklmnopqrstuv",
            YOUTUBE,
            "https://www.youtube.com/feeds/videos.xml?channel_id=UCabcdefghijklmnopqrstuv",
        ),
        ("https://www.youtube.com/@harbour", YOUTUBE, "https://www.youtube.com/@harbour"),
        (
            "https://www.youtube.com/playlist?list=PL123",
            YOUTUBE,
            "https://www.youtube.com/feeds/videos.xml?playlist_id=PL123",
        ),
    ],
)
def test_an_ordinary_address_chooses_the_reader(url: str, reader: SourceReader, asked: str) -> None:
    assert claiming(READERS, url) is reader
    assert reader.address(url) == asked
    assert (reader.kind, reader.kind.is_feed) == ("posts", True)


@pytest.mark.parametrize(
    "url",
    [
        "https://news.test/feed.xml",
        "https://t.me/harbournews/12",
        "https://t.me/+AbCdEf123",
        "https://bsky.app/profile/a.example/post/3k",
        "https://news.test/tags/harbour",
        "https://social.test/@harbour/109",
        "https://social.test/@harbour",
    ],
)
def test_other_addresses_choose_none(url: str) -> None:
    assert claiming(READERS, url) is None


# --- Mastodon
def test_a_status_is_a_post_with_whole_links_and_its_files() -> None:
    picture = {
        "id": "1",
        "type": "image",
        "url": "https://files.test/quay.jpg",
        "description": "A barrier across the quay",
        "meta": {"original": {"width": 1200, "height": 800}},
    }
    (post,) = read_statuses(
        status(
            7,
            CLOSED,
            tags=[{"name": "harbour", "url": ""}],
            media_attachments=[picture],
            edited_at="2026-11-20T09:00:00Z",
        )
    )
    assert post.text.splitlines() == [
        "The eastern quay is closed to lorries until Sunday evening.",
        "Read more: https://harbour.example/notices/quay-closed-to-lorries #harbour",
    ]
    assert (post.author, post.tags, post.language) == (
        "Harbour Board (@harbour@social.test)",
        ["harbour"],
        "en",
    )
    assert post.published_at == datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
    assert post.modified_at == datetime(2026, 11, 20, 9, tzinfo=UTC)
    assert post.media == [
        {
            "type": "image",
            "url": "https://files.test/quay.jpg",
            "width": 1200,
            "height": 800,
            "caption": "A barrier across the quay",
        }
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"reblog": status(3, "<p>of another account</p>")},
        {"in_reply_to_id": "5", "in_reply_to_account_id": "44"},
        {"visibility": "unlisted"},
        {"account": ACCOUNT | {"noindex": True}},
    ],
)
def test_boosts_answers_and_posts_that_are_not_fully_public_are_left_out(change: dict[str, Any]) -> None:
    assert read_statuses(status(7, CLOSED, **change)) == []


def test_a_thread_of_the_account_itself_is_read() -> None:
    assert len(read_statuses(status(8, CLOSED, in_reply_to_id="7", in_reply_to_account_id="109"))) == 1


def test_a_content_warning_is_the_title_and_its_files_are_not_listed() -> None:
    picture = {"type": "image", "url": "https://files.test/wreck.jpg"}
    (post,) = read_statuses(
        status(7, CLOSED, sensitive=True, spoiler_text="Accident", media_attachments=[picture])
    )
    assert (post.title, post.sensitive, post.media) == ("Accident", True, [])


def test_a_post_of_another_server_has_the_address_on_the_server_that_shows_it() -> None:
    url = f"{SOCIAL}/api/v1/timelines/tag/harbour?limit=40"
    foreign = status(9, CLOSED, url="https://bank.test/@x/1", account=ACCOUNT | {"acct": "x@bank.test"})
    (post,) = read_statuses(foreign, url=url)
    assert post.url == f"{SOCIAL}/@x@bank.test/9"


def test_an_account_and_a_tag_lead_to_their_posts_and_a_full_page_to_older_ones() -> None:
    assert read(MASTODON, ACCOUNT, LOOKUP).next_url == STATUSES
    page = PAGE
    tag = f"{SOCIAL}/tags/%D0%BF%D0%BE%D1%80%D1%82"
    assert recognising(READERS, tag, "text/html", page.encode()) is MASTODON
    assert read(MASTODON, page, tag).next_url == (
        f"{SOCIAL}/api/v1/timelines/tag/%D0%BF%D0%BE%D1%80%D1%82?limit=40"
    )
    for path, name in (("@harbour", "harbour"), ("@harbour@other.test/", "harbour%40other.test")):
        assert recognising(READERS, f"{SOCIAL}/{path}", "text/html", page.encode()) is MASTODON
        lookup = f"{SOCIAL}/api/v1/accounts/lookup?acct={name}"
        assert read(MASTODON, page, f"{SOCIAL}/{path}").next_url == lookup
    full = [status(number, CLOSED) for number in range(140, 100, -1)]
    assert (read(MASTODON, full, STATUSES).next_url or "").endswith("&max_id=101")
    assert read(MASTODON, full[:5], STATUSES).next_url is None


@pytest.mark.parametrize("body", [ACCOUNT | {"noindex": True}, ACCOUNT | {"suspended": True}])
def test_an_account_that_does_not_want_to_be_indexed_is_not_read(body: dict[str, Any]) -> None:
    with pytest.raises(FeedError, match="no_posts"):
        read(MASTODON, body, LOOKUP)


def test_the_feed_of_an_account_has_its_posts() -> None:
    feed = """<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/">
    <channel><title>Harbour Board</title><generator>Mastodon v4.5.2</generator><item>
    <guid isPermaLink="true">http://social.test/@harbour/7</guid><link>http://social.test/@harbour/7</link>
    <pubDate>Fri, 20 Nov 2026 08:30:00 +0000</pubDate>
    <description>&lt;p&gt;The eastern quay is closed.&lt;/p&gt;&lt;p&gt;Until Sunday.&lt;/p&gt;</description>
    <media:content url="https://files.test/quay.png" type="image/png" fileSize="52000" medium="image">
    <media:rating scheme="urn:simple">nonadult</media:rating><media:description>A barrier</media:description>
    </media:content><category>harbour</category></item></channel></rss>"""
    url = f"{SOCIAL}/@harbour.rss"
    assert recognising(READERS, url, "", feed.encode()) is MASTODON
    (post,) = read(MASTODON, feed, url).posts
    assert (post.url, post.text) == (
        "http://social.test/@harbour/7",
        "The eastern quay is closed.\nUntil Sunday.",
    )
    assert post.media == [
        {
            "type": "image",
            "url": "https://files.test/quay.png",
            "mime": "image/png",
            "bytes": 52000,
            "caption": "A barrier",
        }
    ]


# --- Bluesky
def row(key: str, text: str, *, record: Any = None, view: Any = None, **more: Any) -> dict[str, Any]:
    post = {
        "uri": f"at://{DID}/app.bsky.feed.post/{key}",
        "cid": "bafy",
        "author": {"did": DID, "handle": "harbour.example", "displayName": "Harbour Board", "labels": []},
        "record": {
            "$type": "app.bsky.feed.post",
            "text": text,
            "createdAt": "2026-11-20T08:30:00.000Z",
            "langs": ["de"],
        }
        | (record or {}),
        "indexedAt": "2026-11-20T08:30:02.000Z",
        "labels": [],
    }
    return {"post": post | (view or {})} | more


def test_facets_of_bluesky_count_bytes_and_shortened_links_become_whole() -> None:
    text = "Der östliche Kai ist für Lastwagen gesperrt: harbour.example/mitteilungen… #Hafen"
    begin = text.encode().index(b"harbour.example")
    end = text.encode().index(b" #Hafen")
    kind = "app.bsky.richtext.facet#"
    facets = [
        {
            "index": {"byteStart": begin, "byteEnd": end},
            "features": [{"$type": f"{kind}link", "uri": "https://harbour.example/mitteilungen/kai"}],
        },
        {
            "index": {"byteStart": end + 1, "byteEnd": end + 7},
            "features": [{"$type": f"{kind}tag", "tag": "Hafen"}],
        },
    ]
    embed = {
        "$type": "app.bsky.embed.images#view",
        "images": [{"thumb": "https://cdn.test/s", "fullsize": "https://cdn.test/f", "alt": "Der Kai"}],
    }
    content = {"feed": [row("3kabc", text, record={"facets": facets}, view={"embed": embed})], "cursor": "c1"}
    feed = read(BLUESKY, content, AUTHOR_FEED)
    (post,) = feed.posts
    assert post.text == (
        "Der östliche Kai ist für Lastwagen gesperrt: https://harbour.example/mitteilungen/kai #Hafen"
    )
    assert (post.tags, post.language, post.author) == (["Hafen"], "de", "Harbour Board (@harbour.example)")
    assert post.url == f"https://bsky.app/profile/{DID}/post/3kabc"
    assert post.media == [{"type": "image", "url": "https://cdn.test/f", "caption": "Der Kai"}]
    assert feed.next_url == f"{AUTHOR_FEED}&cursor=c1"


@pytest.mark.parametrize(
    "left_out",
    [
        row("3k1", "x", reason={"$type": "app.bsky.feed.defs#reasonRepost", "indexedAt": ""}),
        row("3k1", "x", record={"reply": {"parent": {"uri": "at://did:plc:another/app.bsky.feed.post/1"}}}),
        row("3k1", "x", view={"author": {"did": DID, "labels": [{"val": "!no-unauthenticated"}]}}),
        row("3k1", "x", view={"labels": [{"val": "!hide"}]}),
        row("../../3k1", "x"),
    ],
)
def test_reposts_answers_and_hidden_posts_of_bluesky_are_left_out(left_out: dict[str, Any]) -> None:
    assert read(BLUESKY, {"feed": [left_out]}, AUTHOR_FEED).posts == []


def test_labelled_posts_of_bluesky_are_sensitive() -> None:
    embed = {"$type": "app.bsky.embed.images#view", "images": [{"fullsize": "https://cdn.test/f"}]}
    feed = read(
        BLUESKY,
        {"feed": [row("3k1", "x", view={"labels": [{"val": "graphic-media"}], "embed": embed})]},
        AUTHOR_FEED,
    )
    assert [(post.sensitive, post.media) for post in feed.posts] == [(True, [])]


# --- Telegram
def message(number: int, inner: str, channel: str = "harbournews") -> str:
    return f"""<div class="tgme_widget_message_wrap js-widget_message_wrap">
    <div class="tgme_widget_message text_not_supported_wrap js-widget_message" data-post="{channel}/{number}">
    <div class="tgme_widget_message_bubble"><div class="tgme_widget_message_author accent_color">
    <a class="tgme_widget_message_owner_name" href="https://t.me/{channel}"><span>Порт</span></a></div>{inner}
    <div class="tgme_widget_message_footer"><span class="tgme_widget_message_meta"><a
    class="tgme_widget_message_date" href="https://t.me/{channel}/{number}"><time
    datetime="2026-11-20T08:30:00+00:00" class="time">08:30</time></a></span></div></div></div></div>"""


BODY = '<div class="tgme_widget_message_text js-message_text" dir="auto">%s</div>'
RUSSIAN = (
    "Восточный причал закрыт для грузовиков до вечера воскресенья.<br/><br/>Объезд по улице <b>Портовой</b>."
)


def channel_page(*messages: str) -> str:
    return (
        "<!DOCTYPE html><html><body><main><section class='tgme_channel_history js-message_history'>"
        '<a href="/s/harbournews?before=40" class="tme_messages_more js-messages_more" data-before="40"></a>'
        f"{''.join(messages)}</section></main></body></html>"
    )


def test_the_messages_of_a_channel_are_posts() -> None:
    photo = (
        '<a class="tgme_widget_message_photo_wrap" href="https://t.me/harbournews/42" '
        "style=\"width:800px;background-image:url('https://cdn4.test/file/a.jpg')\"></a>"
    )
    answer = '<a class="tgme_widget_message_reply"><div class="tgme_widget_message_text">Старое</div></a>'
    page = channel_page(
        message(42, photo + answer + BODY % f'{RUSSIAN} <a href="?q=%23%D0%BF%D0%BE%D1%80%D1%82">#порт</a>'),
        message(
            43,
            '<div class="tgme_widget_message_forwarded_from">Forwarded from <a>Other</a></div>' + BODY % "x",
        ),
    )
    feed = read(TELEGRAM, page, "https://t.me/s/harbournews")
    (post,) = feed.posts
    assert post.text.splitlines() == [
        "Восточный причал закрыт для грузовиков до вечера воскресенья.",
        "Объезд по улице Портовой. #порт",
    ]
    assert (post.url, post.author, post.tags) == (
        "https://t.me/harbournews/42",
        "Порт (@harbournews)",
        ["порт"],
    )
    assert post.media == [{"type": "image", "url": "https://cdn4.test/file/a.jpg", "width": 800}]
    assert feed.next_url == "https://t.me/s/harbournews?before=40"


def test_a_channel_without_a_public_page_is_a_clear_fault() -> None:
    with pytest.raises(FeedError, match="no_posts"):
        read(
            TELEGRAM,
            "<html><body><div class='tgme_page'>Contact</div></body></html>",
            "https://t.me/x",
        )


# --- YouTube
CHANNEL = "https://www.youtube.com/feeds/videos.xml?channel_id=UCabcdefghijklmnopqrstuv"
VIDEOS = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns="http://www.w3.org/2005/Atom"><title>Harbour Board</title>
<entry><id>yt:video:abcDEF12345</id><yt:videoId>abcDEF12345</yt:videoId>
<title>How the quay is repaired</title>
<link rel="alternate" href="https://www.youtube.com/watch?v=abcDEF12345"/>
<author><name>Harbour Board</name></author>
<published>2026-11-20T08:30:00+00:00</published><updated>2026-11-21T10:00:00+00:00</updated>
<media:group><media:title>How the quay is repaired</media:title>
<media:content url="https://www.youtube.com/v/abcDEF12345?version=3" type="application/x-shockwave-flash"/>
<media:thumbnail url="https://i1.ytimg.test/vi/abcDEF12345/hqdefault.jpg" width="480" height="360"/>
<media:description>Divers show the foundations of the eastern quay.

Chapters: 0:00 Start</media:description></media:group></entry></feed>"""


def test_a_video_is_a_post_with_its_description() -> None:
    (post,) = read(YOUTUBE, VIDEOS, CHANNEL).posts
    assert (post.title, post.text) == (
        "How the quay is repaired",
        "Divers show the foundations of the eastern quay.\nChapters: 0:00 Start",
    )
    assert post.url == "https://www.youtube.com/watch?v=abcDEF12345"
    assert [(one["type"], one.get("width")) for one in post.media] == [("video", None), ("image", 480)]


def test_the_page_of_a_name_leads_to_the_feed() -> None:
    link = (
        '<link rel="alternate" type="application/rss+xml" title="RSS" '
        f'href="{CHANNEL.replace("&", "&amp;")}">'
    )
    page = f"<html><head>{link}</head></html>"
    assert read(YOUTUBE, page, "https://www.youtube.com/@harbour").next_url == CHANNEL


# --- JSON Feed
def test_items_without_a_title_are_posts_and_others_stay_links() -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Notes",
        "authors": [{"name": "Ann Lee"}],
        "items": [
            {"id": "1", "url": "https://ann.test/1", "content_html": "<p>The <b>quay</b> is closed.</p>"},
            {"id": "2", "url": "https://ann.test/2", "title": "An essay", "content_text": "Long."},
        ],
    }
    body = json.dumps(feed).encode()
    assert recognising(READERS, "https://ann.test/feed.json", "", body) is NOTES
    found = read(NOTES, feed, "https://ann.test/feed.json")
    assert [(post.text, post.author) for post in found.posts] == [("The quay is closed.", "Ann Lee")]
    assert [link.url for link in found.links] == ["https://ann.test/2"]
    feed["items"] = feed["items"][1:]
    assert recognising(READERS, "https://ann.test/feed.json", "", json.dumps(feed).encode()) is None


# --- titles, texts, hostile answers
def test_the_first_line_is_the_title_and_is_shortened_at_a_word() -> None:
    assert title_of("Kurz\nMehr") == "Kurz"
    long = "Der Hafen meldet, " * 20
    assert len(title_of(long)) <= MAX_TITLE
    assert title_of(long).endswith(("Hafen…", "meldet…", "Der…"))
    assert title_of("漢" * 300) == "漢" * (MAX_TITLE - 1) + "…"


@pytest.mark.parametrize("body", [b"", b"no document", b"<rss/>"])
def test_a_broken_document_is_no_feed(body: bytes) -> None:
    with pytest.raises(FeedError, match="not_a_feed"):
        YOUTUBE.read(body, CHANNEL, "", SiteDates())


def test_wrong_tags_of_a_note_do_not_lose_the_feed() -> None:
    item = {"id": "1", "url": "https://ann.test/1", "content_text": "The quay is closed.", "tags": 5}
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": [item]}
    assert len(read(NOTES, feed, "https://ann.test/feed.json").posts) == 1


@pytest.mark.parametrize("html", ["", "<", "<p>" * 5000 + "x", "\0<p>x</p>", "<script>alert(1)</script>"])
def test_html_of_any_form_has_a_text(html: str) -> None:
    assert "alert" not in text_of_html(html)


WRONG: tuple[Any, ...] = (
    None,
    1,
    "x",
    [],
    {},
    [None],
    {"feed": [None, 1, {"post": []}]},
    [{"account": 3, "tags": "x", "poll": 1}],
)


@pytest.mark.parametrize("content", WRONG)
@pytest.mark.parametrize(
    ("reader", "url"),
    [(MASTODON, STATUSES), (MASTODON, LOOKUP), (BLUESKY, AUTHOR_FEED)],
)
def test_answers_of_another_form_are_faults_or_empty(content: Any, reader: SourceReader, url: str) -> None:
    try:
        feed = read(reader, content if not isinstance(content, str) else json.dumps(content), url)
    except FeedError:
        return
    assert all(isinstance(post.text, str) for post in feed.posts)


# --- crawls
RULE = f"""domain: harbour.test
feeds: [{SOCIAL}/@harbour, http://t.me/harbournews, http://bsky.app/profile/harbour.example]
"""


def test_posts_are_stored_apart_from_articles_and_edits_are_versions(site, world) -> None:
    world.rule("harbour.test", RULE)
    asked = []

    def statuses(request):
        asked.append(request.path)
        content = [status(8, CLOSED), status(7, CLOSED.replace("Sunday", "Monday")), status(6, "<p>Hm.</p>")]
        if len(asked) > 1:
            content[0] = status(
                8, CLOSED.replace("until Sunday evening", "for two more weeks, says the board")
            )
        return answer(content)

    def answer(content):
        return Answer(body=json.dumps(content).encode(), headers=JSON)

    site.page(f"{SOCIAL}/@harbour", PAGE)
    site.page(LOOKUP, json.dumps(ACCOUNT), headers=JSON)
    site.page(STATUSES, statuses)
    site.page("http://t.me/s/harbournews", channel_page(message(42, BODY % RUSSIAN)))
    text = "The night ferry leaves from the western quay this week, and bicycles travel free."
    site.page(
        AUTHOR_FEED.replace("https:", "http:").replace("&limit", "&filter=posts_and_author_threads&limit"),
        json.dumps({"feed": [row("3kabc", text)]}),
        headers=JSON,
    )
    first = world.crawl()
    assert first.code == 0, first.err
    found = {article.url: article for article in world.articles()}
    assert set(found) == {
        f"{SOCIAL}/@harbour/8",
        f"{SOCIAL}/@harbour/7",
        "https://t.me/harbournews/42",
        f"https://bsky.app/profile/{DID}/post/3kabc",
    }
    post = found[f"{SOCIAL}/@harbour/8"]
    assert (post.form, post.source, post.version) == ("post", "harbour.test", 1)
    assert post.title == "The eastern quay is closed to lorries until Sunday evening."
    assert found["https://t.me/harbournews/42"].language == "ru"
    assert (first.stat("posts/new"), first.stat("articles/new"), first.stat("posts/too_short")) == (4, 0, 1)
    assert "0 new articles, 0 updated, 4 new posts, " in first.err
    shown = world.scrapy("sources", "harbour.test").out
    assert "0 + 4 posts" in shown
    assert "feed       1        0 %          2" in shown  # the address does not tell the kind
    assert "posts      1        0 %          1" in shown
    with world.storage() as storage:
        counts = [storage.articles.count(ArticleFilter(posts=posts)) for posts in (None, True, False)]
    assert counts == [4, 4, 0]
    page = world.page(f"{SOCIAL}/@harbour/8")
    assert page is not None
    assert page.state == "done"

    assert world.scrapy("add", "--due", "harbour.test").code == 0
    second = world.crawl()
    assert second.code == 0, second.err
    edited = {article.url: article.version for article in world.articles()}
    assert edited[f"{SOCIAL}/@harbour/8"] == 2
    assert edited[f"{SOCIAL}/@harbour/7"] == 1


def test_older_parts_are_read_and_nothing_that_a_service_forbids(site, world) -> None:
    world.rule("harbour.test", f"domain: harbour.test\nfeeds: {SOCIAL}/@harbour\n")
    world.rule("closed.test", "domain: closed.test\nfeeds: http://closed.test/@harbour\n")
    world.rule("notes.test", "domain: notes.test\nfeeds: http://notes.test/feed.json\n")
    full = [status(number, CLOSED.replace("eastern", f"{number}th")) for number in range(240, 200, -1)]
    site.page(f"{SOCIAL}/@harbour", PAGE)
    site.page("http://closed.test/@harbour", PAGE)
    site.page(LOOKUP, json.dumps(ACCOUNT), headers=JSON)
    site.page(STATUSES, json.dumps(full), headers=JSON)
    site.page(f"{STATUSES}&max_id=201", json.dumps([status(9, CLOSED)]), headers=JSON)
    site.page("http://closed.test/robots.txt", "User-agent: *\nDisallow: /api/v1/accounts/1\n")
    for one in (LOOKUP, STATUSES):
        address = one.replace("social.test", "closed.test")
        site.page(address, json.dumps(ACCOUNT if one == LOOKUP else full), headers=JSON)
    items = [
        {
            "id": str(number),
            "url": url,
            "content_text": f"A note about the harbour, the quay and ferry {number}.",
        }
        for number, url in enumerate(("http://notes.test/1", "http://harbour.test/forged"))
    ]
    notes = {"version": "https://jsonfeed.org/version/1.1", "title": "N", "items": items}
    site.page("http://notes.test/feed.json", json.dumps(notes), headers=JSON)
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    urls = world.urls()
    assert len([url for url in urls if url.startswith(f"{SOCIAL}/")]) == 41
    assert [url for url in urls if not url.startswith(f"{SOCIAL}/")] == ["http://notes.test/1"]
    assert crawl.stat("posts/bad_url") == 1
    page = world.page("http://closed.test/@harbour")
    assert page is not None
    assert crawl.stat("errors/robots") == 1
    assert any(event.get("cause") == "robots" for event in page.history)


def test_the_feed_of_a_site_that_is_no_server_of_mastodon_is_read(site, world) -> None:
    """Other sites have addresses with ``/@name`` as well. The API is asked only if the page shows it."""
    world.rule("news.test", "domain: news.test\nfeeds: http://news.test/@harbour\n")
    site.page("http://news.test/@harbour", feed_xml(["http://news.test/story/1"]))
    site.page("http://news.test/story/1", article_html(1))
    world.crawl()
    assert world.urls() == ["http://news.test/story/1"]
    assert not site.requests("/api/v1/accounts/lookup?acct=harbour")


# --- further forms that the services document


@pytest.mark.parametrize(
    "content",
    [
        # Mastodon writes the quotation before the text, Pleroma and Misskey after it
        f'<p class="quote-inline">RE: <a>{SOCIAL}/@b/7</a></p><p>We agree with the pilots.</p>',
        f'<p>We agree with the pilots.<span class="quote-inline"><br/>RE: <a>{SOCIAL}/@b/7</a></span></p>',
    ],
)
def test_the_address_of_a_quoted_post_comes_last(content: str) -> None:
    (post,) = read_statuses(status(1, content))
    assert post.text == f"We agree with the pilots.\nRE: {SOCIAL}/@b/7"
    assert title_of(post.text) == "We agree with the pilots."


def of_bluesky(record: dict[str, Any], embed: dict[str, Any] | None = None) -> list[Post]:
    view = {
        "uri": f"at://{DID}/app.bsky.feed.post/3k2a",
        "author": {"did": DID, "handle": "harbour.example", "displayName": "Harbour"},
        "record": {"$type": "app.bsky.feed.post", "createdAt": "2026-11-20T08:30:00.000Z"} | record,
        "indexedAt": "2026-11-20T08:30:01.000Z",
    } | ({"embed": embed} if embed else {})
    return read(BLUESKY, {"feed": [{"post": view}]}, AUTHOR_FEED).posts


def test_the_link_of_a_card_is_part_of_a_post_of_bluesky() -> None:
    external = {"uri": "https://harbour.example/plan", "title": "The plan", "description": ""}
    card = {"$type": "app.bsky.embed.external#view", "external": external}
    (post,) = of_bluesky({"text": "The new plan of the quay"}, card)
    assert post.text == "The new plan of the quay\nhttps://harbour.example/plan"
    (post,) = of_bluesky({"text": "See https://harbour.example/plan now"}, card)
    assert post.text == "See https://harbour.example/plan now"
    both = {"$type": "app.bsky.embed.recordWithMedia#view", "record": {"record": {}}, "media": card}
    (post,) = of_bluesky({"text": "A comment"}, both)
    assert post.text.endswith("\nhttps://harbour.example/plan")


def test_a_gallery_of_bluesky_has_all_its_pictures() -> None:
    items = [
        {
            "$type": "app.bsky.embed.gallery#viewImage",
            "fullsize": f"https://cdn.example/full/{n}.jpg",
            "alt": n,
        }
        for n in ("one", "two")
    ]
    (post,) = of_bluesky({"text": "Two views"}, {"$type": "app.bsky.embed.gallery#view", "items": items})
    assert [(one["url"][-7:], one["caption"]) for one in post.media] == [
        ("one.jpg", "one"),
        ("two.jpg", "two"),
    ]


def test_an_answer_to_oneself_below_the_post_of_somebody_else_is_left_out() -> None:
    own, other = f"at://{DID}/app.bsky.feed.post/1", "at://did:plc:somebody2345/app.bsky.feed.post/1"
    reply = {"parent": {"uri": own}, "root": {"uri": other}}
    assert not of_bluesky({"text": "And one more thing", "reply": reply})
    assert of_bluesky({"text": "And one more thing", "reply": reply | {"root": {"uri": own}}})


def test_polls_of_a_channel_are_posts_and_messages_of_telegram_are_not() -> None:
    part = '<div class="tgme_widget_message_poll_{}">{}</div>'
    options = "".join(
        part.format("option", part.format("option_percent", "50%") + part.format("option_text", name))
        for name in ("The old one", "The new one")
    )
    poll = part.format("question", "Which bridge?") + part.format("type", "Anonymous Poll") + options
    pinned = message(1, BODY % "Harbour pinned a photo").replace(" js-widget_message", " service_message")
    feed = read(TELEGRAM, channel_page(pinned, message(2, poll)), "https://t.me/s/harbournews")
    (post,) = feed.posts
    assert post.text == "Which bridge?\n– The old one\n– The new one"


@pytest.mark.parametrize("path", ["@harbour/videos", "c/Harbour", "user/harbour", "@harbour/shorts/"])
def test_pages_of_a_channel_lead_to_its_feed(path: str) -> None:
    assert YOUTUBE.claims(f"https://www.youtube.com/{path}")


def test_a_video_without_a_description_has_its_title_as_text() -> None:
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:yt="http://www.youtube.com/xml/schemas/2015" '
        'xmlns:media="http://search.yahoo.com/mrss/"><entry><yt:videoId>abcdefghijk</yt:videoId>'
        "<title>The crane at work</title><published>2026-11-20T08:30:00+00:00</published>"
        "<media:group><media:description></media:description></media:group></entry></feed>"
    )
    feed = YOUTUBE.read(
        body.encode(), "https://www.youtube.com/feeds/videos.xml?channel_id=x", "text/xml", SiteDates()
    )
    assert isinstance(feed, PostFeed)
    assert [post.text for post in feed.posts] == ["The crane at work"]


def test_the_version_of_a_json_feed_may_come_last() -> None:
    items = [{"id": "https://a.test/1", "content_text": "A note. " * 300}]
    feed = {"items": items, "title": "Notes", "version": "https://jsonfeed.org/version/1.1"}
    assert NOTES.recognises("https://a.test/feed", "application/json", json.dumps(feed).encode())
    other = feed | {"version": 3, "home_page_url": "https://jsonfeed.org/version/1.1"}
    assert not NOTES.recognises("https://a.test/feed", "application/json", json.dumps(other).encode())


def test_posts_do_not_count_among_all_articles_of_a_day(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    day = datetime(2026, 11, 19, 12, tzinfo=UTC)
    with closing(backends.open_storage(settings)) as storage:
        for number in range(5):
            url = f"https://a.test/{number}"
            more = {"form": "post"} if number < 2 else {}
            fields = {"url": url, "canonical_url": url, "content_hash": url, "published_at": day, **more}
            storage.articles.store(make_article(number, **fields))
    with searching(settings) as search:
        search.follow()
        found = search.attention(["", "form:post"], ArticleFilter(), day + timedelta(hours=3))
        assert found.articles[found.days.index("2026-11-19")] == 3
        assert [one.counts.total for one in found.queries] == [3, 2]
