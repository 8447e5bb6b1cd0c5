"""Complete crawls of articles with several pages, several versions, or repeated lines."""

from __future__ import annotations

import re

import pytest

from tests.crawls import article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HOST = "http://news.test"
STORY = f"{HOST}/news/council-story-about-the-bridge"
FOOTLINE = "The editors are happy about letters and shorten them where space is scarce."


def feed_of(site, world, *urls, rule=""):
    site.page(f"{HOST}/feed.xml", feed_xml(list(urls)), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n{rule}")


def part(number: int, following: str = "", head: str = "") -> str:
    """Return one page of the story; the paragraphs of each page differ, the title is the same."""
    more = f'<link rel="next" href="{following}">' if following else ""
    pager = f'<p class="pager"><a href="{following}">next page</a></p>' if following else ""
    return article_html(number, title="Council story about the bridge", head=more + head, extra=pager)


def items(text: str) -> list[int]:
    """Return the page number of each paragraph in the text."""
    return [number for number in range(1, 9) if f"item{number * 7919}" in text]


def test_the_pages_of_an_article_become_one(site, world):
    feed_of(site, world, STORY)
    site.page(STORY, part(1, f"{STORY}/2"))
    site.page(f"{STORY}/2", part(2, f"{STORY}/3"))
    site.page(f"{STORY}/3", part(3, f"{STORY}/2"))  # a loop
    crawl = world.crawl()
    assert crawl.code == 0
    [article] = world.articles()
    assert article.canonical_url == STORY
    assert items(article.text) == [1, 2, 3]
    assert article.extraction["pages"] == "3"
    assert not article.partial
    assert crawl.stat("pages/joined") == 2
    assert site.seen("news.test").count("/news/council-story-about-the-bridge/2") == 1


@pytest.mark.parametrize("broken", ["missing", "another"])
def test_pages_that_cannot_be_fetched_are_left_out(site, world, broken):
    feed_of(site, world, STORY)
    site.page(STORY, part(1, f"{STORY}/2"))
    if broken == "another":
        site.page(f"{STORY}/2", article_html(2, title="Quite other news of a fire at the harbour"))
    world.crawl()
    kept = [article for article in world.articles() if article.canonical_url == STORY]
    assert [items(article.text) for article in kept] == [[1]]
    assert kept[0].partial == (broken == "missing")
    [joined] = [event for event in world.events(STORY) if event["event"] == "pages_joined"]
    assert joined["pages"] == 1
    assert joined.get("fault") == ("status_404" if broken == "missing" else None)


def test_a_rule_names_the_next_page_and_a_later_page_leads_to_the_first(site, world):
    rule = "extract: {next_page: a.more}\nfollow: [feeds]\n"
    feed_of(site, world, f"{STORY}/2", rule=rule)
    canonical = f'<link rel="canonical" href="{STORY}">'
    site.page(
        STORY, article_html(1, title="Council story", extra='<a class="more" href="/continued/8812">more</a>')
    )
    site.page("http://news.test/continued/8812", article_html(2, title="Council story"))
    site.page(f"{STORY}/2", article_html(2, title="Council story", head=canonical))
    world.crawl()
    [article] = world.articles()
    assert (article.canonical_url, items(article.text)) == (STORY, [1, 2])
    assert any(event.get("reason") == "continuation" for event in world.events(f"{STORY}/2"))


@pytest.mark.parametrize("first", ["", "/amp", "/print/"])
def test_amp_and_print_versions_are_stored_as_their_canonical_article(site, world, first):
    addresses = [STORY + first, *(STORY + other for other in ("", "/amp", "/print/") if other != first)]
    feed_of(site, world, *addresses, rule="follow: [feeds]\n")
    for address in addresses:
        site.page(address, part(1, head=f'<link rel="canonical" href="{STORY}">'))
    assert world.crawl().code == 0
    [article] = world.articles()
    assert article.canonical_url == STORY


def test_only_a_substantial_edit_makes_a_version(site, world):
    feed_of(site, world, STORY)
    first = part(1)
    texts = [
        first,
        first.replace("for hours.", "for hours!"),
        re.sub("The council met", "The mayor and his nine men met", first),
    ]
    versions = []
    for number, text in enumerate(texts):
        site.page(STORY, text)
        crawl = world.crawl("-a", f"url={STORY}")
        assert crawl.code == 0, crawl.err
        with world.storage() as storage:
            versions.append(len(storage.articles.versions(STORY)))
        assert number == 0 or len(site.seen("news.test")) > number
    assert versions == [1, 1, 2]


def test_repeated_lines_of_a_site_are_left_out_also_in_the_next_crawl(site, world):
    urls = [f"{HOST}/news/story-about-bridge-number-{number}" for number in range(12)]
    feed_of(site, world, *urls[:11], rule="concurrency: 1\n")
    for number, url in enumerate(urls):
        html = article_html(number + 1)
        site.page(url, html.replace("</article>", f"<p>{FOOTLINE}</p></article>"))
    world.crawl()
    articles = world.articles()
    assert [len(articles), sum(FOOTLINE in article.text for article in articles)] == [11, 10]
    world.crawl("-a", f"url={urls[11]}")
    last = next(article for article in world.articles() if article.url == urls[11])
    assert FOOTLINE not in last.text
    assert last.shown.endswith(FOOTLINE)
