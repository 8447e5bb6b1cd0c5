"""Summaries and authors of feed items: one line of text, from any of the usual elements."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from newsbot.pages.discovery.feeds import parse_feed

NOW = datetime(2025, 1, 2, tzinfo=UTC)
URL = "https://feed.example/feed.xml"
HEAD = "<title>One</title><link>https://feed.example/1</link>"
TAIL = "<pubDate>Wed, 01 Jan 2025 10:00:00 GMT</pubDate>"


def leads(body: str) -> list[str | None]:
    return [link.lead for link in parse_feed(body.encode(), URL, now=NOW).links]


def of_item(inner: str) -> str | None:
    before = '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
    feed = parse_feed(
        f"{before}<description>Of all</description><item>{HEAD}{inner}{TAIL}</item></channel></rss>".encode(),
        URL,
        now=NOW,
    )
    [link] = feed.links
    assert (link.url, link.text) == ("https://feed.example/1", "One")
    assert link.published_at == datetime(2025, 1, 1, 10, tzinfo=UTC)
    return link.lead


@pytest.mark.parametrize(
    ("inner", "lead"),
    [
        ("", None),
        ("<description/>", None),
        ("<description>&lt;img src='x.png'&gt;</description>", None),
        ("<description> A &amp;amp; b\n c </description>", "A & b c"),
        ("<description><![CDATA[<p>Rain</p><p>falls <a href='/2'>now</a>]]></description>", "Rain falls now"),
        ("<content:encoded>Long</content:encoded><description>Short</description>", "Short"),
        ("<content:encoded>Only this</content:encoded>", "Only this"),
        ("<description>First</description><description>Second</description>", "First"),
        ("<description><p>Not</p><p>escaped</p> & <title>T</title></description>", "Not escaped & T"),
    ],
)  # fmt: skip
def test_the_lead_of_an_item(inner: str, lead: str | None) -> None:
    assert of_item(inner) == lead


def test_xhtml_in_atom_is_text_and_its_links_are_ignored() -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>One</title>
    <link href="https://feed.example/1"/><summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
    <title>Wrong</title><p>Rain</p><p>falls</p><link href="/x"/></div></summary></entry>
    <entry><title>Two</title><link href="https://feed.example/2"/></entry></feed>"""
    assert leads(body) == ["Wrong Rain falls", None]
    assert [link.text for link in parse_feed(body.encode(), URL, now=NOW).links] == ["One", "Two"]


def test_leads_of_json_feeds() -> None:
    items = [
        {"url": "/1", "summary": "Short", "content_text": "Long"},
        {"url": "/2", "summary": " ", "content_html": "<p>From <b>HTML</b></p>"},
        {"url": "/3", "summary": 7},
    ]
    body = {"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": items}
    assert leads(json.dumps(body)) == ["Short", "From HTML", None]


def test_a_lead_is_bounded() -> None:
    long = of_item(f"<description>{'word ' * 200_000}</description>")
    assert long is not None
    assert 290 < len(long) <= 300
    assert of_item(f"<description>{'&lt;br/&gt;' * 200_000}far away</description>") is None


@pytest.mark.parametrize(
    ("inner", "authors"),
    [
        ("", ()),
        ("<dc:creator><![CDATA[Jane Doe]]></dc:creator>", ("Jane Doe",)),
        ("<dc:creator>Jane Doe</dc:creator><dc:creator>John Roe</dc:creator>", ("Jane Doe", "John Roe")),
        ("<author>jane@feed.example (Jane Doe)</author>", ("Jane Doe",)),
        ("<author>Jane Doe</author><dc:creator> Jane\nDoe </dc:creator>", ("Jane Doe",)),
        ("<author><name>Jane Doe</name><uri>https://feed.example/j</uri></author>", ("Jane Doe",)),
        ("<contributor><name>Ann Poe</name></contributor>", ()),
        ("<source><author><name>Ann Poe</name></author></source>", ()),
        ("<dc:creator>x</dc:creator>" * 50, ("x",)),
    ],
)
def test_the_authors_of_an_item(inner: str, authors: tuple[str, ...]) -> None:
    channel = f"<channel><author><name>All</name></author><item>{HEAD}{inner}{TAIL}</item></channel>"
    feed = f'<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">{channel}</rss>'
    [link] = parse_feed(feed.encode(), URL, now=NOW).links
    assert (link.text, link.authors) == ("One", authors)


@pytest.mark.parametrize(
    ("fields", "authors"),
    [
        ({"authors": [{"name": "Jane Doe"}, {"url": "x"}, 7]}, ("Jane Doe",)),
        ({"author": {"name": "Jane Doe"}}, ("Jane Doe",)),
        ({"authors": "Jane"}, ()),
        ({"author": None}, ()),
    ],
)
def test_the_authors_of_a_json_feed(fields: dict[str, object], authors: tuple[str, ...]) -> None:
    item = {"url": "https://feed.example/1", "title": "One", **fields}
    body = {"version": "https://jsonfeed.org/version/1.1", "items": [item]}
    [link] = parse_feed(json.dumps(body).encode(), URL, now=NOW).links
    assert link.authors == authors
