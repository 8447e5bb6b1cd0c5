"""Finds the canonical URL that a page states, and checks whether it can be trusted.

:func:`is_variant` decides from the URLs alone whether two URLs are forms of one page (AMP, print, mobile,
parameters).

The address to which a page forwards its readers is in ``<meta http-equiv=refresh>`` or ``Refresh``.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from newsbot import urls
from newsbot.errors import NotAnArticle
from newsbot.pages.extraction.page.page import Page, parse_html
from newsbot.pages.extraction.page.visible import visible_text
from newsbot.pages.extraction.strings import is_template, size, word_set
from newsbot.urls import absolute


def canonical_url(page: Page, drop_query: tuple[str, ...] = (), stated: str | None = None) -> tuple[str, str]:
    """Return the canonical URL of the page and the method: ``rule``, ``link``, ``og`` or ``url``.

    ``drop_query`` has the parameters that the site's rule removes from URLs. ``stated`` is the URL that the
    rule's selectors found. A URL that the page or the rule states is trusted only if it is on the same site.
    A home page is trusted only as the URL of a home page, because some sites state it on every page. Raises
    ``ValueError`` if the page's own URL is not absolute.
    """
    own = urls.canonicalize(page.url, drop_query)
    for method, value in (
        ("rule", stated),
        ("link", next(iter(page.links.get("canonical", ())), None)),
        ("og", page.meta("og:url") or None),
    ):
        found = _trusted(value, page, own, drop_query) if value else None
        if found is not None:
            return found, method
    return own, "url"


def base_of(page: Page) -> str:
    """Return the URL against which the relative URLs of a page are resolved (``<base href>``)."""
    return (urls.resolve(page.url, page.base) if page.base else None) or page.url


def _trusted(value: str, page: Page, own: str, drop_query: tuple[str, ...]) -> str | None:
    """Return the canonical form of the stated URL ``value`` if it can be trusted, else None.

    ``own`` is the canonical form of the page's own URL.
    """
    resolved = urls.absolute(base_of(page), value)
    if resolved is None or is_template(value):
        return None
    try:
        found = urls.canonicalize(resolved, drop_query)
    except ValueError:
        return None
    # If several sites publish a text, their pages may state the URL on the original publisher's site.
    target, source = urlsplit(found), urlsplit(own)
    if urls.site_of(target.hostname or "") != urls.site_of(source.hostname or "") and not _is_kept_for(
        source, target
    ):
        return None
    if _is_front(found) and not _is_front(own):
        return None
    if (
        len(target.path) < len(source.path)
        and source.path.startswith(target.path.rstrip("/") + "/")
        and not _same_story(target.path)
        and source.path[len(target.path) :].strip("/").lower() not in _VARIANT_STEPS
    ):
        return None  # some sites state the section as the canonical URL of its articles
    return found


def _is_kept_for(source: SplitResult, target: SplitResult) -> bool:
    """True if ``source`` is a copy of an AMP page in Google's cache and ``target`` its original.

    The path of the copy begins with the host of the original.
    """
    return (source.hostname or "").endswith(_AMP_CACHE) and (target.hostname or "") in source.path.split("/")[
        :4
    ]


def _is_front(url: str) -> bool:
    """True for the URL of a home page."""
    parts = urlsplit(url)
    return (
        parts.path.strip("/") in ("", "index.html", "index.php", "home", "en", "ru", "ua", "uk")
        and not parts.query
    )


def _same_story(path: str) -> bool:
    """True for a path that can name an article: it has a number or a long last part."""
    last = path.rstrip("/").rsplit("/", 1)[-1]
    return (
        any(sign.isdigit() for sign in last)
        or last.count("-") >= 2
        or last.endswith((".html", ".htm", ".shtml", ".php"))
    )


# --- forms of one page

_VARIANT_STEPS = word_set("amp amp.html print printable print.html mobile share")
"""Segments of a path that mark another form of a page. The URL without these segments is the URL of the page
itself."""
_AMP_CACHE = ".cdn.ampproject.org"
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
    in any other way, both must contain the same article number.
    """
    one, other = urlsplit(url), urlsplit(canonical)
    host, path = one.netloc, one.path
    if host.partition(":")[0].endswith(_AMP_CACHE):
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


def adds_parameters(url: str, plain: str) -> bool:
    """Return True if two URLs differ only in parameters that ``plain`` lacks."""
    one, other = urlsplit(url), urlsplit(plain)
    more, fewer = ({part for part in query.split("&") if part} for query in (one.query, other.query))
    return (one.scheme, one.netloc, one.path) == (other.scheme, other.netloc, other.path) and fewer < more


def on_one_host(one: str, other: str) -> bool:
    """Return True if the hosts of two URLs are equal, apart from prefixes such as ``www.`` and ``m.``."""
    return _bare_host(urlsplit(one).netloc) == _bare_host(urlsplit(other).netloc)


def _bare_host(host: str) -> str:
    return _HOSTS.sub("", host)


def _steps(path: str) -> tuple[str, ...]:
    steps = [step for step in path.split("/") if step and step.lower() not in _VARIANT_STEPS]
    if steps:
        steps[-1] = _ENDS.sub("", steps[-1])
    return tuple(steps)


def _parameters(query: str) -> frozenset[str]:
    return frozenset(part for part in query.split("&") if part and not _KEYS.match(part.lower()))


def _names_a_page(steps: tuple[str, ...]) -> bool:
    """True for a path that identifies one page without parameters.

    For example, ``/news`` in ``/news?id=7`` does not identify a page.
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


_AT_ONCE = 5
"""Maximum number of seconds until a page forwards. Pages that reload themselves wait for minutes."""
_HARDLY_ANY = 600
"""A page with at least this number of letters is read, although it forwards."""
_HEAD = 50_000
"""Number of bytes at the start of a page that are searched."""
# Matches values such as "0; url=/new" and "3, '/new'".
_VALUE = re.compile(
    r"\s{0,20}(\d{1,4})?(?:\.\d{0,9})?\s{0,20}[;,\s]\s{0,20}(?:url\s{0,20}=\s{0,20})?"
    r"(?:\"([^\"]+)|'([^']+)|([^\s'\"].*))",
    re.IGNORECASE | re.DOTALL,
)


def forward_target(
    body: bytes, url: str, header: str = "", charset: str | None = None, *, reloads: bool = False
) -> str | None:
    """Return the absolute URL to which a response forwards at once, or None.

    ``header`` is the value of the header ``Refresh``. The result is None if the page has a text of its own,
    and, unless ``reloads`` is True, if it reloads itself.
    """
    start = body[:_HEAD].lower()
    if not header and not (b"http-equiv" in start and b"refresh" in start):
        return None
    own = "" if reloads else url
    try:
        tree = parse_html(body, charset)
    except NotAnArticle:
        return _target(header, url, own)
    values = [header]
    values += [
        element.get("content") or ""
        for element in tree.iter("meta")
        if (element.get("http-equiv") or "").strip().lower() == "refresh"
    ]
    base = absolute(url, next((element.get("href") or "" for element in tree.iter("base")), "")) or url
    targets = (_target(value, base, own) for value in values)
    found = next((target for target in targets if target is not None), None)
    return found if found is not None and size(visible_text(tree)) < _HARDLY_ANY else None


def _target(value: str, base: str, own: str) -> str | None:
    match = _VALUE.match(value[:5000])
    if match is None or int(match[1] or 0) > _AT_ONCE:
        return None
    address = absolute(base, (match[2] or match[3] or match[4]).strip())
    return None if address is None or address.partition("#")[0] == own.partition("#")[0] else address
