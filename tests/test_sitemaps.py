"""Sitemaps: pages, news, indexes, text, gzip."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.sitemaps import MAX_URLS, Child, Sitemap, SitemapError, parse_sitemap

NOW = datetime(2025, 1, 2, tzinfo=UTC)
URL = "https://map.example/sitemap.xml"

NEWS = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="/main-sitemap.xsl"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
  xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url>
  <loc>https://map.example/a?x=1&amp;y=2</loc><lastmod>2024-12-31T12:00:00Z</lastmod>
  <xhtml:link rel="alternate" hreflang="en" href="https://map.example/en/a"/>
  <news:news>
    <news:publication><news:name>Example</news:name><news:language>ru</news:language></news:publication>
    <news:publication_date>2024-12-31T10:00+03:00</news:publication_date>
    <news:title>Мост &amp; река &lt;b&gt;сегодня&lt;/b&gt;</news:title><news:keywords>a, b</news:keywords>
  </news:news>
  <image:image><image:loc>https://map.example/a.jpg</image:loc><image:title>Picture</image:title></image:image>
  <video:video><video:title>Film</video:title><video:publication_date>2001-01-01</video:publication_date></video:video>
</url>
<url><loc>
  https://map.example/b
</loc><changefreq>daily</changefreq><priority>0.5</priority></url>
</urlset>"""


def parse(body: bytes | str, url: str = URL) -> Sitemap:
    return parse_sitemap(body.encode() if isinstance(body, str) else body, url, now=NOW)


def test_news_sitemap() -> None:
    sitemap = parse(NEWS)
    assert sitemap.links == [
        Link(
            url="https://map.example/a?x=1&y=2",
            where=Where.NEWS_SITEMAP,
            kind=Kind.ARTICLE,
            text="Мост & река сегодня",
            published_at=datetime(2024, 12, 31, 7, tzinfo=UTC),
            modified_at=datetime(2024, 12, 31, 12, tzinfo=UTC),
        ),
        Link(url="https://map.example/b", where=Where.SITEMAP),
    ]
    assert sitemap.problems == []


def test_gzip_is_recognised_by_its_content_even_if_cut_off() -> None:
    packed = gzip.compress(NEWS.encode())
    assert parse(packed) == parse(NEWS)
    assert parse(gzip.compress(NEWS[:900].encode()) + gzip.compress(NEWS[900:].encode())) == parse(NEWS)
    cut = parse(packed[:-30])
    assert cut.links[:1] == parse(NEWS).links[:1]
    assert "cut_off:1" in cut.problems


def test_small_archives_of_large_sitemaps_are_read_completely() -> None:
    text = "".join(f"<url><loc>https://map.example/{number}</loc></url>" for number in range(20_000))
    assert len(parse(gzip.compress(f"<urlset>{text}</urlset>".encode())).links) == 20_000


def test_an_index_is_read_without_itself_and_duplicates() -> None:
    sitemap = parse(
        """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://map.example/news.xml</loc><lastmod>2024-12-31</lastmod></sitemap>
        <sitemap><loc>/2024-12.xml.gz</loc></sitemap>
        <sitemap><loc>https://map.example/news.xml</loc></sitemap>
        <sitemap><loc>https://MAP.example:443/sitemap.xml</loc></sitemap>
        <sitemap><loc>javascript:1</loc></sitemap><sitemap/>
        </sitemapindex>"""
    )
    assert sitemap.children == [
        Child("https://map.example/news.xml", datetime(2024, 12, 31, tzinfo=UTC)),
        Child("https://map.example/2024-12.xml.gz"),
    ]
    assert sorted(sitemap.problems) == ["bad_link:2", "duplicate_child:1", "self_reference:1"]


def test_index_of_itself_only() -> None:
    sitemap = parse(f"<sitemapindex><sitemap><loc>{URL}</loc></sitemap></sitemapindex>")
    assert (sitemap.children, sitemap.problems) == ([], ["self_reference:1", "no_urls:1"])


def test_plain_text() -> None:
    sitemap = parse(
        "\ufeffhttps://map.example/1\r\n\r\n  https://map.example/2?a=1&b=2 \nno address\nhttps://map.example/1"
    )
    assert [link.url for link in sitemap.links] == ["https://map.example/1", "https://map.example/2?a=1&b=2"]
    assert sorted(sitemap.problems) == ["bad_link:1", "duplicate_url:1"]


def test_a_feed_as_sitemap() -> None:
    sitemap = parse(
        "<?xml version='1.0'?><rss><channel><item><link>https://map.example/1</link></item></channel></rss>"
    )
    assert [(link.url, link.where) for link in sitemap.links] == [("https://map.example/1", Where.FEED)]
    assert sitemap.problems == ["is_feed:1"]


@pytest.mark.parametrize(
    "opening",
    [
        "<urlset>",
        '<urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9/">',
        '<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">',
        '<urlset xmlns="urn:of-our-own">',
        '<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9">',
        "Warning: something\n<URLSET>",
        "<!DOCTYPE urlset><urlset>",
    ],
)
def test_namespaces_and_junk(opening: str) -> None:
    prefix = "sm:" if "<sm:" in opening else ""
    text = f"{opening}<{prefix}url><{prefix}loc>https://map.example/1</{prefix}loc></{prefix}url>"
    assert [link.url for link in parse(text).links] == ["https://map.example/1"]


