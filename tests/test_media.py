"""The pictures, audio and video of articles, from pages and feeds."""

from __future__ import annotations

import gzip
import json

import pytest

from newsbot.items import Link, Where
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.pages.extraction import read_page
from newsbot.pages.extraction.addresses import join_pages
from newsbot.pages.extraction.fields.details import MAX_CAPTION, MAX_MEDIA, listed, medium
from tests.crawls import article_html
from tests.newssite import HTML, XML

URL = "https://paper.example/2026/11/20/ferry"
LINES = [
    "The ferry company has ordered four ships that run on batteries, the board said on Friday.",
    "The first of them will cross the bay in spring, with room for ninety cars and their passengers.",
    "Until then the old ferries sail every forty minutes, and every hour after ten in the evening.",
]
TEXT = "".join(f"<p>{line}</p>" for line in LINES)


def page(body: str, head: str = "") -> list[dict[str, object]]:
    html = (
        f'<html><head><title>Four new ferries</title><meta property="og:type" content="article">{head}</head>'
        f"<body>{body}</body></html>"
    )
    article = read_page(html.encode(), URL, vouched=True)
    return [dict(one) for one in article.media]


def test_a_figure_has_its_caption_and_its_size() -> None:
    figure = (
        '<figure><picture><source srcset="/img/ferry-800.webp 800w"><img src="/img/ferry.jpg" width="1200" '
        'height="800" alt="a ship"></picture><figcaption>The <b>Gull</b> at the pier</figcaption></figure>'
    )
    assert page(f"<article><h1>Four new ferries</h1>{figure}{TEXT}</article>") == [
        {
            "type": "image",
            "url": "https://paper.example/img/ferry.jpg",
            "width": 1200,
            "height": 800,
            "caption": "The Gull at the pier",
        }
    ]


def test_audio_and_video_have_their_type() -> None:
    players = (
        '<audio controls><source src="https://cdn.example/talk.mp3" type="audio/mpeg"></audio>'
        '<video src="clip.mp4" width="640" height="360" title="The launch"></video>'
    )
    assert page(f"<main><h1>Four new ferries</h1>{TEXT}{players}</main>") == [
        {"type": "audio", "url": "https://cdn.example/talk.mp3", "mime": "audio/mpeg"},
        {
            "type": "video",
            "url": "https://paper.example/2026/11/20/clip.mp4",
            "width": 640,
            "height": 360,
            "caption": "The launch",
        },
    ]


@pytest.mark.parametrize(
    "beside",
    [
        '<aside><img src="/ad.jpg" alt="buy"></aside>',
        '<a href="/other-story"><img src="/other.jpg" alt="another story"></a>',
        '<img src="/pixel.gif" width="1" height="1">',
        '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
        "<nav><img src='/logo.png'></nav>",
    ],
)
def test_pictures_beside_the_article_are_left_out(beside: str) -> None:
    assert page(f"<article><h1>Four new ferries</h1>{TEXT}{beside}</article>") == []


def test_pictures_of_other_articles_on_the_page_are_left_out() -> None:
    others = "".join(f'<article><h2>Other {n}</h2><img src="/o{n}.jpg"></article>' for n in range(3))
    body = f"<main><article><h1>Four new ferries</h1>{TEXT}<img src='/own.jpg'></article>{others}</main>"
    assert [one["url"] for one in page(body)] == ["https://paper.example/own.jpg"]


def test_a_picture_that_loads_late_has_its_real_address() -> None:
    late = '<img src="data:image/svg+xml,x" data-src="/late.jpg" alt="late">'
    assert [one["url"] for one in page(f"<article><h1>F</h1>{TEXT}{late}</article>")] == [
        "https://paper.example/late.jpg"
    ]


@pytest.mark.parametrize(
    "markup",
    [
        '<picture><source srcset="/s.jpg 400w, /l.jpg 1600w"><img src="data:image/gif;base64,R0"></picture>',
        '<img srcset="/s.jpg 1x, /l.jpg 2x">',
        '<amp-img src="/l.jpg" width="800" height="450"></amp-img>',
        '<a href="/l.jpg"><img src="/l.jpg"></a>',
    ],
)
def test_the_largest_picture_of_a_choice_is_listed(markup: str) -> None:
    found = page(f"<article><h1>Four new ferries</h1>{TEXT}{markup}</article>")
    assert [one["url"] for one in found] == ["https://paper.example/l.jpg"]


