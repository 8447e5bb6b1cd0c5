"""Makes responses: the environment and filters of the HTML templates, and the headers of all responses.

Templates escape all values.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, counted, printable, when
from newsbot.clock import utc
from newsbot.operations.explain import relation_text
from newsbot.operations.verdict import in_words
from newsbot.sites.statistics import percent

CSP: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content security policy of pages. It allows only files of this server, and no inline scripts."""
HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Server": "newsbot",
}
COMPRESSED_FROM = 1400
"""Minimum length in bytes of a body that is compressed.

A shorter body fits into one network packet anyway.
"""
_MATCH = re.compile(r"\[([^\[\]]*)\]")


def make_environment() -> Environment:
    """Return the Jinja environment with the filters and functions of the templates."""
    environment = Environment(
        loader=PackageLoader("newsbot.apps.web.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": ago,
        "moment": moment,
        "percent": percent,
        "number": number,
        "counted": counted_with_thin_blanks,
        "span": span,
        "href": href,
        "clean": lambda text: clean(str(text)),
        "thin_spaces": thin_spaces,
        "marked": marked,
        "related": relation_text,
        "cause": lambda reason: in_words(str(reason)),
        "host": lambda url: urlsplit(str(url)).hostname or "",
    }
    environment.globals |= {"link": link, "site_path": site_path, "program": PROGRAM}
    return environment


def answer(
    body: str | bytes, content_type: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return a response in UTF-8 with :data:`HEADERS`.

    A long body is compressed. ``headers`` are additional headers, which replace headers of the same name.
    """
    data = body.encode() if isinstance(body, str) else body
    response = web.Response(
        body=data,
        status=status,
        headers=HEADERS | {"Content-Type": f"{content_type}; charset=utf-8"} | dict(headers or {}),
    )
    if len(data) >= COMPRESSED_FROM:
        response.enable_compression()
    return response


def link(path: str, **query: object) -> str:
    """Return a URL of the dashboard. Empty query values are left out.

    An underscore at the end of a name is removed, so that a parameter can have the name of a Python keyword.
    """
    given = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "", False)}
    return path + (f"?{urlencode(given)}" if given else "")


def again(query: Iterable[tuple[str, str]], path: str, **changes: object) -> str:
    """Return a URL with the parameters of the current page (``query``), changed by ``changes``.

    Empty values are left out, so an empty value in ``changes`` removes a parameter.
    """
    kept = ((name, value) for name, value in query if name not in changes)
    given = [(name, value) for name, value in (*kept, *changes.items()) if value]
    return path + (f"?{urlencode(given)}" if given else "")


def site_path(domain: str) -> str:
    """Return the URL of a site's page."""
    return f"/sources/{quote(domain, safe='')}"


def href(url: object) -> str:
    """Return an http(s) URL unchanged. Return ``#`` for other URLs, because their schemes can run scripts."""
    text = printable(str(url))
    return text if text.lower().startswith(("http://", "https://")) else "#"


def ago(value: float | datetime | None) -> str:
    """Return a time (POSIX seconds or datetime) as text relative to now, such as ``5 min ago``."""
    seconds = value.timestamp() if isinstance(value, datetime) else value
    return when(seconds, time.time())


def moment(value: float | datetime | None, precision: str | None = None) -> str:
    """Return a time as text in UTC, or only the day if ``precision`` is ``day``. Return ``-`` for None."""
    if value is None:
        return "-"
    at = value.astimezone(UTC) if isinstance(value, datetime) else utc(value)
    return at.strftime("%Y-%m-%d" if precision == "day" else "%Y-%m-%d %H:%M")


def thin_spaces(text: str) -> str:
    """Return a text whose numbers have thin spaces between thousands, not commas."""
    return re.sub(r"(?<=\d),(?=\d{3})", "\u202f", text)


def number(value: float | None) -> str:
    """Return a rounded number as text, with thin spaces between thousands. Return ``-`` for None."""
    return "-" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def counted_with_thin_blanks(value: int, noun: str, plural: str = "") -> str:
    """Return the result of :func:`newsbot.cli.terminal.counted` with thin spaces between thousands."""
    return counted(value, noun, plural).replace(",", "\u202f", 3)


def span(seconds: float | None) -> str:
    """Return a duration in a few characters: ``45 s``, ``12 min``, ``3.5 h``, ``2 d``."""
    if seconds is None:
        return "-"
    # Minutes are used below 99.5 minutes (5970 s). A longer duration would be rounded to "100 min".
    for size, unit, limit in ((1, "s", 100), (60, "min", 5970), (3600, "h", 172800)):
        if seconds < limit:
            amount = seconds / size
            return f"{amount:.1f}\u00a0{unit}" if amount < 10 and size > 60 else f"{amount:.0f}\u00a0{unit}"
    return f"{seconds / 86400:.0f}\u00a0d"


def marked(snippet: str) -> Markup:
    """Return a snippet as HTML. The brackets around its matches become ``<mark>`` elements."""
    return Markup(_MATCH.sub(r"<mark>\1</mark>", str(escape(clean(snippet)))))  # noqa: S704  (escaped)


def json_answer(value: Mapping[str, Any] | list[Any], status: int = 200) -> web.Response:
    """Return a JSON response with the headers of all pages."""
    return answer(json.dumps(value), "application/json", status)
