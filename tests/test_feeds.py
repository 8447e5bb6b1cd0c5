"""Feeds of all formats are read, even if they are not well-formed."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.errors import ArgumentError
from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import Feed, FeedError, Hub, parse_feed
from newsbot.pages.discovery.reader import BUILT_IN, SourceReader, checked, read_source
from newsbot.pages.discovery.sitemaps import Child, Sitemap

DATA = Path(__file__).parent / "data" / "feeds"
NOW = datetime(2025, 1, 2, tzinfo=UTC)
URL = "https://feed.example/rss/feed.xml"


def read(name: str, url: str = URL, content_type: str | None = None) -> Feed:
    return parse_feed((DATA / name).read_bytes(), url, content_type, now=NOW)


def parse(text: str, url: str = URL) -> Feed:
    return parse_feed(text.encode(), url, now=NOW)


def rows(feed: Feed) -> list[tuple[str, str | None]]:
    return [(link.url, link.text) for link in feed.links]


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


# --- formats
def test_rss_2_0() -> None:
    feed = read("rss20.xml")
    assert rows(feed) == [
        ("https://news.example/a?id=1&lang=en", "Bridge opens & traffic flows"),
        ("https://news.example/b?x=1&y=2", "Council votes & argues"),
        ("https://news.example/c", "By its guid"),
    ]
    assert [link.published_at for link in feed.links] == [
        at(2024, 12, 31, 20, 59, 59),
        at(2025, 1, 1, 10),
        None,
    ]
    assert {(link.where, link.kind) for link in feed.links} == {(Where.FEED, Kind.ARTICLE)}
    assert (feed.title, feed.site_url) == ("The Example & Times", "https://news.example/")
    assert feed.ttl == 900
    assert feed.skip_hours == {0, 23}
    assert feed.self_url == "https://news.example/rss.xml"
    assert feed.hubs == [
        Hub("https://hub.example/", "websub"),
        Hub("http://cloud.example:80/rpc", "rsscloud"),
    ]
    assert sorted(feed.problems) == ["bad_date:1", "duplicate_item:1", "item_without_link:1"]


def test_rss_0_91_with_dtd_entities_and_cp1251() -> None:
    feed = read("rss091-cp1251.xml", "http://vesti.example/rss.xml")
    assert rows(feed) == [("http://vesti.example/2024/12/31/most.html", "Мост открыт — наконец")]
    assert feed.links[0].published_at == at(2024, 12, 31, 20, 59)


def test_rdf() -> None:
    feed = read("rdf.xml")
    assert rows(feed) == [("https://rdf.example/1", "First"), ("https://rdf.example/2", "Second")]
    assert [link.published_at for link in feed.links] == [at(2024, 12, 31, 1), at(2024, 12, 30)]
    assert (feed.ttl, feed.update_period) == (None, 1800)
    assert feed.problems == []


def test_atom_1_0_with_prefixes_and_bases() -> None:
    feed = read("atom10.xml")
    assert rows(feed) == [
        ("https://atom.example/news/1?a=b&c=d", "Мост открыт"),
        ("https://cdn.atom.example/2", "Second"),
    ]
    first, second = feed.links
    assert (first.published_at, first.modified_at) == (at(2024, 12, 31, 10), at(2024, 12, 31, 12))
    assert (second.published_at, second.modified_at) == (None, at(2024, 12, 30, 9))
    assert feed.title == "Atom & more"
    assert feed.self_url == "https://atom.example/news/feed.atom"
    assert feed.next_url == "https://atom.example/news/feed.atom?page=2"
    assert feed.site_url == "https://atom.example/"
    assert feed.hubs == [Hub("https://hub.example/", "websub")]


def test_atom_0_3() -> None:
    feed = read("atom03.xml")
    assert rows(feed) == [("https://old.example/1", "First"), ("https://old.example/2", "Second")]
    assert feed.links[0].published_at == at(2024, 12, 31, 10)
    assert feed.links[0].modified_at == at(2024, 12, 31, 11)


def test_json_feed() -> None:
    feed = read("feed.json", "https://json.example/feed.json")
    assert rows(feed) == [
        ("https://json.example/1?a=1&b=2", "Мост открыт"),
        ("https://json.example/2", "By its id"),
    ]
    assert feed.links[0].published_at == at(2024, 12, 31, 7)
    assert feed.next_url == "https://json.example/feed.json?page=2"
    assert feed.hubs == [Hub("https://hub.example/", "websub")]
    assert feed.problems == ["item_without_link:2"]


def test_json_feed_cut_off_gives_the_items_so_far() -> None:
    body = (DATA / "feed.json").read_bytes()
    cut = body[: body.index(b'{"id": "3"') + 5]
    feed = parse_feed(cut, "https://json.example/feed.json", now=NOW)
    assert len(feed.links) == 2
    assert "malformed:1" in feed.problems


# --- encodings
@pytest.mark.parametrize("name", ["declared-utf8-is-cp1251.xml", "declared-cp1251-is-utf8.xml", "utf16.xml"])
@pytest.mark.parametrize(
    "content_type", [None, "text/xml; charset=iso-8859-1", "application/xml; charset=utf-8"]
)
def test_the_declared_encoding_may_be_wrong(name: str, content_type: str | None) -> None:
    feed = read(name, content_type=content_type)
    assert feed.title == "Новости города"
    assert rows(feed) == [("http://vesti.example/1", "Открыт новый мост через реку")]


@pytest.mark.parametrize(
    ("codec", "title"),
    [
        ("koi8-r", "Дождь закрыл дорогу у реки, сообщила мэрия города"),
        ("cp1250", "Déšť zavřel silnici u řeky, oznámilo město Příbram"),
    ],
)
def test_an_undeclared_encoding_is_detected(codec: str, title: str) -> None:
    body = f"<rss><channel><item><title>{title}</title><link>{URL}/a</link></item></channel></rss>"
    assert [link.text for link in parse_feed(body.encode(codec), URL, now=NOW).links] == [title]


def test_the_encoding_of_the_header_is_used_if_the_document_has_none() -> None:
    body = "<rss><channel><item><title>Привет</title><link>http://a.example/1</link></item></channel></rss>"
    feed = parse_feed(body.encode("koi8-r"), URL, "text/xml; charset=koi8-r", now=NOW)
    assert feed.links[0].text == "Привет"


def test_byte_order_mark_and_blanks_before_the_declaration() -> None:
    body = b"\xef\xbb\xbf\r\n  " + (DATA / "rdf.xml").read_bytes()
    feed = parse_feed(body, URL, now=NOW)
    assert len(feed.links) == 2
    assert feed.problems == []


# --- faults
def test_raw_ampersands_are_not_corrupted() -> None:
    feed = read("raw-ampersand.xml")
    assert rows(feed) == [
        ("https://amp.example/x?a=1&b=2&copy=3&lt=4&d=5", "Salt & pepper — more"),
        ("https://amp.example/y?a=1&b=2", "A & B"),
    ]
    assert feed.title == "Rock & Roll"
    assert feed.site_url == "https://amp.example/?a=1&b=2"
    assert feed.problems == ["malformed:1"]


def test_messy_feed_gives_all_items() -> None:
    feed = read("messy.xml")
    assert rows(feed) == [
        ("https://messy.example/1", "One bold"),
        ("https://messy.example/2", "Two"),
        ("https://messy.example/3", "Three with control characters"),
        ("https://messy.example/4", "Four"),
    ]
    assert feed.links[0].published_at == at(2024, 12, 31, 15)
    assert feed.problems == ["leading_junk:1", "malformed:1"]


def test_a_cut_off_feed_gives_complete_items_only() -> None:
    feed = read("cut-off.xml")
    assert [link.url for link in feed.links] == ["https://cut.example/1", "https://cut.example/2"]
    assert "cut_off:1" in feed.problems


def test_a_feed_that_is_cut_off_anywhere_gives_no_wrong_urls() -> None:
    for name in ("rss20.xml", "raw-ampersand.xml", "atom10.xml"):
        body = (DATA / name).read_bytes()
        whole = {link.url for link in read(name).links}
        for end in range(len(body) // 3, len(body), 7):
            assert {link.url for link in parse_feed(body[:end], URL, now=NOW).links} <= whole


def test_text_after_the_feed_is_ignored() -> None:
    feed = parse_feed((DATA / "rdf.xml").read_bytes() + b"<!-- 0.3 s --><script>x</script>", URL, now=NOW)
    assert len(feed.links) == 2
    assert feed.problems == ["trailing_junk:1"]


@pytest.mark.parametrize(
    ("feed_url", "site", "expected"),
    [
        ("https://a.example/rss/feed.xml", "https://a.example/", "https://a.example/rss/1.html"),
        ("https://feeds.feedburner.com/x", "https://a.example/", "https://a.example/1.html"),
    ],
)
def test_relative_links(feed_url: str, site: str, expected: str) -> None:
    text = f"<rss><channel><link>{site}</link><item><link>1.html</link></item></channel></rss>"
    assert [link.url for link in parse(text, feed_url).links] == [expected]


def test_invalid_links_are_counted() -> None:
    text = "<rss><channel><item><link>javascript:void(0)</link></item><item><link>http://[</link></item></channel></rss>"
    feed = parse(text)
    assert feed.links == []
    assert feed.problems == ["bad_link:2", "no_items:1"]


@pytest.mark.parametrize(
    "date", ["Fri, 31 Dec 9999 23:59:59 GMT", "1900-01-01", "Thu, 01 Jan 1970 00:00:00 GMT"]
)
def test_impossible_dates_are_counted_and_the_item_is_kept(date: str) -> None:
    text = f"<rss><channel><item><link>https://a.example/1</link><pubDate>{date}</pubDate></item></channel></rss>"
    feed = parse(text)
    assert [link.published_at for link in feed.links] == [None]
    assert feed.problems == ["bad_date:1"]


def test_a_second_date_is_tried_when_the_first_is_broken() -> None:
    text = (
        "<rss xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><item><link>https://a.example/1</link>"
        "<pubDate>soon</pubDate><dc:date>2024-12-31</dc:date></item></channel></rss>"
    )
    assert parse(text).links[0].published_at == at(2024, 12, 31)


# --- documents that are not feeds
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t\0", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (
            b"<!DOCTYPE html><html><head><title>Not found</title></head><body><feed></feed></body></html>",
            "html",
        ),
        (b"<html><body>rss</body></html>", "html"),
        (b"<?xml version='1.0'?><urlset></urlset>", "not_a_feed"),
        (b'{"error": "no"}', "not_a_feed"),
        (b'{"error": ', "not_a_feed"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not_a_feed"),
        (b"just text", "not_a_feed"),
    ],
)
def test_bodies_that_are_not_feeds(body: bytes, reason: str) -> None:
    with pytest.raises(FeedError, match=f"^{reason}$") as caught:
        parse_feed(body, URL, now=NOW)
    assert caught.value.reason == reason


def test_a_feed_without_items_is_a_feed() -> None:
    assert parse("<rss><channel><title>T</title></channel></rss>").problems == ["no_items:1"]


# --- properties
ADDRESSES = st.builds(
    "https://{}.example/{}?{}={}&b={}".format,
    st.sampled_from(["a", "www.b", "xn--e1afmkfd"]),
    st.text("abcяёж/-_.~%1(),'", max_size=30),
    st.text("abcкл", min_size=1, max_size=5),
    st.text("abc=&+<\"'1", max_size=20),
    st.text("ab1copy&lt", max_size=10),
)
"""URLs, which include raw ``&``, HTML entity names, Cyrillic and quotes."""


@settings(max_examples=80, deadline=None)
@given(st.lists(ADDRESSES, min_size=1, max_size=8, unique=True), st.booleans())
def test_links_of_valid_feeds_are_unchanged(addresses: list[str], cdata: bool) -> None:
    written = [f"<![CDATA[{one}]]>" if cdata else escape(one) for one in addresses]
    rss = "".join(f"<item><title>t</title><link>{one}</link></item>" for one in written)
    assert [link.url for link in parse(f"<rss><channel>{rss}</channel></rss>").links] == addresses
    atom = "".join(f"<entry><link href={quoteattr(one)}/></entry>" for one in addresses)
    assert [
        link.url for link in parse(f"<feed xmlns='http://www.w3.org/2005/Atom'>{atom}</feed>").links
    ] == addresses
    items = json.dumps({"items": [{"url": one} for one in addresses]})
    assert [link.url for link in parse(items).links] == addresses


@settings(max_examples=80, deadline=None)
@given(st.lists(ADDRESSES.filter(lambda one: "<" not in one), min_size=1, max_size=8, unique=True))
def test_unescaped_links_are_unchanged(addresses: list[str]) -> None:
    rss = "".join(f"<item><title>t</title><link>{one}</link></item>" for one in addresses)
    feed = parse(f"<rss><channel><title>&nbsp;</title>{rss}</channel></rss>")
    assert [link.url for link in feed.links] == addresses


PIECES = st.sampled_from(
    (
        b"<rss>|<channel>|<item>|</item>|<title>|</title>|<link>|</link>|<link href='|http://a.example/|<![CDATA[|]]>"
        b"|<!--|-->|<?xml encoding='|<!DOCTYPE x [|&#|&amp;|&|<|>|'|\"|\xff\xfe|\0|<feed>|<entry>"
        b"|xml:base='x'|{|]|\"items\":[|<pubDate>|<hour>|<ttl>|99999999999|<sy:updateFrequency>|utf-7"
    ).split(b"|")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=8)), max_size=40).map(b"".join))
def test_any_bytes_give_a_feed_or_a_feed_error(body: bytes) -> None:
    try:
        feed = parse_feed(body, URL, now=NOW)
    except FeedError:
        return
    assert all(link.url.lower().startswith(("http://", "https://")) for link in feed.links)


# --- content before the root element
ITEMS = "<rss version='2.0'><channel><title>t</title><item><link>{}</link></item></channel></rss>"


@pytest.mark.parametrize(
    "before",
    [
        "<!DOCTYPE html>",
        "<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0'>\n",
        "<!-- made from <html><body> by a tool -->",
        "<?xml version='1.0'?><!-- <rss> --><!-- <head> -->\n",
    ],
)
def test_a_feed_is_recognised_by_its_root_element(before: str) -> None:
    assert [link.url for link in parse(before + ITEMS.format("https://a.example/1")).links] == [
        "https://a.example/1"
    ]


def test_a_page_with_a_feed_in_it_is_a_page() -> None:
    for page in ("<!DOCTYPE html><html><rss>", "<!-- x --><body><rss>", "text <html> <rss>"):
        with pytest.raises(FeedError, match="html"):
            parse(page)


def test_short_entities_of_the_doctype_are_replaced() -> None:
    doctype = """<!DOCTYPE rss [
        <!ENTITY site "https://a.example/?x=1&amp;y="> <!ENTITY amp "no"> <!ENTITY deep "&site;&site;">
        <!ENTITY % file SYSTEM "file:///etc/passwd">
    ]>"""
    feed = parse(doctype + ITEMS.format("&site;7"))
    assert [link.url for link in feed.links] == ["https://a.example/?x=1&y=7"]
    for unknown in ("&deep;1", "&file;1"):
        assert [
            link.text for link in parse(doctype + ITEMS.format(unknown)).links if "passwd" in link.url
        ] == []


def test_the_language_of_the_feed_decides_which_number_is_the_month() -> None:
    item = "<item><link>/1</link><pubDate>11/12/2024 10:00</pubDate></item>"
    for language, month in (("en-us", 11), ("de", 12)):
        feed = parse(f"<rss><channel><language>{language}</language>{item}</channel></rss>")
        assert feed.links[0].published_at is not None
        assert feed.links[0].published_at.month == month
    entry = '<entry><link href="/1"/><published>11/12/2024 10:00</published></entry>'
    atom = f'<feed xml:lang="en-US">{entry}</feed>'
    assert parse(atom).links[0].published_at == at(2024, 11, 12, 10)


def test_all_dates_of_a_feed_decide_the_order_of_day_and_month() -> None:
    items = "".join(
        f"<item><link>https://a.example/{number}</link><pubDate>{date}</pubDate></item>"
        for number, date in enumerate(("05/06/2024 08:00", "05/23/2024 08:00", "06/07/2024 09:00"))
    )
    links = parse(f"<rss><channel>{items}</channel></rss>").links
    assert [link.published_at and link.published_at.month for link in links] == [5, 5, 6]


def test_the_articles_of_the_site_decide_if_the_feed_does_not_show_the_order() -> None:
    item = "<item><link>https://a.example/{}</link><pubDate>{} 08:00</pubDate></item>"
    unclear = f"<rss><channel>{item.format(1, '05/06/2024')}</channel></rss>"
    shown = unclear.replace("</channel>", item.format(2, "05/23/2024") + "</channel>")
    sitemap = (
        "<urlset><url><loc>https://a.example/1</loc><news:news xmlns:news='http://www.google.com/schemas/"
        "sitemap-news/0.9'><news:publication_date>05/06/2024</news:publication_date></news:news></url></urlset>"
    )
    for body, order, month in (
        (unclear, None, None),
        (unclear, True, 5),
        (unclear, False, 6),
        (shown, False, 5),
        (sitemap, None, None),
        (sitemap, True, 5),
    ):
        dates = SiteDates(month_first=order)
        source = read_source(BUILT_IN, body.encode(), "https://a.example/s", "", dates)
        published = source.links[0].published_at
        assert (published and published.month) == month, (body, order)


def test_one_time_for_all_items_is_that_of_the_feed() -> None:
    items = "".join(
        f"<item><link>https://a.example/{number}</link><pubDate>2024-05-03T14:05:10Z</pubDate></item>"
        for number in range(5)
    )
    feed = parse(f"<rss><channel>{items}</channel></rss>")
    assert {link.published_at for link in feed.links} == {None}
    assert "one_date:1" in feed.problems


def test_a_plain_title_of_atom_keeps_its_brackets() -> None:
    title = "<title>When to use &lt;table&gt; &amp;amp; why</title>"
    entry = f"<entry>{title}<link href='https://a.example/1'/></entry>"
    assert parse(f"<feed>{entry}</feed>").links[0].text == "When to use <table> & why"


def test_a_feed_inside_a_page_that_has_nothing_else() -> None:
    feed = "<rss><channel><item><link>https://a.example/1</link></item></channel></rss>"
    escaped = feed.replace("<", "&lt;").replace(">", "&gt;")
    for page in (f"<html><body>{feed}</body></html>", f"<html><body><pre>{escaped}</pre></body></html>"):
        assert [link.url for link in parse(page).links] == ["https://a.example/1"]


class Odd(SourceReader):
    """A reader whose answers are those of two functions."""

    def __init__(self, read: Callable[[], Any], recognises: Callable[[], bool] = lambda: True) -> None:
        self._read, self._recognises = read, recognises

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:
        return self._recognises()

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> Any:
        return self._read()


def fails() -> Any:
    raise KeyError("posts")


def link(**more: Any) -> Feed:
    return Feed(links=[Link(**{"url": "https://news.example/1", "where": Where.FEED, **more})])


@pytest.mark.parametrize(
    ("reader", "error"),
    [
        (Odd(fails), "KeyError: 'posts'"),
        (Odd(Feed, fails), "KeyError: 'posts'"),
        (Odd(lambda: None), "TypeError: the result of read() is None, not <class 'newsbot."),
        (Odd(list), "TypeError: the result of read() is [], not <class 'newsbot."),
        (Odd(lambda: Feed(links=["https://news.example/1"])), "links[0] is 'https://news.example/1', not"),  # type: ignore[list-item]
        (Odd(lambda: Feed(links=None)), "links is None, not <class 'list'>"),  # type: ignore[arg-type]
        (Odd(lambda: Feed(ttl="soon")), "ttl is 'soon', not <class 'float'>"),  # type: ignore[arg-type]
        (Odd(lambda: Sitemap(children=["a"])), "children[0] is 'a', not"),  # type: ignore[list-item]
        (Odd(lambda: link(url=None)), "links[0].url is None, not <class 'str'>"),
        (Odd(lambda: link(kind="article")), "links[0].kind is 'article', not <class 'newsbot.items.Kind'>"),
        (Odd(lambda: link(published_at="today")), "links[0].published_at is 'today', not"),
        (Odd(lambda: link(published_at=datetime(2025, 1, 2))), "'datetime.datetime'> with tzinfo"),
        (Odd(lambda: link(authors=[1])), "links[0].authors is [1], not <class 'tuple'>"),
        (Odd(lambda: link(media=("a.png",))), "links[0].media[0] is 'a.png', not"),
    ],
)
def test_a_fault_of_a_reader_is_an_invalid_feed_and_names_the_reader(caplog, reader, error):
    others = [Odd(Feed, lambda: False), reader, *BUILT_IN]
    with caplog.at_level("INFO"), pytest.raises(FeedError):
        read_source(others, b"{}", "https://news.example/api", "", SiteDates())
    [record] = caplog.records
    assert "reader=tests.test_feeds.Odd failed url=https://news.example/api" in record.getMessage()
    assert error in record.getMessage()
    assert record.exc_info is None


def test_all_that_a_reader_may_return_is_accepted():
    given = [
        link(
            published_at=NOW, kind=Kind.ARTICLE, authors=("Ann",), media=({"type": "image", "url": "a.png"},)
        ),
        Feed(ttl=60, skip_hours=frozenset({3}), hubs=[Hub("https://hub.example/", "websub")]),
        Sitemap(children=[Child("https://news.example/more.xml", NOW)]),
    ]
    for one in given:
        found = read_source([Odd(partial(copy, one)), *BUILT_IN], b"{}", URL, "", SiteDates())
        assert found == one


@pytest.mark.parametrize(
    "kind", ["api", Kind("items", like=Kind.ARTICLE), Kind("lists", like=Kind.SECTION), None]
)
def test_readers_are_objects_with_a_kind_of_a_listing(kind):
    reader = Odd(Feed)
    assert checked(reader, "mine:READER") is reader
    reader.kind = kind
    for wrong in (reader, Odd, None):
        with pytest.raises(ArgumentError, match=r"^mine:READER must be an object \(not a class\)"):
            checked(wrong, "mine:READER")
