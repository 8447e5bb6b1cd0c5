"""Fields of the default themes of common publishing systems, and of common markup in themes.

The files of ``data/pages/themes`` are pages of Pelican, Hugo (its embedded templates), Jekyll (minima),
Nikola, Hexo (landscape) and WordPress (Twenty Twenty-One; Twenty Twenty-Three, a block theme), without
scripts and styles: ``python -m benchmarks.cms --posts 14`` makes such sites.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from newsbot.items import Link, Where
from newsbot.pages.discovery.list_pages import find_links
from newsbot.pages.extraction import parse_html
from tests.extraction_pages import PAGES, TEXT, json_ld, page, read

NOW = datetime(2026, 11, 21, tzinfo=UTC)
URL = "https://www.example.org/2026/minister-resigns.html"
THEMES = ("pelican", "hugo", "jekyll", "nikola", "hexo", "wordpress", "wordpress-blocks")


@pytest.mark.parametrize("theme", THEMES)
def test_a_post_of_a_default_theme(theme: str) -> None:
    article = read((PAGES / "themes" / f"{theme}-post.html").read_bytes(), URL, now=NOW)
    assert (
        article.title == "Minister resigns over bridge news"
    )  # the sites are called Pelican News, Hugo News …
    assert article.published_at == datetime(2026, 11, 11, 12, 0, 51, tzinfo=UTC)
    assert article.authors == (["John Doe"] if theme == "hexo" else ["Ravi K. Menon"])  # Hexo: the owner


@pytest.mark.parametrize("theme", THEMES)
def test_the_posts_on_a_home_page_and_a_list(theme: str) -> None:
    """All fourteen posts are found, and the link to the post of the other test has its headline as text."""
    found: dict[str, str] = {}
    for file in PAGES.glob(f"themes/{theme}-[hl]*.html"):
        for link in find_links(parse_html(file.read_bytes()), "https://www.example.org/"):
            if re.search(r"-\d+(?:/|\.html)$", link.url):
                found[link.url.rstrip("/").removesuffix(".html").rpartition("-")[2]] = link.text or ""
    assert found.keys() == set(map(str, range(14)))
    assert found["4"] == "Minister resigns over bridge news"


# --- dates
@pytest.mark.parametrize(
    "markup",
    [
        '<time class="entry-date published updated" datetime="2024-05-03T14:05:00+02:00">3 May 2024</time>',
        '<abbr class="published" title="2024-05-03T14:05:00+02:00">Published: Fri 03 May 2024</abbr>',
        '<span class="dt-published" title="2024-05-03T14:05:00+02:00">3 May 2024</span>',
        '<footer><abbr class="published" title="2024-05-03T14:05:00+02:00">3 May</abbr></footer>',
        '<p><time datetime="2024-05-04T09:00Z"></time> <time datetime="2024-05-03T12:05Z"></time></p>',
        '<p>Updated <time datetime="2024-05-04T09Z"></time> <time datetime="2024-05-03T12:05Z"></time></p>',
    ],
)
def test_the_time_of_publication(markup: str) -> None:
    article = read(page(body=f"<article><h1>Rain closes the lower road</h1>{markup}{TEXT}</article>", h1=""))
    assert article.published_at == datetime(2024, 5, 3, 12, 5, tzinfo=UTC)


def test_the_later_of_two_times_is_the_modification_time() -> None:
    times = '<p><time datetime="2024-05-03T14:05Z"></time> · <time datetime="2024-05-04T09:00Z"></time></p>'
    article = read(page(body=times + TEXT))
    assert article.modified_at == datetime(2024, 5, 4, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "times",
    [
        '<time datetime="2024-05-04T09Z">4 May</time> <time datetime="2024-05-03T12:05Z">3 May</time>',
        '<p><time datetime="2024-05-04T09Z"></time></p><p><time datetime="2024-05-03T12:05Z"></time></p>',
        "<b><time>4 May 2024 09:00</time></b><b>(<time>3 May 2024 12:05</time>)</b>",
    ],
)
@pytest.mark.parametrize("place", ["{times}<h1>{h1}</h1>{text}", "<h1>{h1}</h1>{times}{text}"])
def test_two_times_without_a_box_are_a_pair(times: str, place: str) -> None:
    body = place.format(times=times, h1="Rain closes the lower road", text=TEXT)
    article = read(page(body=f"<article>{body}</article>", h1=""))
    assert article.published_at == datetime(2024, 5, 3, 12, 5, tzinfo=UTC)
    assert article.modified_at == datetime(2024, 5, 4, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "markup",
    [
        '<span class="js-date" data-published="2024-05-03T12:05Z"></span>',
        '<span class="post-date" data-timestamp="1714737900">a week ago</span>',
        '<time class="timeago" title="2024-05-03T12:05:00Z">a week ago</time>',
        '<span property="schema:dateCreated" content="2024-05-03T12:05Z" class="hidden"></span>',
        '<div><span property="dc:date dc:created" content="2024-05-03T12:05Z">in May</span></div>',
        '<b property="datePublished" content="2024-05-03T12:05Z">Friday</b>',
    ],
)
def test_times_in_rdfa_and_in_attributes_for_scripts(markup: str) -> None:
    assert read(page(body=markup + TEXT)).published_at == datetime(2024, 5, 3, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "markup",
    [
        '<div class="comment"><span property="schema:dateCreated" content="2024-05-03T12:05Z"></span></div>',
        '<span class="date" data-modified-date="2024-05-03T12:05Z"></span>',
        '<span class="date" data-article="171473790012"></span>',
    ],
)
def test_other_times_in_rdfa_and_in_attributes(markup: str) -> None:
    assert read(page(body=TEXT + markup)).published_at is None


def test_the_time_of_another_article_is_not_the_modification_time() -> None:
    other = f'{"Snow and more of it, " * 20}<time datetime="2024-04-01T10:00Z">1 April</time>'
    article = read(
        page(body=f'<p><time datetime="2024-05-03T14:05Z">3 May</time></p>{TEXT}<section>{other}</section>')
    )
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    assert article.modified_at is None


# --- authors
@pytest.mark.parametrize(
    "markup",
    [
        "<p>By <strong>Jane Doe</strong></p>",
        "<p><em>By</em> <a href='/people/7'>Jane Doe</a></p>",
        "<div>Ein Artikel von <strong>Jane Doe</strong> | 27.01.2022 - 12:45</div>",
        "<div class='meta'>par <span class='auteurs'>Jane Doe</span>, 21 juin 2018</div>",
        "<p>Reporting by Jane Doe; Editing by John Roe and Ann Poe</p>",
        "<footer class='entry-footer'>By <a rel='author' href='/a/1'>Jane Doe</a></footer>",
        "<footer><p class='vcard author'>By <a class='url fn' href='/x'>Jane Doe</a></p></footer>",
        "<div class='entry-footer'><a class='p-author h-card' href='/x'>Jane Doe</a></div>",
        "<aside class='author-box'><h4>Jane Doe</h4><p>Jane writes about rivers.</p></aside>",
        "<nav><div class='post__authors'><strong>Jane Doe</strong><br>Reporter</div></nav>",
        "<p class='byline'>By Jane Doe in Munich, Germany</p>",
        "<p class='byline'>By Jane Doe, Munich</p><p>Munich, Germany – It rained for a whole night.</p>",
    ],
)
def test_bylines(markup: str) -> None:
    article = read(page(body=f"<article><h1>Rain closes the lower road</h1>{markup}{TEXT}</article>", h1=""))
    assert article.authors == ["Jane Doe"]


@pytest.mark.parametrize(
    "markup",
    [
        "<span class='byline__place'>Munich, Germany</span>",
        "<p class='author'>$$ARTICLELEAD$$</p>",
        "<p class='author'>{{ post.author }}</p>",
        "<p class='author'>%AUTHOR%</p>",
        "<a href='/b'>Snow in June <span>A column by Jane Doe</span></a>",
        "<form><div>Sort by Date Title Relevance</div></form>",
        "<div>Photo by Jane Doe</div>",
        "<aside class='author'><b>Jane Doe</b></aside><aside class='author'><b>John Roe</b></aside>",
        "<nav><div class='authors'><b><a href='/jd'>Jane Doe</a></b> <a href='/b'>All</a></div></nav>",
    ],
)
def test_texts_that_are_not_authors(markup: str) -> None:
    assert read(page(body=markup + TEXT)).authors == []


def test_authors_of_previews() -> None:
    head = '<meta name="twitter:label1" content="{}"><meta name="twitter:data1" content="Jane Doe">'
    assert read(page(head.format("Verfasst von"))).authors == ["Jane Doe"]
    assert read(page(head.format("Starring"))).authors == []


def test_a_place_in_the_data_is_not_an_author() -> None:
    data = '{"@type":"NewsArticle","headline":"Rain closes the lower road","author":[{"name":"Munich"}],'
    assert read(page(json_ld(data + '"contentLocation":{"@type":"Place","name":"Munich"}}'))).authors == []


def test_the_footer_of_the_page_is_not_a_source_of_authors() -> None:
    footer = "<footer><p class='author'>By Jane Doe</p></footer>"
    html = page().replace(b"</article>", f"</article>{footer}".encode())
    assert read(html).authors == []


def test_authors_of_the_feed_are_used_if_the_page_states_none() -> None:
    fed = Link(url=URL, where=Where.FEED, authors=("Jane Doe", "jane@example.org"))
    assert read(page(), hint=fed).authors == ["Jane Doe"]
    assert read(page('<meta name="author" content="John Roe">'), hint=fed).authors == ["John Roe"]


# --- titles
@pytest.mark.parametrize(
    "banner",
    [
        '<header><h1><a href="/">Pelican News</a></h1></header>',
        '<header><a href="https://www.example.org"><h1>Pelican News</h1></a></header>',
        '<header><h1><a href="../index.html">Pelican News</a></h1></header>',
        "<header><h1>Pelican News</h1></header>",
    ],
)
@pytest.mark.parametrize("tail", ["", " | Pelican News", " - Pelican News"])
def test_the_name_of_the_site_is_not_the_title(banner: str, tail: str) -> None:
    html = page(title=f"Minister resigns over bridge news{tail}", h1="Minister resigns over bridge news")
    article = read(html.replace(b"<article>", f"{banner}<article>".encode()), URL)
    assert article.title == "Minister resigns over bridge news"


def test_a_home_page_with_the_headline_of_its_story_keeps_the_title() -> None:
    html = page(h1='<a href="/">Rain closes the lower road</a>')
    assert read(html, "https://www.example.org/").title == "Rain closes the lower road"
