"""Rights reservations of sites: directives of pages, TDMRep, and AI rules in robots.txt."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import Response

from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import META_KEY
from newsbot.errors import DataUnavailable
from newsbot.items import Kind
from newsbot.middlewares.tdmrep import TdmRepMiddleware
from newsbot.pages.rights import opted_out, page_rights, read_robots, read_rsl, read_tdmrep

URL = "https://news.test/story/1?page=2"


def page(*metas: str):
    return html.document_fromstring(f"<html><head>{''.join(metas)}</head><body><p>x</p></body></html>")


def meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{content}">'


@pytest.mark.parametrize(
    ("value", "index", "follow"),
    [
        ("noindex", False, True),
        ("nofollow", True, False),
        ("NOINDEX , nofollow", False, False),
        ("none", False, False),
        ("index, follow", True, True),
        ("googlebot: noindex, nofollow", True, True),
        ("newsbot: noindex", False, True),
        ("otherbot: nofollow, newsbot: noindex", False, True),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", False, True),
        ("max-snippet:20, nofollow", True, False),
        ("", True, True),
    ],
)
def test_the_header_applies_to_all_crawlers_or_to_one(value, index, follow):
    rights = page_rights({"x-robots-tag": [value]})
    assert (rights.index, rights.follow) == (index, follow)


def test_the_header_and_elements_are_combined_and_any_prohibition_applies():
    tree = page(
        meta("Robots", "index, noarchive"), meta("newsbot", "nofollow, noai"), meta("bingbot", "noindex")
    )
    rights = page_rights({"x-robots-tag": ["noimageai", "otherbot: noindex"]}, tree)
    assert (rights.index, rights.follow, rights.archive) == (True, False, False)
    assert rights.signals == {"noai": "meta", "noimageai": "header", "noarchive": "meta"}


def test_the_most_specific_statement_on_mining_applies():
    site = {"tdm-reservation": "/.well-known/tdmrep.json", "tdm-policy": "https://news.test/policy"}
    assert page_rights({}, page(), site).signals == site
    freed = page_rights({}, page(meta("tdm-reservation", "0")), site)
    assert freed.signals == {}
    header = {"tdm-reservation": ["0"]}
    rights = page_rights(
        header, page(meta("tdm-reservation", "1"), meta("tdm-policy", "https://a.test/p")), site
    )
    assert rights.signals == {"tdm-reservation": "meta", "tdm-policy": "https://a.test/p"}
    assert page_rights({"tdm-reservation": ["1"]}).signals == {"tdm-reservation": "header"}
    assert page_rights({"content-usage": ["train-ai=n"]}).signals == {"ai-train": "header"}


def tdmrep(*rules: tuple[str, int]):
    return read_tdmrep(
        json.dumps([{"location": where, "tdm-reservation": no} for where, no in rules]).encode()
    )


@pytest.mark.parametrize(
    ("rules", "reserved"),
    [
        ([("/", 1)], True),
        ([("*", 1)], True),
        ([("story/", 1)], True),
        ([("/", 1), ("/story/", 0)], False),
        ([("/story/", 0), ("/", 1)], False),
        ([("/story/", 0), ("/story/", 1)], True),
        ([("/*page=2$", 1)], True),
        ([("/*page=$", 1)], False),
        ([("/story/1", 1)], True),
        ([("/story/1$", 1)], False),
        ([("/other", 1)], False),
    ],
)
def test_the_longest_location_decides(rules, reserved):
    assert ("tdm-reservation" in tdmrep(*rules).signals(URL)) == reserved


def test_the_policy_is_a_signal():
    parsed = read_tdmrep(
        b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://news.test/p.json"}]'
    )
    assert parsed.signals(URL)["tdm-policy"] == "https://news.test/p.json"


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["location", "tdm-reservation"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_file_is_read_without_a_fault(body):
    signals = read_tdmrep(body).signals(URL)
    assert set(signals) <= {"tdm-reservation", "tdm-policy"}
    assert set(read_robots(body.decode("utf8", "replace")).signals(URL, lambda *_: True)) <= {"ai-comment"}


CLOSED = "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n"


def test_prohibitions_for_ai_crawlers_are_a_signal():
    assert read_robots(CLOSED).everywhere == {"ai-agents": "robots.txt (GPTBot and 1 more)"}
    assert read_robots(CLOSED.replace("GPTBot", "Otherbot").replace("CCBot", "Thirdbot")).everywhere == {}
    assert read_robots("User-agent: GPTBot\nDisallow:\n").everywhere == {}


def test_prohibitions_for_a_part_of_a_site_are_a_signal_there():
    parsed = read_robots("User-agent: ClaudeBot\nDisallow: /story/\n")
    assert parsed.everywhere == {}
    forbids_stories = lambda url, agent: agent != "ClaudeBot" or "/story/" not in url  # noqa: E731
    assert parsed.signals(URL, forbids_stories) == {"ai-agents": "robots.txt (ClaudeBot)"}
    assert parsed.signals("https://news.test/other", forbids_stories) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\n", {"ai-train"}),
        ("Content-Signal: ai-train=no,ai-input=no\nUser-agent: *\nAllow: /\n", {"ai-train", "ai-input"}),
        ("User-agent: Otherbot\nContent-Signal: ai-train=no\n", set()),
        ("User-agent: *\nContent-Usage: /story/ train-ai=n\n", {"ai-train"}),
        (
            "# Rights reserved under Article 4 of 2019/790\nUser-agent: *\nContent-Signal: ai-train=yes\n",
            set(),
        ),
        ("# No text and data mining without a licence\nUser-agent: *\nAllow: /\n", {"ai-comment"}),
        ("# You may not use our content to train or develop any AI model\n", {"ai-comment"}),
        ("# Обучение искусственного интеллекта на материалах сайта запрещено\n", {"ai-comment"}),
        ("# trains and railways: see /sitemap.xml\nUser-agent: *\nDisallow:\n", set()),
        ("# said by Kai about training\nUser-agent: *\n", set()),
    ],
)
def test_usage_lines_and_comments(text, expected):
    assert set(read_robots(text).everywhere) == expected


def test_signals_of_an_opt_out():
    assert opted_out({"noai": "meta"})
    assert opted_out({"ai-comment": "robots.txt"})
    assert not opted_out({"noarchive": "meta", "noindex": "header", "tdm-policy": "https://a.test/"})
    assert not opted_out({})


# --- a tdmrep.json that cannot be read
class Rights:
    """Serves tdmrep.json with a result, and returns the rights of a page."""

    def __init__(self, desk, result):
        self.desk, self.result, self.asked = desk, result, 0
        desk.crawler.engine = SimpleNamespace(download_async=self.download)
        self.middleware = TdmRepMiddleware.from_crawler(desk.crawler)

    async def download(self, request):
        self.asked += 1
        if isinstance(self.result, Exception):
            raise self.result
        status, body = self.result
        return Response(request.url, status=status, body=body)

    def of_page(self):
        request = Request(URL, meta={META_KEY: SimpleNamespace(kind=Kind.ARTICLE)})
        asyncio.run(self.middleware.process_request(request))
        return self.desk.crawl.sites.rights.signals(URL)


RESERVED = b'[{"location": "/", "tdm-reservation": 1}]'
UNKNOWN = {"tdm-unknown": "/.well-known/tdmrep.json"}


@pytest.mark.parametrize(
    "failure",
    [(500, b""), (429, b""), DownloadTimeoutError("slow"), Ignored("bad_encoding"), Ignored("robots")],
)
def test_the_right_is_unknown_for_an_hour_if_tdmrep_json_cannot_be_read(desk, failure):
    site = Rights(desk, failure)
    assert site.of_page() == UNKNOWN
    site.result = (200, RESERVED)
    desk.clock.now += 3500
    assert site.of_page() == UNKNOWN
    other = Rights(desk, (200, RESERVED))
    assert other.of_page() == UNKNOWN, "the workers share the result"
    assert (site.asked, other.asked) == (1, 0)
    desk.clock.now += 101
    assert "tdm-reservation" in site.of_page()


@pytest.mark.parametrize("answer", [(404, b""), (403, b""), (200, b"<h1>Home</h1>"), Ignored("redirects")])
def test_a_site_without_tdmrep_json_reserves_nothing(desk, answer):
    site = Rights(desk, answer)
    assert site.of_page() == {}
    desk.clock.now += 80_000
    site.of_page()
    assert site.asked == 1


def test_an_outage_of_our_data_does_not_make_the_right_unknown(desk):
    site = Rights(desk, DataUnavailable("locked"))
    with pytest.raises(DataUnavailable):
        site.of_page()
    site.result = (200, RESERVED)
    assert "tdm-reservation" in site.of_page()


@pytest.mark.parametrize("stated", ["0", "1"])
def test_a_statement_of_the_page_replaces_an_unknown_right(stated):
    assert "tdm-unknown" not in page_rights({"tdm-reservation": [stated]}, None, UNKNOWN).signals


@pytest.mark.parametrize(
    "text",
    [
        "License: https://news.test/rsl.xml\nUser-agent: *\nDisallow:\n",
        "User-agent: *\nDisallow: /private/\n\nlicense : https://news.test/rsl.xml # terms\n",
        "User-agent: GPTBot\nDisallow: /\nLicense: https://news.test/rsl.xml\nLicense: https://news.test/b.xml\n",
    ],
)
def test_a_licence_in_robots_txt_is_a_reservation_for_all_pages(text: str) -> None:
    """RSL (https://rslstandard.org): the terms of the use by AI are in the licence."""
    signals = read_robots(text).signals("https://news.test/1", lambda *_: True)
    assert signals["license"] == "https://news.test/rsl.xml"
    assert opted_out(signals)


@pytest.mark.parametrize("text", ["License: none", "License:", "# License: https://news.test/rsl.xml"])
def test_other_lines_about_licences_are_ignored(text: str) -> None:
    assert "license" not in read_robots(text).everywhere


@pytest.mark.parametrize(
    ("link", "licence"),
    [
        (
            '<https://news.test/rsl.xml>; rel="license"; type="application/rsl+xml"',
            "https://news.test/rsl.xml",
        ),
        (
            "<https://a.test/>; rel=next, <https://b.test/>; type=application/rsl+xml; rel=license",
            "https://b.test/",
        ),
        ('<https://creativecommons.org/by/4.0/>; rel="license"', None),
    ],
)
def test_a_licence_in_a_header_is_for_the_page(link: str, licence: str | None) -> None:
    assert page_rights({"link": [link]}).signals.get("license") == licence


@pytest.mark.parametrize(
    ("head", "licence"),
    [
        ('<link rel="license" type="application/rsl+xml" href="/terms.xml">', "https://news.test/terms.xml"),
        ("<link type='Application/RSL+XML' rel='alternate License' href='//l.test/a'>", "https://l.test/a"),
        ('<link rel="license" href="https://creativecommons.org/by/4.0/">', None),
        ('<link rel="license" type="application/rsl+xml" href=" ">', None),
    ],
)
def test_a_licence_in_a_link_element_is_for_the_page(head: str, licence: str | None) -> None:
    rights = page_rights({}, page(head), url="https://news.test/a/1")
    assert rights.signals.get("license") == licence


def rsl(*licences: str, url: str = "/") -> bytes:
    """Return a licence (RSL) with these alternatives."""
    listed = "".join(f"<license>{one}</license>" for one in licences)
    return (
        f'<?xml version="1.0"?><rsl xmlns="https://rslstandard.org/rsl"><content url="{url}">{listed}'
        "</content></rsl>"
    ).encode()


PAID = '<payment type="crawl"><amount currency="EUR">0.02</amount></payment>'
SEARCH = '<permits type="usage">search ai-index</permits>'
NO_TRAINING = '<prohibits type="usage">ai-train</prohibits>'


@pytest.mark.parametrize(
    ("file", "signals"),
    [
        (rsl(PAID), {"license-terms": "crawl 0.02 EUR"}),
        (
            rsl(SEARCH + '<payment type="free"/>'),
            {
                "license-terms": "free; permits ai-index, search",
                "ai-train": "license",
                "ai-input": "license",
            },
        ),
        (
            rsl(NO_TRAINING + PAID),
            {"license-terms": "crawl 0.02 EUR; prohibits ai-train", "ai-train": "license"},
        ),
        (rsl('<permits type="usage">all</permits><payment type="free"/>'), {"license-terms": "free"}),
        (rsl(PAID, '<payment type="free"/>'), {"license-terms": "free"}),
        (rsl('<permits type="geo">DE</permits>' + PAID), {"license-terms": "crawl 0.02 EUR"}),
        (rsl(), {"license-terms": "none"}),
        (rsl(PAID, url="/shop/*"), {}),
        (rsl(PAID, url="https://other.test/"), {}),
        (rsl(PAID, url="https://news.test/a/*.html$"), {"license-terms": "crawl 0.02 EUR"}),
        (b"<html>404</html>", {}),
        (b"", {}),
        (b"\x00\xff not XML", {}),
        (
            b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><rsl><content url="/">&a;',
            {"license-terms": "none"},
        ),
    ],
)
def test_the_terms_of_a_licence_are_read(file: bytes, signals: dict[str, str]) -> None:
    assert read_rsl(file).signals("https://news.test/a/1.html") == signals


def test_the_longest_location_of_a_licence_decides() -> None:
    free = rsl('<payment type="free"/>', url="/press/").partition(b"<content")
    both = rsl(PAID).replace(b"</rsl>", b"<content" + free[2])
    assert read_rsl(both).signals("https://news.test/press/1") == {"license-terms": "free"}
    assert read_rsl(both).signals("https://news.test/a") == {"license-terms": "crawl 0.02 EUR"}


def test_a_free_licence_is_no_reservation() -> None:
    assert not opted_out({"license": "https://news.test/rsl.xml", "license-terms": "free"})
    assert opted_out({"license": "https://news.test/rsl.xml", "license-terms": "crawl 0.02 EUR"})
    assert opted_out({"license": "https://news.test/rsl.xml"})
    assert opted_out({"license": "https://news.test/rsl.xml", "license-terms": "free", "noai": "meta"})
    assert opted_out({"payment-required": "402"})


def test_a_licence_of_the_page_replaces_the_terms_of_the_site() -> None:
    url = "https://news.test/1"
    site = {"license": "https://news.test/rsl.xml", "license-terms": "free", "ai-train": "license"}
    named = page_rights({"link": ['</own.xml>; rel=license; type="application/rsl+xml"']}, site=site, url=url)
    assert named.signals == {"license": "https://news.test/own.xml"}
    same = page_rights({"link": ['</rsl.xml>; rel=license; type="application/rsl+xml"']}, site=site, url=url)
    assert same.signals == site
    inside = page(f'<script type="application/rsl+xml">{rsl(PAID).decode()}</script>')
    assert page_rights({}, inside, site, url).signals == {"license": url, "license-terms": "crawl 0.02 EUR"}


def test_a_licence_in_robots_txt_may_be_a_path() -> None:
    assert read_robots("License: /rsl.xml").everywhere["license"] == "/rsl.xml"
