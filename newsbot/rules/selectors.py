"""Reads the selectors of rule files: CSS or ``xpath:``, both become one XPath."""

from __future__ import annotations

from functools import cache

from cssselect.parser import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from newsbot.rules.schema import Selector

PREFIX = "xpath:"
MAX_LENGTH = 1000


def read_selector(text: str) -> Selector:
    """Return the selector. CSS may end in ``::text`` or ``::attr(name)``, as in Scrapy.

    Raises ``ValueError`` that says what is wrong.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the selector has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    if not text.strip() or text.strip() == PREFIX:
        raise ValueError("the selector is empty; write for example 'h1.title' or 'xpath://h1'")
    xpath = text.removeprefix(PREFIX).strip() if text.startswith(PREFIX) else _from_css(text)
    try:
        result = etree.XPath(xpath)(_PAGE)
    except etree.XPathError as error:
        raise ValueError(f"bad XPath {xpath!r}: {error}") from error
    if not isinstance(result, list):
        raise ValueError(f"{text!r} gives a {type(result).__name__}, not elements or attributes of the page")
    return Selector(text, xpath)


_PAGE = etree.fromstring("<html><head><title>x</title></head><body><p>x</p></body></html>")


@cache
def _translator() -> HTMLTranslator:
    return HTMLTranslator()


def _from_css(text: str) -> str:
    if text.lstrip().startswith(("//", "./", "(//")):
        raise ValueError(f"{text!r} looks like XPath — did you mean '{PREFIX}{text.strip()}'?")
    try:
        return str(_translator().css_to_xpath(text))
    except (SelectorError, ValueError) as error:  # parsel raises ExpressionError, a SelectorError
        raise ValueError(f"bad CSS selector {text!r}: {error}") from error
    except RecursionError as error:
        raise ValueError("bad CSS selector: too deeply nested") from error
