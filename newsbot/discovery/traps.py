"""Recognizes URLs that lead to endlessly many pages, and URLs of page lists and archives."""

from __future__ import annotations

import re
from datetime import datetime

MAX_LENGTH = 1500
"""Maximum length of a URL in characters. Longer URLs contain the state of a program and are not pages."""
MAX_QUERY = 300
"""Maximum length of the query of a URL in characters."""
MAX_PAIRS = 8
"""Maximum number of keys in the query of a URL."""
MAX_PAGE = 2_000
"""Maximum page number (or offset) of a list that is followed."""
_OLDEST_YEAR = 1990
_MAX_REPEATS = 3
_MIN_SESSION = 20

_DIGIT = re.compile(r"\d")
_PAGE_KEY = re.compile(r"[?&](?:page|pg|paged|pagen_\d|seite|start|offset)=(\d{1,9})(?=&|$)", re.IGNORECASE)
_PAGE_PATH = re.compile(
    r"/(?:page|seite|strana|stranica)[/_-]?(\d{1,9})(?:/|\.\w{1,5})?(?:$|\?)", re.IGNORECASE
)
_ARCHIVE = re.compile(
    r"/((?:19|20|21)\d\d)(?:[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?)?(?:/(?:index)?)?(?:\.\w{1,5})?(?:$|\?)"
)
_FRONT = re.compile(
    r"/(?:archives?|archiv|arhiv|arkiv|archivio|archivo|arsiv|archiwum)(?:/|/?(?:index)?\.\w{1,5})?$",
    re.IGNORECASE,
)
_DATE_KEY = re.compile(r"[?&](?:year|date|day|ym|month)=((?:19|20|21)\d\d)", re.IGNORECASE)
_SESSION = re.compile(r"[?&;](?:[a-z_]{0,20}sess[a-z_]{0,10}|sid|s|token)=([0-9A-Za-z]+)", re.IGNORECASE)


def trap(url: str, now: datetime) -> str | None:
    """Return the reason why a URL should not be followed; None if it may be.

    The reasons are long_url, long_query, session_id, repeating_path, deep_pagination and calendar (a date
    before 1990 or after the year of ``now``).
    """
    if len(url) > MAX_LENGTH:
        return "long_url"
    path, _, query = url.partition("?")
    if query and (reason := _query_trap(url, query)):
        return reason
    if _repeats(path):
        return "repeating_path"
    page = _page(url)
    if page and int(page[1]) > MAX_PAGE:
        return "deep_pagination"
    date = _archive(url)
    return "calendar" if date and not _OLDEST_YEAR <= int(date[1]) <= now.year else None


def _query_trap(url: str, query: str) -> str | None:
    if len(query) > MAX_QUERY or query.count("&") >= MAX_PAIRS:
        return "long_query"
    session = _SESSION.search(url)
    # short values and words (?s=election is a search) are not session ids
    if session and len(session[1]) >= _MIN_SESSION and any(map(str.isdigit, session[1])):
        return "session_id"
    return None


def is_pagination(url: str) -> bool:
    """Return True if a URL is that of the second or a further page of a list."""
    return _page(url) is not None


def _page(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:  # a fast test before the slower patterns
        return None
    return _PAGE_PATH.search(url) or (_PAGE_KEY.search(url) if "?" in url else None)


def is_archive(url: str) -> bool:
    """Return True if a URL is that of an archive: the list of a year, a month or a day."""
    return _archive(url) is not None


def is_archive_front(url: str) -> bool:
    """Return True if a URL is that of the front page of an archive, which links to years or days."""
    return _FRONT.search(url) is not None


def _archive(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:
        return None
    return _ARCHIVE.search(url) or (_DATE_KEY.search(url) if "?" in url else None)


def _repeats(path: str) -> bool:
    """Return True for paths such as ``/a/b/a/b/a/b``. They result from relative links with a wrong base."""
    segments = path.split("/")[3:]
    if len(segments) < 2 * _MAX_REPEATS:
        return False
    return any(segment and segments.count(segment) >= _MAX_REPEATS for segment in set(segments))
