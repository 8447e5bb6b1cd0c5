"""Decides how a page is checked, interprets its response, and compares it with the check of an earlier run.

The network is not used here.

Faults in the markup of a page are found too. libxml2 reports the faults that it has to repair, such as tags
that are not closed. The other faults are what search engines and browsers complain about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from lxml import etree

from newsbot.apps.monitor.results import MAX_HOPS, CheckedPage, PageCheck
from newsbot.pages.extraction.verdict import is_error
from newsbot.pages.text.words import squash
from newsbot.urls import canonicalize, resolve

REDIRECTS = (301, 302, 303, 307, 308)
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A page to check, with the redirects that were followed so far.

    ``run`` is the time in POSIX seconds at which the run began.
    """

    url: str
    """The canonical URL of the page."""
    source: str
    run: float
    etag: str | None = None
    last_modified: str | None = None
    found_on: str | None = None
    depth: int = 0
    reads: bool = False
    """True if the body of the page is read to find links."""
    hops: tuple[tuple[int, str], ...] = ()
    """Status and target of each redirect that was followed."""

    def conditions(self) -> dict[str, str]:
        """Return the headers of a conditional request (RFC 9110, section 13.1)."""
        validators = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in validators.items() if value}


@dataclass(frozen=True, slots=True)
class Step:
    """The next request after a redirect.

    ``url`` is empty if the redirect is invalid or circular, or if there were too many redirects.
    """

    target: Target
    url: str = ""
    fault: str | None = None


def needs_get(status: int) -> bool:
    """Return True if the response to HEAD must be confirmed by GET, because many servers do not support HEAD.

    The status codes 410, 429 and 503 are not confirmed. 410 is final, and after 429 and 503 a second request
    would be impolite.
    """
    return status >= 400 and status not in (410, 429, 503)


def next_hop(status: int, location: bytes | None, url: str, target: Target) -> Step | None:
    """Return the step after a redirect; None if the response is not a redirect.

    ``url`` is the URL of the response, and ``location`` is its ``Location`` header.
    """
    if status not in REDIRECTS:
        return None
    to = resolve(url, (location or b"").decode("utf-8", "replace").strip()) if location else None
    try:
        canonical = canonicalize(to) if to else ""
    except ValueError:
        canonical = ""
    if not to or not canonical:
        return Step(target, fault="redirects")
    ahead = replace(target, hops=(*target.hops, (status, to)))
    # ``url`` is included, because a redirect to its own URL is a loop too.
    seen = {one for _, one in target.hops} | {url}
    if to in seen or len(ahead.hops) >= MAX_HOPS:
        return Step(ahead, fault="redirects")
    return Step(ahead, url=to)


def to_check(
    target: Target,
    now: float,
    method: str,
    *,
    status: int | None = None,
    fault: str | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    received: int = 0,
    seconds: float | None = None,
) -> PageCheck:
    """Return the check to store for a response, or for the reason why there is none (``fault``).

    With a fault, the check has no status. ``now`` is in POSIX seconds, and ``received`` is the number of
    bytes of the body.
    """
    return PageCheck(
        url=target.url,
        source=target.source,
        at=now,
        run=target.run,
        method=method,
        # A response with a fault can have a status too, for example that of the last redirect of a loop.
        status=None if fault else status,
        fault=fault,
        size=_size(headers.get("Content-Length", "").strip(), status, received),
        content_type=headers.get("Content-Type"),
        server=headers.get("Server"),
        seconds=None if seconds is None else round(seconds, 4),
        etag=headers.get("ETag"),
        last_modified=headers.get("Last-Modified"),
        hops=target.hops,
        found_on=target.found_on,
    )


_DIGITS = 18
"""Maximum number of digits of a size. Such numbers fit into the integers of SQLite."""


def _size(stated: str, status: int | None, received: int) -> int | None:
    # Content-Length is preferred to the size of the body, because a response to HEAD has no body. In a 304
    # this header may be the size of the page or 0.
    if stated.isascii() and stated.isdigit() and len(stated) <= _DIGITS and status != 304:
        return int(stated)
    # Responses to HEAD and 304 responses have no body, so the size is unknown.
    return received or None


CONTENT, NEW = "content", "new"
LISTED = ("status", "target", "type", "size", "server", NEW)
"""The kinds of changes, the most important first. Changes of the kind :data:`CONTENT` are only counted."""
SIZE_FACTOR = 2.0
"""A page is listed if its size grew or shrank by at least this factor."""


def changes_of(page: CheckedPage) -> dict[str, tuple[str, str]]:
    """Return the changes of a page by kind, each as a pair of texts (before, now).

    A page without an earlier check has only the kind ``new``.
    """
    now, before = page.last, page.before
    if before is None:
        return {NEW: ("", now.outcome)}
    pairs = {"status": (before.outcome, now.outcome)}
    if _answered(before) and _answered(now):
        pairs["target"] = (_target(before), _target(now))
        pairs["type"] = (_media(before), _media(now))
        pairs["server"] = (before.server or "", now.server or "")
        pairs["size"] = _sizes(before, now)
        pairs[CONTENT] = (_validator(before), _validator(now))
    # Servers may omit these headers in some responses, for example in a 304. A missing value is therefore not
    # a change.
    optional_kinds = ("type", "server", CONTENT)
    return {
        kind: both
        for kind, both in pairs.items()
        if both[0] != both[1] and not (kind in optional_kinds and not all(both))
    }


