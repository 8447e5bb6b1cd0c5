"""Decides by the URLs alone whether two URLs are forms of one page (AMP, print, mobile, parameters)."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from newsbot.extraction.strings import word_set

VARIANT_STEPS = word_set("amp amp.html print printable print.html mobile share")
"""Segments of a path that mark another form of a page. The URL without them is that of the page itself."""
AMP_CACHE = ".cdn.ampproject.org"
"""The end of the host names of Google's cache of AMP pages."""

# m.example.org, but not m.org
_HOSTS = re.compile(r"^(?:www|m|mobile|mobil|amp|wap|touch|print|pda|lite)\.(?=[^.]+\.)")
_ENDS = re.compile(r"(?:\.(?:amp|html?|shtml|xhtml|php|aspx?|print))+$", re.IGNORECASE)
_KEYS = re.compile(r"(?:amp|print|printable|mobile|share|outputtype|output|view|format|m)(?:=|$)")
# 12345-title, a12345, title-12345, title_id12345
_NUMBER = re.compile(r"^(?:[a-z]{0,3})(\d{5,})(?=$|[-_])|(?:^|[-_])[a-z]{0,3}(\d{5,})$")
# 20240503
_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])")


def is_variant(url: str, canonical: str) -> bool:
    """Return True if the two URLs show that ``canonical`` is another form of ``url``.

    Both URLs are in canonical form (:func:`newsbot.urls.canonicalize`) and on one site. Their hosts may
    differ in a prefix such as ``m.``. Their paths may differ in segments such as ``amp`` and ``print``, or in
    the ending. ``canonical`` may lack parameters if its path still identifies one page. If the paths differ
    otherwise, both must have the same article number.
    """
    one, other = urlsplit(url), urlsplit(canonical)
    host, path = one.netloc, one.path
    if host.partition(":")[0].endswith(AMP_CACHE):
        # The path in the cache contains the URL of the page: /c/s/news.test/story.
        _, found, rest = path.partition(f"/{other.netloc}/")
        if not found:
            return False
        host, path = other.netloc, f"/{rest}"
    if _bare_host(host) != _bare_host(other.netloc):
        return False
    left, right = _steps(path), _steps(other.path)
    mine, theirs = _parameters(one.query), _parameters(other.query)
    if not theirs <= mine:  # a canonical URL has no additional parameters
        return False
    if left == right:
        return mine == theirs or _names_a_page(right)
    return mine == theirs and _number(left) is not None and _number(left) == _number(right)


def _bare_host(host: str) -> str:
    return _HOSTS.sub("", host)


def _steps(path: str) -> tuple[str, ...]:
    steps = [step for step in path.split("/") if step and step.lower() not in VARIANT_STEPS]
    if steps:
        steps[-1] = _ENDS.sub("", steps[-1])
    return tuple(steps)


def _parameters(query: str) -> frozenset[str]:
    return frozenset(part for part in query.split("&") if part and not _KEYS.match(part.lower()))


def _names_a_page(steps: tuple[str, ...]) -> bool:
    """True for a path that identifies one page without parameters.

    Counterexample: ``/news`` in ``/news?id=7`` does not.
    """
    last = unquote(steps[-1]) if steps else ""
    return any(sign.isdigit() for sign in last) or last.count("-") + last.count("_") >= 2


def _number(steps: tuple[str, ...]) -> str | None:
    """Return the number of the article in the URL, or None.

    It is a long number at the start or end of the last segment. Dates and round numbers do not count.
    """
    found = _NUMBER.search(steps[-1].lower()) if steps else None
    number = found and (found[1] or found[2])
    if not number or _DATE.fullmatch(number) or number.endswith("000"):
        return None
    return str(number)