def test_a_text_without_paragraphs_has_the_pictures_of_its_article() -> None:
    text = "<br><br>".join(LINES)
    assert [one["url"] for one in page(f"<article><h1>F</h1>{text}<img src='/own.jpg'></article>")] == [
        "https://paper.example/own.jpg"
    ]


def test_metadata_of_one_file_are_joined() -> None:
    node = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": "Four new ferries",
        "image": {
            "@type": "ImageObject",
            "url": "https://paper.example/img/ferry-20261120.jpg",
            "caption": "At the pier",
        },
        "video": {
            "@type": "VideoObject",
            "name": "Launch",
            "contentUrl": "https://cdn.example/launch.mp4",
            "encodingFormat": "video/mp4",
            "width": {"value": 1920},
        },
    }
    head = (
        '<meta property="og:image" content="https://paper.example/img/ferry-20261120-1024x768.jpg">'
        '<meta property="og:image:width" content="1024"><meta property="og:image:height" content="768">'
        '<meta property="og:video" content="https://player.example/1"><meta property="og:video:type" '
        f'content="text/html"><script type="application/ld+json">{json.dumps(node)}</script>'
    )
    found = page(f"<article><h1>Four new ferries</h1>{TEXT}</article>", head)
    assert [(one["type"], one.get("width"), one.get("caption")) for one in found] == [
        ("image", 1024, "At the pier"),
        ("video", 1920, "Launch"),
    ]


