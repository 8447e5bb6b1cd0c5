"""Authors of feed items, and texts with elements that do not belong to the feed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from newsbot.pages.discovery.feeds import parse_feed

NOW = datetime(2025, 1, 2, tzinfo=UTC)
URL = "https://feed.example/feed.xml"
HEAD = "<title>One</title><link>https://feed.example/1</link>"
TAIL = "<pubDate>Wed, 01 Jan 2025 10:00:00 GMT</pubDate>"


def test_titles_and_links_in_the_xhtml_of_atom_are_ignored() -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>One</title>
    <link href="https://feed.example/1"/><summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
    <title>Wrong</title><p>Rain</p><p>falls</p><link href="/x"/></div></summary></entry>
    <entry><title>Two</title><link href="https://feed.example/2"/></entry></feed>"""
    assert [link.text for link in parse_feed(body.encode(), URL, now=NOW).links] == ["One", "Two"]


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
