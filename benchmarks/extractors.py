"""Public extractors with default options, for the table of :mod:`benchmarks.extraction`.

The extractors in ``benchmarks/requirements.txt`` are used only if they are installed.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable
from typing import Any

from lxml.html import fromstring
from w3lib.encoding import html_to_unicode

from newsbot.pages.extraction.body.pieces import render
from newsbot.pages.extraction.visible import join

Fields = dict[str, Any]
Extractor = Callable[[bytes, str], Fields]


def plain_trafilatura(html: bytes, url: str) -> Fields:
    """Trafilatura with default options."""
    return _trafilatura(html, url, precise=False)


def precise_trafilatura(html: bytes, url: str) -> Fields:
    """Trafilatura with ``favor_precision``."""
    return _trafilatura(html, url, precise=True)


def _trafilatura(html: bytes, url: str, *, precise: bool) -> Fields:
    import trafilatura  # noqa: PLC0415 - in benchmarks/requirements.txt only

    found = trafilatura.bare_extraction(html, url=url, with_metadata=True, favor_precision=precise)
    if found is None or isinstance(found, dict):
        return {}
    return {
        "title": found.title,
        "text": found.text,
        "published": found.date,
        "author": found.author,
        "lang": found.language,
    }


def _text(html: bytes) -> str:
    return html_to_unicode(None, html)[1]


def _readability() -> Extractor:
    document = importlib.import_module("readability").Document

    def extract(html: bytes, _: str) -> Fields:
        read = document(_text(html))
        return {"title": read.short_title(), "text": join(render([fromstring(read.summary())]))}

    return extract


def _newspaper() -> Extractor:
    article = importlib.import_module("newspaper").Article

    def extract(html: bytes, url: str) -> Fields:
        read = article(url or "http://example.org/", fetch_images=False)  # no requests
        read.download(input_html=_text(html))
        read.parse()
        return {
            "title": read.title,
            "text": read.text,
            "published": read.publish_date,
            "author": read.authors,
            "lang": read.meta_lang,
        }

    return extract


def _news_please() -> Extractor:
    news_please = importlib.import_module("newsplease").NewsPlease

    def extract(html: bytes, url: str) -> Fields:
        read = news_please.from_html(_text(html), url=url or "http://example.org/", fetch_images=False)
        return {
            "title": read.title,
            "text": read.maintext,
            "published": read.date_publish,
            "author": read.authors,
            "lang": read.language,
        }

    return extract


def _goose() -> Extractor:
    goose = importlib.import_module("goose3").Goose({"enable_image_fetching": False})

    def extract(html: bytes, _: str) -> Fields:
        read = goose.extract(raw_html=_text(html))
        return {
            "title": read.title,
            "text": read.cleaned_text,
            "published": read.publish_datetime_utc or read.publish_date,
            "author": read.authors,
            "lang": read.meta_lang,
        }

    return extract


def _resiliparse() -> Extractor:
    plain = importlib.import_module("resiliparse.extract.html2text").extract_plain_text

    def extract(html: bytes, _: str) -> Fields:
        return {"text": plain(_text(html), main_content=True, alt_texts=False, links=False)}

    return extract


_OTHERS: dict[str, Callable[[], Extractor]] = {
    "readability-lxml": _readability,
    "newspaper4k": _newspaper,
    "news-please": _news_please,
    "goose3": _goose,
    "resiliparse": _resiliparse,
}


def public_extractors() -> tuple[dict[str, Extractor], list[str]]:
    """Return the extractors that can be imported, and for each other extractor the reason why it cannot."""
    warnings.simplefilter("ignore")  # warnings about their dependencies
    logging.disable(logging.CRITICAL)  # one log line per unreadable page
    found: dict[str, Extractor] = {
        "trafilatura": plain_trafilatura,
        "trafilatura, precise": precise_trafilatura,
    }
    missing = []
    for name, load in _OTHERS.items():
        try:
            found[name] = load()
        except ImportError as error:
            missing.append(f"{name}: {error}")
    return found, missing