def test_the_files_of_a_feed_are_in_its_links() -> None:
    feed = """<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><link>https://a.example/1</link>
    <title>One</title><enclosure url="https://a.example/1.mp3" type="audio/mpeg" length="5400000"/>
    <media:group><media:content url="https://a.example/1.jpg" medium="image" width="800" height="450"/>
    </media:group></item></channel></rss>"""
    (link,) = parse_feed(feed.encode(), "https://a.example/feed").links
    assert [dict(one) for one in link.media] == [
        {"type": "audio", "url": "https://a.example/1.mp3", "mime": "audio/mpeg", "bytes": 5400000},
        {"type": "image", "url": "https://a.example/1.jpg", "width": 800, "height": 450},
    ]
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>One</title><link href="https://a.example/1"/>
    <link rel="enclosure" href="https://a.example/1.ogg" type="audio/ogg" length="9"/></entry></feed>"""
    (link,) = parse_feed(atom.encode(), "https://a.example/feed").links
    assert [(one["url"], one["bytes"]) for one in link.media] == [("https://a.example/1.ogg", 9)]
    item = {
        "id": "https://a.example/1",
        "title": "One",
        "attachments": [{"url": "https://a.example/1.m4a", "mime_type": "audio/mp4", "size_in_bytes": 7}, 3],
    }
    body = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [item]}).encode()
    (link,) = parse_feed(body, "https://a.example/feed.json").links
    assert [(one["type"], one["bytes"]) for one in link.media] == [("audio", 7)]


def test_the_files_of_the_feed_are_those_of_the_article() -> None:
    sound = medium("https://a.example/1.mp3", mime="audio/mpeg")
    assert sound is not None
    html = f"<html><title>F</title><article><h1>Four new ferries</h1>{TEXT}</article></html>"
    hint = Link(url=URL, where=Where.FEED, media=(sound,))
    assert read_page(html.encode(), URL, hint=hint, vouched=True).media == [sound]


def test_cuts_of_one_picture_are_one_file() -> None:
    cuts = [f"https://a.example/{cut}/the-ferry-leaves-the-old-pier.jpg" for cut in ("1x1", "16x9", "big")]
    assert [one["url"] for one in listed(map(medium, cuts))] == cuts[:1]
    others = [f"https://a.example/{number}/photo.jpg" for number in range(3)]
    assert len(listed(map(medium, others))) == 3


def test_pictures_of_other_days_with_the_same_name_are_two_files() -> None:
    name = "the-picture-of-the-day.jpg"
    days = [f"https://a.example/2026/11/{day}/{name}" for day in (19, 20)]
    numbers = [f"https://a.example/media/{number}/{name}" for number in (184_467, 184_468)]
    assert [one["url"] for one in listed(map(medium, days + numbers))] == days + numbers
    cuts = [f"https://a.example/{width}/2026/11/20/{name}" for width in (640, 1920, "w_2048", "c_fill,1x1")]
    assert len(listed(map(medium, cuts))) == 1


def test_the_pages_of_an_article_join_their_media() -> None:
    pages = [
        read_page(
            f"<html><head><title>Four new ferries</title></head><body><article><h1>Four new ferries</h1>"
            f'<img src="/img/ferry-number-{number}-at-the-pier.jpg" width="900" height="600">'
            f'<img src="/img/the-map-of-all-routes-2026.jpg" width="900" height="600">{TEXT}</article></body>'
            "</html>".encode(),
            f"{URL}?page={number}",
            vouched=True,
        )
        for number in (1, 2)
    ]
    assert [one["url"].rpartition("/")[2] for one in join_pages(pages).media] == [
        "ferry-number-1-at-the-pier.jpg",
        "the-map-of-all-routes-2026.jpg",
        "ferry-number-2-at-the-pier.jpg",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:x",
        "https://a.example/logo.svg",
        "/relative.jpg",
        "https://a.example/page.html",
        "",
        "x" * 5000,
    ],
)
def test_other_addresses_are_no_files(url: str) -> None:
    assert medium(url) is None


def test_sizes_and_numbers_are_bounded() -> None:
    one = medium("https://a.example/1.jpg", width="9" * 40, height="-3", size="1e9", caption="x" * 9000)
    assert one == {"type": "image", "url": "https://a.example/1.jpg", "caption": "x" * MAX_CAPTION}
    assert len(listed(medium(f"https://a.example/{n}/f.jpg") for n in range(500))) == MAX_MEDIA


# --- the archive
def test_files_of_new_articles_are_archived_within_the_limits(site, world, tmp_path) -> None:
    picture = b"\xff\xd8\xff" + b"0" * 900
    files = "".join(f'<img src="/{name}" alt="x">' for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg"))
    files += '<audio src="/e.mp3"></audio>'
    story = article_html(1).replace("</article>", f"{files}</article>")
    assert files in story
    site.page("http://news.test/story", story, headers=HTML)
    site.page("http://news.test/robots.txt", "User-agent: *\nDisallow: /d.jpg\n")
    feed = "<rss><channel><item><link>http://news.test/story</link></item></channel></rss>"
    site.page("http://news.test/feed.xml", feed, headers=XML)
    image = {"Content-Type": "image/jpeg"}
    site.page("http://news.test/a.jpg", picture, headers=image)
    site.page("http://news.test/b.jpg", picture * 3000, headers=image)
    site.page("http://news.test/c.jpg", "<p>no picture</p>", headers=HTML)
    site.page("http://news.test/d.jpg", picture, headers=image)
    site.page("http://news.test/e.mp3", b"ID3" * 300, headers={"Content-Type": "application/octet-stream"})
    world.rule("news.test", "domain: news.test\nfeeds: http://news.test/feed.xml\n")
    folder = tmp_path / "warc"
    crawl = world.crawl("-s", f"NEWSBOT_WARC_DIR={folder}", "-s", "NEWSBOT_WARC_MEDIA=1")
    assert crawl.code == 0, crawl.err
    (article,) = world.articles()
    assert len(article.media) == 5
    assert crawl.stat("archive/media/kept") == 2
    assert (crawl.stat("archive/media/too_large"), crawl.stat("archive/media/robots")) == (1, 1)
    archived = b"".join(gzip.decompress(path.read_bytes()) for path in folder.glob("*.warc.gz"))
    assert b"http://news.test/a.jpg" in archived
    assert b"http://news.test/b.jpg" not in archived
    assert b"no picture" not in archived