def _answered(check: PageCheck) -> bool:
    return check.status is not None and check.status < 400


def _target(check: PageCheck) -> str:
    return check.hops[-1][1] if check.hops else ""


def _media(check: PageCheck) -> str:
    return (check.content_type or "").partition(";")[0].strip().lower()


def _validator(check: PageCheck) -> str:
    return check.etag or check.last_modified or ""


def _sizes(before: PageCheck, now: PageCheck) -> tuple[str, str]:
    """Return both sizes if they differ by :data:`SIZE_FACTOR` or more, otherwise empty texts.

    The size of a response to HEAD is not compared with the size of a response to GET, because HEAD may report
    the size in another encoding.
    """
    if not before.size or not now.size or before.method != now.method:
        return "", ""
    factor = max(before.size, now.size) / min(before.size, now.size)
    return (str(before.size), str(now.size)) if factor >= SIZE_FACTOR else ("", "")


ERRORS, NO_TITLE, NO_DESCRIPTION, NO_LANGUAGE, MIXED, ERROR_PAGE = FAULTS = (
    "errors",
    "no_title",
    "no_description",
    "no_language",
    "mixed_content",
    "error_page",
)
MEANING: Final = {
    ERRORS: "errors in the markup",
    NO_TITLE: "no title",
    NO_DESCRIPTION: "no description",
    NO_LANGUAGE: "no language",
    MIXED: "http parts of an https page",
    ERROR_PAGE: "an error message with status 200",
}
"""The faults in words."""
MOST_ERRORS = 100
"""Maximum number of errors of libxml2 that are counted for a page."""
MAX_CHARACTERS = 2_000_000
"""Number of characters of a page that are checked."""
_NEW_TAG = 801
"""libxml2 does not know the elements of HTML 5, and reports each as an error (``HTML_UNKNOWN_TAG``)."""
_MOST_TEXTS, _LONGEST = 100, 500
"""Number of texts and of characters of a title that are read."""
_PARTS = ("script", "img", "iframe", "audio", "video", "source", "track", "embed")
"""Elements whose ``src`` the browser loads into the page."""


def faults_in(html: str, url: str) -> Counter[str]:
    """Return the number of faults of each kind in :data:`FAULTS` on a page with status 200.

    The function may run in any thread, and raises no exception for any text.
    """
    parser = etree.HTMLParser(recover=True, encoding="utf-8")
    found = Counter[str]()
    try:
        tree = etree.fromstring(html[:MAX_CHARACTERS].encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        tree = None
    errors = sum(error.type != _NEW_TAG for error in parser.error_log)
    found[ERRORS] = min(errors, MOST_ERRORS)
    if tree is None:
        return +found
    title = _first(tree, "title")
    found[NO_TITLE] = int(not title)
    found[NO_DESCRIPTION] = int(not any(map(_describes, tree.iter("meta"))))
    found[NO_LANGUAGE] = int(not (tree.get("lang") or tree.get("xml:lang") or "").strip())
    if urlsplit(url).scheme == "https":
        found[MIXED] = _mixed(tree)
    found[ERROR_PAGE] = int(is_error(title) or is_error(_first(tree, "h1")))
    return +found


def _describes(meta: etree._Element) -> bool:
    name = (meta.get("name") or meta.get("property") or "").strip().lower()
    return name in ("description", "og:description") and bool((meta.get("content") or "").strip())


def _first(tree: etree._Element, name: str) -> str:
    """Return the text of the first element with this name as one line."""
    element = next(tree.iter(name), None)
    return (
        ""
        if element is None
        else squash("".join(map(str, islice(element.itertext(), _MOST_TEXTS)))[:_LONGEST])
    )


def _mixed(tree: etree._Element) -> int:
    loaded = [one.get("src") for one in tree.iter(*_PARTS)]
    loaded += [one.get("data") for one in tree.iter("object")]
    loaded += [one.get("action") for one in tree.iter("form")]
    loaded += [
        one.get("href") for one in tree.iter("link") if "stylesheet" in (one.get("rel") or "").lower().split()
    ]
    return sum((address or "").strip().lower().startswith("http://") for address in loaded)


def written_faults(found: Counter[str]) -> str:
    """Return faults as the text that is stored with a check: ``errors:3 no_title:1``."""
    return " ".join(f"{name}:{found[name]}" for name in FAULTS if found[name])


def read_faults(text: str) -> dict[str, int]:
    """Return the faults in a stored text. Unknown words are left out."""
    pairs = (word.partition(":") for word in text.split())
    return {name: int(number) for name, _, number in pairs if name in FAULTS and number.isdecimal()}
