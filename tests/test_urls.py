"""URLs: single cases; properties of all URLs are tested in test_urls_properties.py."""

from __future__ import annotations

import pytest

from newsbot.urls import (
    MAX_URL,
    absolute,
    canonicalize,
    fingerprint,
    host_key,
    is_asset,
    meant,
    resolve,
    site_of,
)

CASES = {
    # scheme, host, port
    "HTTP://Example.COM": "http://example.com/",
    "https://example.com:443/a": "https://example.com/a",
    "http://example.com:80/a": "http://example.com/a",
    "https://example.com:80/a": "https://example.com:80/a",
    "http://example.com:8080/a": "http://example.com:8080/a",
    "http://example.com:/a": "http://example.com/a",
    "http://example.com./a": "http://example.com/a",
    "http://user:pa%40ss@example.com/a": "http://example.com/a",
    "http://президент.рф/новости": "http://xn--d1abbgf6aiiy.xn--p1ai/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8",
    "http://ПРЕЗИДЕНТ.РФ/": "http://xn--d1abbgf6aiiy.xn--p1ai/",
    "https://straße.de/": "https://xn--strae-oqa.de/",
    "http://[2001:DB8:0:0::1]:80/a": "http://[2001:db8::1]/a",
    "http://[::1]:8000/": "http://[::1]:8000/",
    "http://0x7f.1/a": "http://127.0.0.1/a",
    "  http://example.com/a\n": "http://example.com/a",
    "http://example.com/a\n/b": "http://example.com/a/b",
    "http://exa\tmple.com/a": "http://example.com/a",
    "http:\\\\example.com\\a": "http://example.com/a",
    # dots and slashes
    "http://example.com/a/./b/../c": "http://example.com/a/c",
    "http://example.com/../../a": "http://example.com/a",
    "http://example.com/a/%2E%2e/b": "http://example.com/b",
    "http://example.com/a/b/..": "http://example.com/a/",
    "http://example.com//a///b//": "http://example.com/a/b/",
    "http://example.com/...": "http://example.com/...",
    "http://example.com/a": "http://example.com/a",
    "http://example.com/a/": "http://example.com/a/",
    # fragments
    "http://example.com/a#top": "http://example.com/a",
    "http://example.com/a#!/news/5": "http://example.com/a",
    "http://example.com/#?id=5": "http://example.com/",
    # escapes
    "http://example.com/%7euser/%61%2db": "http://example.com/~user/a-b",
    "http://example.com/a%2fb%3fc": "http://example.com/a%2Fb%3Fc",
    "http://example.com/%d0%bd": "http://example.com/%D0%BD",
    "http://example.com/н": "http://example.com/%D0%BD",
    "http://example.com/?q=н": "http://example.com/?q=%D0%BD",
    "http://example.com/%ef%f0%e8": "http://example.com/%EF%F0%E8",
    "http://example.com/?q=%EF%F0%E8%e2%e5%f2": "http://example.com/?q=%EF%F0%E8%E2%E5%F2",
    "http://example.com/100%": "http://example.com/100%25",
    "http://example.com/100%25": "http://example.com/100%25",
    "http://example.com/%%36%39": "http://example.com/%2569",
    "http://example.com/%zz?a=%4": "http://example.com/%25zz?a=%254",
    "http://example.com/a b?c d": "http://example.com/a%20b?c%20d",
    "http://example.com/?q=a+b": "http://example.com/?q=a+b",
    "http://example.com/a|b'c": "http://example.com/a|b'c",
    # default documents
    "http://example.com/index.html": "http://example.com/",
    "http://example.com/news/Index.HTM": "http://example.com/news/",
    "http://example.com/index.php?id=5": "http://example.com/?id=5",
    "http://example.com/a/Default.aspx?x": "http://example.com/a/?x",
    "http://example.com/index.html/a": "http://example.com/index.html/a",
    "http://example.com/index.php/news/5": "http://example.com/index.php/news/5",
    "http://example.com/my-index.html": "http://example.com/my-index.html",
    # queries
    "http://example.com/a?": "http://example.com/a",
    "http://example.com/a?#x": "http://example.com/a",
    "http://example.com/a?b": "http://example.com/a?b",
    "http://example.com/a?b=&c": "http://example.com/a?b=&c",
    "http://example.com/a?z=1&a=2&z=0": "http://example.com/a?z=1&a=2&z=0",
    "http://example.com/a?&&b=1&&": "http://example.com/a?b=1",
    "http://example.com/a?=&b": "http://example.com/a?=&b",
    "http://example.com/a?b=http://c/?d=e": "http://example.com/a?b=http://c/?d=e",
    "http://example.com/a?b=//c/../d": "http://example.com/a?b=//c/../d",
    # tracking and sessions
    "http://example.com/a?utm_source=x&id=5&utm_medium=y": "http://example.com/a?id=5",
    "http://example.com/a?UTM_Source=x": "http://example.com/a",
    "http://example.com/a?utm%5Fsource=x": "http://example.com/a",
    "http://example.com/a?id=5&amp;utm_source=x": "http://example.com/a?id=5",
    "http://example.com/a?fbclid=1&gclid=2&yclid=3&ysclid=4&_openstat=5": "http://example.com/a",
    "http://example.com/a?at_medium=1&at_campaign=2&xtor=3": "http://example.com/a",
    "http://example.com/a?at_night=1&at_=2": "http://example.com/a?at_night=1&at_=2",
    "http://example.com/a?pk_campaign=1&pk_id=7&PK_KWD=x": "http://example.com/a?pk_id=7",
    "http://example.com/a?spm=a2c4e.11153940.0.0&id=1": "http://example.com/a?id=1",
    "http://example.com/a?spm=7": "http://example.com/a?spm=7",
    "http://example.com/a?id=1&id=2&id=1": "http://example.com/a?id=1&id=2&id=1",
    "http://example.com/a?gad_source=1&CMP=share_btn&ito=x&ftag=y&cx_testId=5": "http://example.com/a",
    "http://example.com/a?unlocked_article_code=1.a&amp_js_v=0.1&mc_cid=z": "http://example.com/a",
    "http://example.com/a?mc_cid=1&mc_eid=2&igshid=3&fbclid": "http://example.com/a",
    "http://example.com/a?PHPSESSID=1&b=2": "http://example.com/a?b=2",
    "http://example.com/a?bsessionid=1": "http://example.com/a",
    "http://example.com/a?sid=12": "http://example.com/a?sid=12",
    "http://example.com/a?sid=0123456789abcdef0123456789abcdef": "http://example.com/a",
    "http://example.com/a?format=x&date=1&at=2": "http://example.com/a?format=x&date=1&at=2",
    "http://example.com/a?utmost=1": "http://example.com/a?utmost=1",
    "http://example.com/a;jsessionid=1A2B?b": "http://example.com/a?b",
    "http://example.com/a;JSESSIONID=1A2B.node/c": "http://example.com/a/c",
    "http://example.com/a;jsession%69d=1": "http://example.com/a",
    "http://example.com/x/..;jsessionid=1/b": "http://example.com/b",
    "http://example.com/index.jsp;jsessionid=1": "http://example.com/",
    "http://example.com/a;v=1": "http://example.com/a;v=1",
    "http://example.com/a;v=1;jsessionid=2;w=3": "http://example.com/a;v=1;w=3",
    "http://example.com/a;jsessionidea": "http://example.com/a;jsessionidea",
}


