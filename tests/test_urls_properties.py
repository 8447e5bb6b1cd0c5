"""Properties of all URLs; single cases are tested in test_urls.py."""

from __future__ import annotations

import string

import ada_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

from newsbot.urls import (
    MAX_URL,
    canonicalize,
    fingerprint,
    host_key,
    is_asset,
    resolve,
    site_of,
)

_labels = st.text(string.ascii_letters + string.digits + "-яфß_", min_size=1, max_size=8)
_hosts = st.one_of(
    st.lists(_labels, min_size=1, max_size=4).map(".".join),
    st.sampled_from(["[::1]", "127.0.0.1", "0x7f.1", "1.2", "xn--p1ai", "e.com.", "президент.рф"]),
)
_pieces = st.one_of(
    st.sampled_from(
        [
            *(
                "/",
                "//",
                ".",
                "..",
                "%2e",
                "%2E%2e",
                "%",
                "%25",
                "%%36%39",
                "%ef",
                "%C0%AF",
                ";",
                ";jsessionid=",
                "?",
            ),
            *(
                ";jsession%69d",
                "&",
                "=",
                "amp;",
                "utm_",
                "utm%5f",
                "sid",
                "index.html",
                "Default.asp",
                "#",
                "#!",
                "@",
            ),
            *(
                "\\",
                ":",
                "|",
                " ",
                "\t",
                "я",
                "'",
                '"',
                "<",
                "\x00",
                "\u00ad",
                "\u3002",
                "+",
                "*",
                "~",
                "^",
                "`",
                "{",
            ),
        ]
    ),
    st.text(max_size=4),
)
_tails = st.lists(_pieces, max_size=14).map("".join)
urls = st.builds(
    "{}://{}{}{}/{}".format,
    st.sampled_from(["http", "https", "HTTP", "HttpS"]),
    st.sampled_from(["", "user@", "u:p@", "a%40b:@"]),
    _hosts,
    st.sampled_from(["", ":80", ":443", ":8080", ":"]),
    _tails,
)


def _canonical(url: str) -> str | None:
    try:
        return canonicalize(url)
    except ValueError:
        return None


@settings(max_examples=1000)
@given(st.one_of(urls, urls, urls, st.text()))
@example("http://h/..;jsessionid=/;jsessionid")
@example("http://h/index.php;jsessionid=/index.php")
def test_the_canonical_form_is_a_fixed_point_and_valid(url: str) -> None:
    canonical = _canonical(url)
    if canonical is None:
        return
    assert canonicalize(canonical) == canonical
    assert ada_url.normalize_url(canonical) == canonical
    assert canonical.isascii()
    assert len(canonical) <= MAX_URL
    assert host_key(canonical) == host_key(url)
    assert len(fingerprint(canonical)) == 16


@given(urls, st.lists(st.sampled_from(["a", "B", "utm_*", "*", "я", ""])).map(tuple))
def test_dropping_keys_is_idempotent(url: str, keys: tuple[str, ...]) -> None:
    if _canonical(url) is not None:
        once = canonicalize(url, keys)
        assert canonicalize(once, keys) == once


@given(st.lists(st.integers(0, 255), min_size=1, max_size=12))
def test_escaped_bytes_of_any_encoding_are_kept(values: list[int]) -> None:
    """For example cp1251, which is not valid UTF-8: the bytes are kept as the site wrote them."""
    from urllib.parse import unquote_to_bytes

    written = "".join(f"%{value:02x}" for value in values)
    canonical = canonicalize(f"http://example.com/x?q={written}")
    assert unquote_to_bytes(canonical.partition("?q=")[2]) == bytes(values)


@given(st.one_of(urls, st.text()), st.one_of(_tails, st.text(), urls))
def test_resolve_never_raises(base: str, href: str) -> None:
    url = resolve(base, href)
    assert url is None or ada_url.check_url(url)


@given(st.text())
def test_site_and_asset_never_raise(text: str) -> None:
    site_of(text)
    is_asset(text)
