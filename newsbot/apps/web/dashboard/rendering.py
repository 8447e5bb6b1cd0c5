"""Makes responses: HTML from templates, in the language that each request chooses, and their headers.

A text of a page is a *message*: English, with names in braces for the values. The catalogues
(``catalogues/*.po``) have the translations, and the module :mod:`gettext` of Python chooses plural forms.

Verdicts, alerts, histories and faults are sentences that other parts of newsbot make, for the terminal as
well. Such a sentence is complete English, and may have been stored. :func:`sentence` finds the message from
which it was made, and fills the translation with the same values. In these messages, values have numbers.

Templates escape all values.
"""

from __future__ import annotations

import ast
import json
import re
import struct
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from newsbot.apps.numbers import percent
from newsbot.apps.operations.explain import relation_text
from newsbot.apps.operations.verdict import in_words
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, printable
from newsbot.clock import utc
from newsbot.pages.text.differences import word_changes

COOKIE = "newsbot_language"
_STRING = re.compile(r'(msgid_plural|msgid|msgstr)?(?:\[\d\])?\s*(".*")')
_VALUE = re.compile(r"\{(\w+)\}")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?)(?: \((.*)\))?")
_AROUND = re.compile(r"([\s,;:]*)(.*?)((?: \(\d+\))?\s*)", re.DOTALL)
"""What may stand before and after a sentence in another one, such as a number in brackets."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
MAX_SENTENCE = 2000
"""Maximum length of a sentence that is compared with the messages. Longer ones stay in English."""
MAX_DEPTH = 3
"""Sentences may contain sentences, up to this depth."""
FIRM = 8
"""Minimum number of fixed characters of a message within a sentence. Values are often headlines, which could
look like a shorter message."""


def message(text: str) -> str:
    """Return a message unchanged. The call marks the message for the catalogues."""
    return text


MONTHS = (
    message("Jan"), message("Feb"), message("Mar"), message("Apr"), message("May"), message("Jun"),
    message("Jul"), message("Aug"), message("Sep"), message("Oct"), message("Nov"), message("Dec"),
)  # fmt: skip


@dataclass(frozen=True)
class Language:
    """A language of the pages. Another one needs a catalogue and an entry in :data:`LANGUAGES`."""

    code: str
    name: str
    """The name of the language in the language itself."""
    locale: str
    """The locale with which browsers write times."""
    decimal: str = "."
    thousands: str = "\N{NARROW NO-BREAK SPACE}"

    @cached_property
    def catalogue(self) -> NullTranslations:
        """The translations."""
        entries = read_catalogue(self.code)
        return GNUTranslations(BytesIO(_compiled(entries))) if entries else NullTranslations()

    @cached_property
    def sentences(self) -> list[tuple[re.Pattern[str], str, str]]:
        """A pattern of each message with numbered values, with its singular and its plural.

        The message with the longest fixed text comes first.
        """
        found: dict[str, tuple[str, str]] = {}
        for one, many in read_catalogue(self.code):
            if re.search(r"\{\d\}", one + many):
                found |= {text: (one, many) for text in (one, many) if text}
        ordered = sorted(found, key=lambda text: -len(_VALUE.sub("", text)))
        return [(_pattern(text), *found[text]) for text in ordered]


def _pattern(text: str) -> re.Pattern[str]:
    parts = _VALUE.split(text)
    fixed = [f"(?P<v{part}>.*?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return re.compile("".join(fixed), re.DOTALL)


LANGUAGES: Mapping[str, Language] = {
    one.code: one
    for one in (
        Language("en", "English", "en-GB"),
        Language("ru", "Русский", "ru", ",", "\N{NO-BREAK SPACE}"),
        Language("de", "Deutsch", "de", ",", "."),
    )
}
_current: ContextVar[Language] = ContextVar("language", default=LANGUAGES["en"])

Entries = dict[tuple[str, str], list[str]]
"""The singular and the plural of each message -> its translations. The plural is often empty."""


@cache
def read_catalogue(code: str) -> Entries:
    """Return the messages of ``catalogues/CODE.po``; none for English, whose messages are the texts."""
    place = files("newsbot.apps.web") / "catalogues" / f"{code}.po"
    return parsed(place.read_text(encoding="utf-8")) if place.is_file() else {}


def parsed(text: str) -> Entries:
    """Return the messages of a catalogue in the format PO of gettext."""
    entries: Entries = {}
    for block in re.split(r"\n\s*\n", text):
        fields: dict[str, list[str]] = {"msgid": [], "msgid_plural": [], "msgstr": []}
        name = ""
        for line in block.splitlines():
            if line.startswith("#") or not (match := _STRING.match(line)):
                continue
            if match[1]:
                name = match[1]
                fields[name].append("")
            fields[name][-1] += ast.literal_eval(match[2])
        if fields["msgid"]:
            entries[fields["msgid"][0], "".join(fields["msgid_plural"])] = fields["msgstr"]
    return entries


def _compiled(entries: Entries) -> bytes:
    """Return a catalogue in the binary format MO, which :mod:`gettext` reads."""
    # The manual of GNU gettext describes the format: a header, two tables of lengths and places, the texts.
    texts = {"\0".join(filter(None, names)): "\0".join(found) for names, found in entries.items()}
    pairs = sorted((name.encode(), text.encode()) for name, text in texts.items())
    tables, body, start = [b"", b""], b"", 28 + 16 * len(pairs)
    for column in (0, 1):
        for pair in pairs:
            tables[column] += struct.pack("<II", len(pair[column]), start + len(body))
            body += pair[column] + b"\0"
    header = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return header + tables[0] + tables[1] + body


# --- the language of a request
def choose(request: web.Request) -> None:
    """Use the language of a request from now on: that of its cookie, or else one that its browser accepts."""
    _current.set(LANGUAGES[_wanted(request.cookies.get(COOKIE), request.headers.get("Accept-Language", ""))])


def _wanted(cookie: str | None, accepted: str) -> str:
    if cookie is not None and cookie in LANGUAGES:
        return cookie
    weighted = []
    for place, part in enumerate(accepted.split(",")[:20]):
        name, _, weight = part.partition(";q=")
        try:
            weighted.append((-float(weight or 1), place, name.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    return next((name for _, _, name in sorted(weighted) if name in LANGUAGES), "en")


def current() -> Language:
    """Return the language of the request that is being answered."""
    return _current.get()


# --- texts
def translate(text: str, **values: object) -> Markup:
    """Return the translation of a message as HTML. The values are escaped, the message is not."""
    return Markup(current().catalogue.gettext(text) if text else "").format(**values)  # noqa: S704


def plain(text: str, *given: object, **values: object) -> str:
    """Return the translation of a message as text. It is not HTML, so nothing is escaped."""
    return current().catalogue.gettext(text).format(*given, **values) if text else ""


def count(one: str, many: str, number: float, **values: object) -> Markup:
    """Return the translation of a message in the plural form for ``number``; ``{n}`` is the number."""
    text = current().catalogue.ngettext(one, many, int(number))
    return Markup(text).format(n=number_text(number), **values)  # noqa: S704


def sentence(text: str, depth: int = MAX_DEPTH) -> str:
    """Return a finished English sentence in the language of the request; unchanged if no message fits."""
    language = current()
    entries = read_catalogue(language.code)
    if not text or not entries or len(text) > MAX_SENTENCE:
        return text
    if (text, "") in entries:
        return language.catalogue.gettext(text)
    if moments := _MOMENT.fullmatch(text):
        at = datetime.fromisoformat(moments[1].rstrip("Z")).replace(tzinfo=UTC)
        return f"{moment(at)} UTC" + (f" ({sentence(moments[2])})" if moments[2] else "")
    if not depth:
        return text
    for pattern, one, many in language.sentences:
        if depth < MAX_DEPTH and not many and len(_VALUE.sub("", one)) < FIRM:
            continue  # a number with a noun is short, but its value must be a number
        if match := pattern.fullmatch(text):
            values = {name[1:]: value for name, value in match.groupdict().items()}
            number = values.get("0", "1").replace(",", "")
            if many and not number.isdigit():
                continue
            catalogue = language.catalogue
            found = catalogue.ngettext(one, many, int(number)) if many else catalogue.gettext(one)
            return _VALUE.sub(partial(_filled, values, depth), found)
    return text


def _filled(values: Mapping[str, str], depth: int, name: re.Match[str]) -> str:
    return _value(values.get(name[1], "1"), depth)


def _value(text: str, depth: int) -> str:
    """Return a value of a sentence: a number, or another sentence, or several with commas between them."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+|\d+(\.\d+)?", text):
        digits = text.replace(",", "")
        return decimal_text(digits) if "." in digits else number_text(int(digits))
    start, bare, end = _AROUND.fullmatch(text).groups()  # type: ignore[union-attr]  # it matches each text
    if bare and (found := sentence(bare, depth - 1)) != bare:
        return f"{start}{found}{end}"
    return ", ".join(_value(part, depth - 1) for part in text.split(", ")) if ", " in text else text