@pytest.mark.parametrize(("url", "canonical"), CASES.items())
def test_canonical_form(url: str, canonical: str) -> None:
    assert canonicalize(url) == canonical


@pytest.mark.parametrize(
    ("url", "keys", "canonical"),
    [
        ("http://e.com/?from=a&id=1", ("from",), "http://e.com/?id=1"),
        ("http://e.com/?From=a&id=1", ("FROM",), "http://e.com/?id=1"),
        ("http://e.com/?from=a&fromage=1", ("from",), "http://e.com/?fromage=1"),
        ("http://e.com/?lmd_a=a&lmd_b&id=1", ("lmd_*",), "http://e.com/?id=1"),
        ("http://e.com/?a&b=1", ("*",), "http://e.com/"),
    ],
)
def test_a_rule_drops_more_keys(url: str, keys: tuple[str, ...], canonical: str) -> None:
    assert canonicalize(url, keys) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "example.com/a",
        "//example.com/a",
        "/a",
        "#",
        "mailto:a@example.com",
        "javascript:void(0)",
        "ftp://example.com/",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://",
        "http://:80/",
        "http://./",
        "http://a..b/",
        "http://.a/",
        "http://a../",
        "http://ex ample.com/",
        "http://example.com:99999/",
        "http://[::1/",
        "http://1.2.3.400/",
        "http://exa%00mple.com/",
        f"http://{'a.' * 130}com/",
        "http://example.com/\ud800",
        "http://\ud800/",
        "http://example.com/" + "a" * MAX_URL,
        "http://example.com/" + "я" * (MAX_URL // 4),
    ],
)
def test_invalid_urls_are_refused_with_a_readable_message(url: str) -> None:
    with pytest.raises(
        ValueError, match=r"not an absolute http\(s\) URL|no usable host name|too long"
    ) as caught:
        canonicalize(url)
    assert len(str(caught.value)) < 700
    str(caught.value).encode("ascii")


