"""Content codings: what the bytes are counts more than what the header says."""

from __future__ import annotations

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest

from newsbot.pages.text.codings import CodingError, TooLargeError, decoded, gunzip

PAGE = b"<html><body><p>" + b"The mill by the river grinds again. " * 40 + b"</p></body></html>"
_raw = zlib.compressobj(wbits=-15)
RAW = _raw.compress(PAGE) + _raw.flush()


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        *(
            (name, PAGE)
            for name in ("", "identity", "none", "8bit", "binary", "UTF-8", "aws-chunked", "x-foo")
        ),
        *((name, PAGE) for name in ("gzip", "br", "deflate", "zstd", "gzip, identity")),
        *(
            (name, gzip.compress(PAGE, mtime=0))
            for name in ("gzip", "x-gzip", "GZIP", "aws-chunked", "br", "utf-8,gzip")
        ),
        ("gzip", gzip.compress(gzip.compress(PAGE, mtime=0))),
        ("gzip, gzip", gzip.compress(gzip.compress(PAGE, mtime=0))),
        ("gzip", gzip.compress(PAGE[:50], mtime=0) + gzip.compress(PAGE[50:], mtime=0)),
        ("br", brotli.compress(PAGE)),
        ("gzip, br", brotli.compress(gzip.compress(PAGE, mtime=0))),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", RAW),
        ("gzip", zlib.compress(PAGE)),
    ],
)
def test_a_body_is_read_as_what_its_bytes_are(declared: str, body: bytes) -> None:
    assert decoded(body, declared, 10**6) == PAGE


def test_the_readable_part_of_a_cut_body_is_kept() -> None:
    page = bytes(range(32, 127)) * 900
    assert page.startswith(decoded(gzip.compress(page, 0, mtime=0)[:60_000], "gzip", 10**6)[:50_000])


@pytest.mark.parametrize("declared", ["gzip", "br", "deflate"])
def test_a_broken_body_is_an_error(declared: str) -> None:
    with pytest.raises(CodingError, match=declared):
        decoded(b"\xff\x00\x01\x02\x03\x04 nothing", declared, 10**6)


def test_an_unpacked_body_is_bounded() -> None:
    bomb = gzip.compress(gzip.compress(b"0" * 5_000_000, mtime=0))
    with pytest.raises(TooLargeError, match="1000000"):
        decoded(bomb, "gzip", 10**6)
    assert len(gunzip(bomb, 10**6)) == 10**6