def said(text: object) -> str:
    """Return a sentence of another part of newsbot, translated and without control characters."""
    told = sentence(clean(str(text)))
    # English needs no catalogue, but numbers look alike on all pages.
    return _THOUSANDS.sub(current().thousands, told) if current().code == "en" else told


# --- numbers
def number_text(value: float | None) -> str:
    """Return a rounded number, with the separator of the language between thousands; ``-`` for None."""
    return "-" if value is None else f"{value:,.0f}".replace(",", current().thousands)


def decimal_text(number: str) -> str:
    """Return a number with the decimal sign of the language. ``number`` has a point."""
    return number.replace(".", current().decimal)


_SPANS = ((1, message("{0} s"), 100), (60, message("{0} min"), 5970), (3600, message("{0} h"), 172800))


def span(seconds: float | None) -> str:
    """Return a duration in a few characters: ``45 s``, ``12 min``, ``3.5 h``, ``2 d``."""
    if seconds is None:
        return "-"
    # Minutes are used below 99.5 minutes (5970 s). A longer duration would be rounded to "100 min".
    for size, unit, limit in _SPANS:
        if seconds < limit:
            amount = seconds / size
            shown = decimal_text(f"{amount:.1f}") if amount < 10 and size > 60 else f"{amount:.0f}"
            return plain(unit, shown).replace(" ", "\u00a0")
    return plain("{0} d", f"{seconds / 86400:.0f}").replace(" ", "\u00a0")


