"""Renders pages from figures: templates that escape everything, and the headers of each response."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from newsbot.cli.terminal import clean, when
from newsbot.clock import utc
from newsbot.sites.statistics import percent

CSP: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
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
"""Bytes."""
_MATCH = re.compile(r"\[([^\[\]]*)\]")


def make_environment() -> Environment:
    """Return the templates of this package, with what they may call."""
    environment = Environment(
        loader=PackageLoader("newsbot.web.dashboard"),
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
        "span": span,
        "href": href,
        "clean": lambda text: clean(str(text)),
        "marked": marked,
        "host": lambda url: urlsplit(str(url)).hostname or "",
    }
    environment.globals |= {"link": link}
    return environment


def page(html: str, status: int = 200) -> web.Response:
    """Return an HTML answer."""
    response = web.Response(text=html, status=status, content_type="text/html", headers=HEADERS)
    if len(html) >= COMPRESSED_FROM:
        response.enable_compression()
    return response


def link(path: str, **query: object) -> str:
    """Return an address of ours with those parts of a query that are not empty."""
    given = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "", False)}
    return path + (f"?{urlencode(given)}" if given else "")


def site_path(domain: str) -> str:
    """Return the address of a site's page."""
    return f"/sources/{quote(domain, safe='')}"


def href(url: object) -> str:
    """Return a URL of the web as it may stand in a link; what is none leads nowhere."""
    text = clean(str(url))
    return text if text.lower().startswith(("http://", "https://")) else "#"


def ago(value: float | datetime | None) -> str:
    """Return how long ago a moment was."""
    seconds = value.timestamp() if isinstance(value, datetime) else value
    return when(seconds, time.time())


def moment(value: float | datetime | None, precision: str | None = None) -> str:
    """Return a moment in UTC; of one that is known to the day only the day."""
    if value is None:
        return "-"
    told = value.astimezone(UTC) if isinstance(value, datetime) else utc(value)
    return told.strftime("%Y-%m-%d" if precision == "day" else "%Y-%m-%d %H:%M")


def number(value: float | None) -> str:
    """Return a whole number with thin blanks between thousands."""
    return "-" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def span(seconds: float | None) -> str:
    """Return a duration in a few signs: ``45 s``, ``12 min``, ``3.5 h``, ``2 d``."""
    if seconds is None:
        return "-"
    for size, unit, limit in ((1, "s", 100), (60, "min", 5970), (3600, "h", 172800)):
        if seconds < limit:
            amount = seconds / size
            return f"{amount:.1f}\u00a0{unit}" if amount < 10 and size > 60 else f"{amount:.0f}\u00a0{unit}"
    return f"{seconds / 86400:.0f}\u00a0d"


def marked(snippet: str) -> Markup:
    """Return a snippet with its matches, which stand in brackets, in ``<mark>``; all of it is escaped."""
    return Markup(_MATCH.sub(r"<mark>\1</mark>", str(escape(clean(snippet)))))  # noqa: S704  (escaped)


def json_answer(value: Mapping[str, Any] | list[Any], status: int = 200) -> web.Response:
    """Return a JSON answer."""
    response = web.json_response(value, status=status, headers=HEADERS)
    response.enable_compression()
    return response
