"""Reads the selectors of rule files and converts them to XPath. They are CSS, or begin with ``xpath:``.

lxml cannot interrupt a slow XPath. So a selector is refused if its time can grow faster than the square of
the size of the page. In one path and its predicates, at most one step may go to siblings, to all attributes
or, in a predicate, to descendants or ancestors. The two sides of a comparison count as one path, because each
node of one side is compared with each node of the other. For selectors with such a step,
``newsbot.extraction.selectors`` limits the size of the page.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from cssselect.parser import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from newsbot.rules.rule import Selector

PREFIX = "xpath:"
MAX_LENGTH = 1000
"""Maximum length of a selector, in characters."""
_REMEMBERED = 65_536
"""Maximum number of cached selectors.

Imported rules repeat the same selectors, and a change in one rule file reloads all files.
"""
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
_PLAIN = re.compile(r"//(?:\w+|\*)(?:\[[^][/:]*\])*")
"""The most common form of XPath, such as ``//div[@class='x']``. It selects elements, in linear time."""
_WHOLE_PAGE = re.compile(r"(?:preceding|following)\s*::")
_FROM_THE_TOP = re.compile(r"(?:[\[(,|=<>+-]|[\w)\].*']\s*\*|[\w)\].*']\s+(?:and|or|div|mod))\s*/")
"""An absolute path after an operator, a comma, or the beginning of a bracket."""
_UP = r"(?:\.\.|parent\s*::\s*[\w*()]+)"
_PART = re.compile(
    r"(?P<open>\[)|(?P<close>\])|(?P<sibling>-sibling\s*::)"
    r"|(?P<next>[,|+]|(?<=[\s)\]'])(?:and|or)(?=[\s(./@']))"
    r"|(?P<attributes>(?:@|attribute\s*::)\s*(?:\*|node\s*\())"
    r"|//|(?:descendant|ancestor)(?:-or-self)?\s*::|" + rf"{_UP}(?:\s*/\s*{_UP})*"
)


@lru_cache(_REMEMBERED)
def read_selector(text: str) -> Selector:
    """Return the selector for a text. CSS may end in ``::text`` or ``::attr(name)``, as in Scrapy.

    Raises ``ValueError`` if it is not valid, is too slow, or selects no part of a page.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the selector has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    if not text.strip() or text.strip() == PREFIX:
        raise ValueError("the selector is empty; write for example 'h1.title' or 'xpath://h1'")
    xpath = text.removeprefix(PREFIX).strip() if text.startswith(PREFIX) else _from_css(text)
    # If the texts in quotes are removed, many selectors become equal, so the two checks below are mostly
    # cached.
    form = _LITERAL.sub("''", xpath)
    try:
        found = _result_of(form if xpath.isprintable() else xpath)
    except etree.XPathError as error:
        raise ValueError(f"bad XPath {xpath!r}: {error}") from error
    _check_cost(form)
    if found is not list:
        raise ValueError(f"{text!r} gives a {found.__name__}, not elements or attributes of the page")
    return Selector(text, xpath)


@lru_cache(_REMEMBERED)
def _result_of(xpath: str) -> type:
    """Return the type of the result of an XPath. Raises ``etree.XPathError`` if it is not valid.

    Texts in quotes have no influence on the type. The caller removes them, so that selectors that differ only
    in these texts share the result.
    """
    # The XPath is run on a small page to see the type, for example float for count(//p).
    compiled = etree.XPath(xpath)
    return list if _PLAIN.fullmatch(xpath) else type(compiled(_PAGE))


@lru_cache(_REMEMBERED)
def _check_cost(plain: str) -> None:
    """Raise ``ValueError`` if the time of an XPath may grow faster than the square of the size of the page.

    ``plain`` is the XPath without texts in quotes.
    """
    tops = (plain[: found.end()] for found in _FROM_THE_TOP.finditer(plain))
    if _WHOLE_PAGE.search(plain) or any(before.count("[") > before.count("]") for before in tops):
        raise ValueError(
            "preceding::, following:: and paths from the top in a predicate look at the whole page for each "
            "element, which takes too long; use preceding-sibling::, following-sibling:: or .//"
        )
    outer: list[int] = []
    """The number of expensive steps in the path before each open predicate."""
    # The XPath is read once from left to right. The count of a predicate begins with the steps of the path
    # before it, because the predicate runs for each node of this path.
    steps = 0
    for part in _PART.finditer(plain):
        if part["open"]:
            outer.append(steps)
        elif part["close"]:
            steps = outer.pop()
        elif part["next"]:
            steps = outer[-1] if outer else 0
        elif part["sibling"] or part["attributes"] or outer:
            steps += 1
        if steps > 1:
            raise ValueError(
                "the selector looks at siblings, attributes, descendants or ancestors for each one that it "
                "looked at, which takes too long; keep one such step (~, +, :nth-child, :has, .., @*), "
                "and name the other elements by their class"
            )


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