# --- times
def day_text(at: datetime, *, with_year: bool = True) -> str:
    """Return a day such as ``28 Nov 2026``, in UTC."""
    at = at.astimezone(UTC)
    values = {
        "day": at.day,
        "month": plain(MONTHS[at.month - 1]),
        "number": f"{at.month:02}",
        "year": at.year,
    }
    return plain("{day} {month} {year}", **values) if with_year else plain("{day} {month}", **values)


def moment(value: float | datetime | None, precision: str | None = None) -> str:
    """Return a time as text in UTC, or only the day if ``precision`` is ``day``. Return ``-`` for None."""
    if value is None:
        return "-"
    at = value.astimezone(UTC) if isinstance(value, datetime) else utc(value)
    return day_text(at) if precision == "day" else f"{day_text(at)}, {at:%H:%M}"


_AGO = (
    (60, 1, message("just now"), message("in a moment")),
    (7200, 60, message("{0} min ago"), message("in {0} min")),
    (172800, 3600, message("{0} h ago"), message("in {0} h")),
    (30 * 86400, 86400, message("{0} d ago"), message("in {0} d")),
)
"""Limit and unit in seconds, and the texts for the past and the future."""


def ago(value: float | datetime | None) -> str:
    """Return a time as text relative to now, such as ``5 min ago``. A distant time becomes a day."""
    if value is None:
        return "-"
    seconds = value.timestamp() if isinstance(value, datetime) else value
    distance = time.time() - seconds
    for limit, unit, past, future in _AGO:
        if abs(distance) < limit:
            text = past if distance >= 0 else future
            return plain(text, int(abs(distance) / unit))
    return day_text(utc(seconds))


def at_time(
    value: float | datetime | None, precision: str | None = None, *, relative: bool = False
) -> Markup | str:
    """Return a time as an HTML element. A script shows it in the time zone of the reader.

    With ``relative``, a time of the last or next two days is relative to now.
    """
    if value is None:
        return "-"
    at = value.astimezone(UTC) if isinstance(value, datetime) else utc(value)
    if precision == "day":
        return Markup('<time datetime="{}">{}</time>').format(at.date(), day_text(at))
    if relative and abs(at.timestamp() - time.time()) < 172800:
        text, kind = ago(at), "relative"
    else:
        text, kind = moment(at), "at"
    whole = Markup('<time datetime="{}" data-kind="{}" title="{}">{}</time>')
    return whole.format(at.isoformat(timespec="seconds"), kind, f"{moment(at)} UTC", text)


def lately(value: float | datetime | None, precision: str | None = None) -> Markup | str:
    """Return a time as :func:`at_time` does, relative to now if it is near."""
    return at_time(value, precision, relative=True)


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
SHOWN_LINES = 100
"""Maximum number of changed lines between two versions that are shown."""
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
        "max_lines": SHOWN_LINES,
        "word_changes": word_changes,
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
