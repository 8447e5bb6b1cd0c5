"""Complete crawls of a site whose feed has full texts while its pages are refused or show only a part."""

from __future__ import annotations

from xml.sax.saxutils import escape

import pytest
from lxml.html import fromstring

from newsbot.pages.discovery.feeds import item_contents
from tests.crawls import article_html
from tests.newssite import HOST, XML, with_due

PARAGRAPHS = (
    "The ferry between the two islands will stop for the winter, because the company found no crew for it.",
    "Twelve families who live on the smaller island must now cross by the boat of the post, twice a week.",
    "The mayor said that the county had promised a replacement by January, but nobody has signed a contract.",
    "Fishermen offered to carry goods for the shop. The school will teach its five pupils by video.",
)
CUT = (
    f"<html lang=en><title>Ferry 3</title><meta property='article:content_tier' content='locked'>"
    f"<article><h1>Ferry stops for the winter, part 3</h1><p>{PARAGRAPHS[0]}…</p>"
    "<div class=paywall>Subscribe to read on</div></article></html>"
)

TIME = "<time datetime='2026-11-20T08:00:00Z'></time>"


def title(number: int) -> str:
    return f"Ferry stops for the winter, part {number}"


def story(number: int) -> str:
    return f"{HOST}/story/{number}"


def content(number: int) -> str:
    return "".join(f"<p>{number} {line}</p>" for line in PARAGRAPHS)


def feed(*numbers: int) -> str:
    items = "".join(
        f"<item><title>{title(n)}</title><link>{story(n)}</link><description>The ferry stops.</description>"
        f"<pubDate>Fri, 27 Nov 2026 0{n}:00:00 GMT</pubDate>"
        f"<content:encoded>{escape(content(n))}</content:encoded></item>"
        for n in numbers
    )
    return (
        '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
        f"<title>Harbour News</title>{items}</channel></rss>"
    )


def undated(*numbers: int, date: str = "") -> str:
    """Return a feed without texts, whose items have the date ``date``."""
    items = "".join(
        f"<item><title>{title(n)}</title><link>{story(n)}</link><pubDate>{date}</pubDate></item>"
        for n in numbers
    )
    return f'<rss version="2.0"><channel><title>Harbour News</title>{items}</channel></rss>'


def test_the_text_of_the_feed_stands_in_for_a_page_that_is_refused_or_cut(site, world):
    site.page(f"{HOST}/feed.xml", feed(1, 2, 3, 4, 5), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    site.page(story(1), "log in", status=401)
    site.page(story(2), "forbidden", status=403)
    site.page(story(3), CUT)
    site.page(story(4), "forbidden", status=403, headers={"X-Robots-Tag": "noindex"})
    site.page(story(5), article_html(5, title=title(5)))
    crawl = world.crawl()
    found = {article.canonical_url: article for article in world.articles()}
    assert found.keys() == {story(1), story(2), story(3), story(5)}
    for number in (1, 2, 3):
        article = found[story(number)]
        assert article.text == "\n".join(f"{number} {line}" for line in PARAGRAPHS)
        assert (article.title, article.extraction["text"]) == (title(number), "feed")
        assert not article.partial
        assert article.published_at is not None
        assert article.published_at.hour == number
    assert found[story(5)].extraction.get("text") != "feed"
    assert crawl.stat("errors/http_403") == 2
    assert len(site.requests("/feed.xml")) == 2  # once more for all refused pages

    # The page replaces the feed's text, and not the other way round.
    site.page(story(2), article_html(2, title=title(2)))
    site.page(story(5), "forbidden", status=403)
    site.page(story(3), CUT)
    for number in (2, 3, 5):
        with_due(world, story(number))
    site.page(f"{HOST}/feed.xml", feed(5), headers=XML)
    world.crawl()
    after = {article.canonical_url: article for article in world.articles()}
    assert after[story(2)].extraction.get("text") != "feed"
    assert after[story(3)].text == found[story(3)].text
    assert after[story(5)].text == found[story(5)].text


ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>A</title><link href="https://news.test/a"/>'
    '<content type="{type}">{content}</content></entry></feed>'
)
MARKUP = "<p>Rain &amp; wind</p><ul><li>Snow &lt; 3 cm</li></ul>"


JSON = '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "https://news.test/a", %s}]}'


@pytest.mark.parametrize(
    "body",
    [
        ATOM.format(type="html", content=f"<![CDATA[{MARKUP}]]>"),
        ATOM.format(type="html", content=escape(MARKUP)),
        ATOM.format(type="xhtml", content=f'<div xmlns="http://www.w3.org/1999/xhtml">{MARKUP}</div>'),
        JSON % f'"content_html": "{MARKUP}"',
        JSON % '"content_text": "Rain & wind\\n\\nSnow < 3 cm"',
    ],
)
def test_contents_of_all_formats(body):
    [(url, found)] = item_contents(body.encode(), "https://news.test/feed").items()
    assert url == "https://news.test/a"
    lines = [element.text for element in fromstring(f"<div>{found}</div>").iter("p", "li")]
    assert lines == ["Rain & wind", "Snow < 3 cm"]


def test_the_articles_of_the_site_show_the_order_of_day_and_month_in_its_feed(site, world):
    """Feeds and pages decide alike: 05/11/2025 is in November, because the pages write 23/11/2025."""
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    site.page(f"{HOST}/feed.xml", undated(1, 2, 3), headers=XML)
    for number in (1, 2, 3):
        site.page(story(number), article_html(number).replace(TIME, f"<time>{20 + number}/11/2025</time>"))
    site.page(story(4), article_html(4).replace(TIME, ""))
    world.crawl()
    site.page(f"{HOST}/feed.xml", undated(4, date="05/11/2025 10:00"), headers=XML)
    world.crawl("-a", "now=yes")
    found = {article.canonical_url: article for article in world.articles()}
    assert str(found[story(3)].published_at) == "2025-11-23 00:00:00+00:00"
    assert str(found[story(4)].published_at) == "2025-11-05 10:00:00+00:00"