def test_a_malformed_sitemap_is_read_as_far_as_possible() -> None:
    sitemap = parse(
        "<urlset><url><loc>https://map.example/?a=1&b=2</loc><lastmod>never</lastmod></url>"
        "<url><loc>https://map.example/2<loc></url>"
        "<url><loc><![CDATA[https://map.example/3]]></loc><news:news><news:title>T</news:title></news:news></url>"
        "<url><loc>https://map.example/4-and-so-o"
    )
    assert [link.url for link in sitemap.links] == [
        "https://map.example/?a=1&b=2",
        "https://map.example/3",
    ]
    assert sitemap.links[1].where is Where.NEWS_SITEMAP
    assert sorted(sitemap.problems) == ["bad_date:1", "bad_link:2", "malformed:1"]


def test_the_newest_urls_are_kept_if_there_are_too_many() -> None:
    days = [NOW - timedelta(hours=hour) for hour in range(MAX_URLS + 1000, 0, -1)]
    text = "".join(
        f"<url><loc>https://map.example/{number}</loc><lastmod>{day:%Y-%m-%dT%H:%MZ}</lastmod></url>"
        for number, day in enumerate(days)
    )
    sitemap = parse(gzip.compress(f"<urlset>{text}</urlset>".encode()))
    assert [link.url for link in sitemap.links] == [
        f"https://map.example/{number}" for number in range(1000, MAX_URLS + 1000)
    ]
    assert sitemap.problems == ["too_many_urls:1000"]


@pytest.mark.parametrize(
    ("lastmod", "kept"),
    [
        (lambda number: "2024-01-01" if number >= MAX_URLS else "2020-01-01", {0, MAX_URLS, MAX_URLS + 9}),
        (lambda number: "", {0, MAX_URLS + 9}),
        (lambda number: "2020-01-01" if number % 2 else "", {1, MAX_URLS - 1, 0, MAX_URLS + 8}),
    ],
)
def test_the_newest_files_of_an_index_are_kept_if_there_are_too_many(lastmod, kept) -> None:
    files = [(f"https://map.example/{number}.xml", lastmod(number)) for number in range(MAX_URLS + 10)]
    text = "".join(f"<sitemap><loc>{url}</loc><lastmod>{day}</lastmod></sitemap>" for url, day in files)
    sitemap = parse(gzip.compress(f"<sitemapindex>{text}</sitemapindex>".encode()))
    children = [child.url for child in sitemap.children]
    assert len(children) == MAX_URLS
    assert {files[number][0] for number in kept} <= set(children)
    places = [int(url[20:-4]) for url in children]
    assert places == sorted(places), "must be in the order of the file"
    assert "too_many_urls:10" in sitemap.problems


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"\x1f\x8b broken", "empty"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "html"),
        (b"<html><body><url>x</url></body></html>", "html"),
        (b"<?xml version='1.0'?><error/>", "not_a_sitemap"),
        (b"not found", "not_a_sitemap"),
    ],
)
def test_bodies_that_are_not_sitemaps(body: bytes, reason: str) -> None:
    with pytest.raises(SitemapError, match=f"^{reason}$"):
        parse(body)


ADDRESSES = st.builds(
    "https://map.example/{}?{}".format, st.text("abя/-_.~%1", max_size=20), st.text("ab=&'1", max_size=20)
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ADDRESSES, min_size=1, max_size=8, unique=True), st.booleans())
def test_urls_are_unchanged(addresses: list[str], packed: bool) -> None:
    text = "".join(f"<url><loc>{escape(one)}</loc></url>" for one in addresses)
    body = f"<urlset>{text}</urlset>".encode()
    assert [link.url for link in parse(gzip.compress(body) if packed else body).links] == addresses
    assert [link.url for link in parse("\n".join(addresses)).links] == addresses


PIECES = st.sampled_from(
    (
        b"<urlset>|<sitemapindex>|<url>|</url>|<sitemap>|</sitemap>|<loc>|</loc>|https://map.example/|<lastmod>|2024-01-01"
        b"|<news:news>|<![CDATA[|]]>|<!--|&|<|>|\x1f\x8b|\xff\xfe|<rss>|<item>|<link>|\n|http://"
    ).split(b"|")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=8)), max_size=40).map(b"".join), st.booleans())
def test_any_bytes_give_a_sitemap_or_a_sitemap_error(body: bytes, packed: bool) -> None:
    try:
        sitemap = parse(gzip.compress(body) if packed else body)
    except SitemapError:
        return
    assert all(link.url.lower().startswith(("http://", "https://")) for link in sitemap.links)


def test_the_address_of_a_picture_is_not_the_page() -> None:
    sitemap = parse(
        "<urlset><url><image><loc>https://cdn.example/1.jpg</loc></image>"
        "<loc>www.map.example/1</loc></url></urlset>"
    )
    assert [link.url for link in sitemap.links] == ["https://www.map.example/1"]
    index = parse("<sitemapindex><sitemap>https://map.example/2.xml</sitemap></sitemapindex>")
    assert [child.url for child in index.children] == ["https://map.example/2.xml"]