def test_a_url_of_maximum_length_is_accepted() -> None:
    url = "http://example.com/" + "a" * (MAX_URL - 19)
    assert canonicalize(url) == url
    with pytest.raises(ValueError, match="too long"):
        canonicalize(url + "a")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://example.com/a", "https://example.com/a", True),
        ("http://example.com/a", "https://www.example.com/a", True),
        ("http://example.com:8080/a", "http://www.example.com:8080/a", True),
        ("http://example.com/a", "http://example.com/a/", False),
        ("http://example.com/a", "http://m.example.com/a", False),
        ("http://example.com/a", "http://example.com:8080/a", False),
        ("http://www.ru/", "http://ru/", False),
        ("http://example.com/a?b", "http://example.com/a?b=", False),
        ("http://example.com/A", "http://example.com/a", False),
    ],
)
def test_variants_of_a_url_have_the_same_fingerprint(one: str, other: str, same: bool) -> None:
    assert (fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))) is same


def test_fingerprints_never_change() -> None:
    """Fingerprints are keys of stored data."""
    assert fingerprint("https://www.example.com/a?b=1").hex() == "8082b8058ebcc705ee3b118ccf760855"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://WWW.Example.com/a", "www.example.com"),
        ("https://u:p@example.com:443/a", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com.:8080/", "example.com:8080"),
        ("http://кремль.рф/", "xn--e1ajeds9e.xn--p1ai"),
        ("http://[::1]:80/", "[::1]"),
        ("http://[::1]:81/", "[::1]:81"),
    ],
)
def test_host_key(url: str, key: str) -> None:
    assert host_key(url) == key


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("www.news.example/a", "https://www.news.example/a"),
        ("https:/news.example/a", "https://news.example/a"),
        ("häfen.example/a", "https://news.example/n/h%C3%A4fen.example/a"),
        ("v1.2/a", "https://news.example/n/v1.2/a"),
    ],
)
def test_an_address_of_the_site_without_a_whole_scheme(href: str, url: str) -> None:
    assert absolute("https://news.example/n/x", href) == url


def test_an_address_without_a_scheme_whose_host_has_other_letters() -> None:
    base = "https://xn--hfen-loa.example/n/x"
    assert absolute(base, "häfen.example/a") == "https://häfen.example/a"


