"""Makes responses: the environment and filters of the HTML templates, and the headers of all responses.

Templates escape all values.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from newsbot.apps.operations.explain import relation_text
from newsbot.apps.operations.verdict import in_words
from newsbot.apps.web.language import (
    LANGUAGES,
    ago,
    at_time,
    count,
    current,
    decimal_text,
    lately,
    moment,
    number_text,
    said,
    span,
    translate,
)
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, percent, printable

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
        "time": at_time,
        "lately": lately,
        "late": lambda at: time.time() - at.timestamp(),
        "percent": percent,
        "number": number_text,
        "decimal": lambda value, places=1: decimal_text(f"{value:.{places}f}"),
        "counted": counted_text,
        "span": span,
        "href": href,
        "clean": lambda text: clean(str(text)),
        "said": said,
        "marked": marked,
        "related": lambda relation: said(relation_text(relation)),
        "cause": lambda reason: said(in_words(str(reason))),
        "host": lambda url: urlsplit(str(url)).hostname or "",
        "initials": initials,
    }
    environment.tests["read_by"] = lambda url, reading: reading.is_read(url)
    environment.globals |= {
        "link": link,
        "site_path": site_path,
        "program": PROGRAM,
        "_": translate,
        "n_": count,
        "code": Markup("<code>{}</code>").format,
        "bold": Markup("<b>{}</b>").format,
        "anchor": Markup('<a href="{}">{}</a>').format,
        "languages": LANGUAGES,
        "language": current,
    }
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


def counted_text(value: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in the right form, such as ``3 sites``."""
    one, many = "{0} " + noun, "{0} " + (plural or noun + "s")
    return current().catalogue.ngettext(one, many, value).format(number_text(value))


def initials(site: str) -> str:
    """Return the short name of a site for its mark: one to three letters of its domain."""
    name = clean(site).removeprefix("www.").partition(".")[0]
    return name[: 3 if len(name) == 3 else 2].upper()


def marked(snippet: str) -> Markup:
    """Return a snippet as HTML. The brackets around its matches become ``<mark>`` elements."""
    return Markup(_MATCH.sub(r"<mark>\1</mark>", str(escape(clean(snippet)))))  # noqa: S704  (escaped)


def json_answer(value: Mapping[str, Any] | list[Any], status: int = 200) -> web.Response:
    """Return a JSON response with the headers of all pages."""
    return answer(json.dumps(value), "application/json", status)