@pytest.mark.parametrize(
    ("base", "href", "url"),
    [
        ("http://e.com/a/b", "c?d#e", "http://e.com/a/c?d#e"),
        ("http://e.com/a/b", "../c", "http://e.com/c"),
        ("http://e.com/a/b", "/c", "http://e.com/c"),
        ("http://e.com/a/b", "//f.com/c", "http://f.com/c"),
        ("https://e.com/a/b", "?x=1", "https://e.com/a/b?x=1"),
        ("https://e.com/a/b", "", "https://e.com/a/b"),
        ("https://e.com/a/b", "https:c", "https://e.com/a/c"),
        ("https://e.com/a/b", " \n/c\t ", "https://e.com/c"),
        ("https://e.com/a/b", "\\c", "https://e.com/c"),
        ("https://e.com/a/b", "новость", "https://e.com/a/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D1%8C"),
        ("https://e.com/a?x=1&y=2", "?a=1&b=2", "https://e.com/a?a=1&b=2"),
        ("https://e.com/", "mailto:a@e.com", None),
        ("https://e.com/", "javascript:void(0)", None),
        ("https://e.com/", "tel:1", None),
        ("https://e.com/", "http://", None),
        ("https://e.com/", "http://a b/", None),
        ("https://e.com/", "\ud800", None),
        ("https://e.com/", "data:image/png;base64," + "A" * MAX_URL, None),
        ("nonsense", "a", None),
        ("nonsense", "http://e.com/", None),
    ],
)
def test_resolve(base: str, href: str, url: str | None) -> None:
    assert resolve(base, href) == url


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("news.bbc.co.uk:8080", "bbc.co.uk"),
        ("bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("lenta.ru", "lenta.ru"),
        ("m.lenta.ru.", "lenta.ru"),
        ("www.fontanka.spb.ru", "fontanka.spb.ru"),
        ("somebody.blogspot.com", "somebody.blogspot.com"),
        ("news.xn--d1abbgf6aiiy.xn--p1ai", "xn--d1abbgf6aiiy.xn--p1ai"),
        ("WWW.Example.COM", "example.com"),
        ("a.b.unheard-of", "b.unheard-of"),
        ("localhost", "localhost"),
        ("localhost:8000", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[2001:db8::1]:8080", "[2001:db8::1]"),
        ("", ""),
    ],
)
def test_site_of(host: str, site: str) -> None:
    assert site_of(host) == site


@pytest.mark.parametrize(
    ("url", "asset"),
    [
        ("https://e.com/a.jpg", True),
        ("https://e.com/a.JPG?w=100#x", True),
        ("https://e.com/report.pdf", True),
        ("https://e.com/a/style.min.css", True),
        ("https://e.com/a.mp3", True),
        ("https://e.com/a.html", False),
        ("https://e.com/a", False),
        ("https://e.com/jpg", False),
        ("https://e.com/a.jpg/", False),
        ("https://e.com/get.php?file=a.jpg", False),
        ("https://e.com/a#b.jpg", False),
        ("https://news.zip", False),
        ("https://news.zip/", False),
        ("https://e.com/feed.xml", False),
        ("https://e.com/feed.json", False),
        ("https://e.com/sitemap.xml.gz", False),
        ("/a.png", True),
        ("", False),
    ],
)
def test_is_asset(url: str, asset: bool) -> None:
    assert is_asset(url) is asset


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("https//example.org/rss", "https://example.org/rss"),
        ("https:/example.org", "https://example.org"),
        ("htps://example.org/", "https://example.org/"),
        ("http:///example.org/", "http://example.org/"),
        ("localhost:1313", "http://localhost:1313"),
        ("192.168.1.5:8000/x", "http://192.168.1.5:8000/x"),
        ("example.org/a", "https://example.org/a"),
    ],
)
def test_a_mistyped_url_is_corrected(typed: str, url: str) -> None:
    assert meant(typed) == f" (did you mean {url!r}?)"


@pytest.mark.parametrize(
    "typed", ["", "word", "https://", "file:///etc/passwd", "ftp://a.org/", "...", "a b.org"]
)
def test_no_url_is_guessed_from_other_texts(typed: str) -> None:
    assert meant(typed) == "; write for example https://example.org/news/1"
