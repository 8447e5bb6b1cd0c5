"""The expressions of rule files: URL patterns and selectors. Expressions that can take too long are refused.

Patterns are regular expressions for RE2 (https://github.com/google/re2/wiki/Syntax), which matches in time
linear in the length of the URL. Therefore patterns have no look-around and no back-references. All patterns
of a rule are compiled into one automaton. A search takes 1 to 2 µs per URL, however many patterns the rule
has.

Selectors are CSS, or begin with ``xpath:``. They are converted to XPath. lxml cannot interrupt a slow XPath.
So a selector is refused if its time can grow faster than the square of the size of the page. In one path and
its predicates, at most one step may go to siblings, to all attributes or, in a predicate, to descendants or
ancestors. The two sides of a comparison count as one path, because each node of one side is compared with
each node of the other side. For selectors with such a step, ``newsbot.pages.extraction.selectors`` limits the
size of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Protocol, cast

import re2
from cssselect.parser import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

MAX_LENGTH: Final = 1000
"""Maximum length of a pattern or selector, in characters."""
_PATTERN_MEMORY: Final = 256 * 1024
"""Maximum number of bytes that RE2 may use for one pattern. Patterns that need more are refused."""
_SET_MEMORY: Final = 2 * 2**20
"""Number of bytes that RE2 may use for all patterns of a rule.

``_INSTRUCTION_MEMORY`` is added for each instruction of the patterns. When this memory is full, RE2 drops
cached states. A search fails only if a single step needs more memory.
"""
_INSTRUCTION_MEMORY: Final = 256
"""Number of bytes that RE2 may use for each instruction of the compiled patterns."""
# Examples are {,5}, {10000} and {1,10000}. After a backslash, the bracket is literal text and does not match.
_READ_AS_TEXT: Final = re.compile(r"(?<!\\)\{(?:,\d+|\d{5,},?\d*|\d+,\d{5,})\}")
"""Matches repeat counts that Python's ``re`` accepts and RE2 treats as literal text."""
_REMEDIES: Final = {
    "(?=": "look-ahead is not supported; write out what may follow",
    "(?!": "look-ahead is not supported; put what must not match into a deny pattern",
    "(?<=": "look-behind is not supported; write out what comes before",
    "(?<!": "look-behind is not supported; put what must not match into a deny pattern",
    "(?>": "atomic groups are not supported and not needed; write (?:…)",
    "(?(": "conditional groups are not supported; write one pattern for each case",
    "(?P": "back-references are not supported; write the parts out",
    "(?#": "comments are not supported; put them into a line that begins with #",
    "(?x": "the flag x is not supported; write the pattern without spaces and comments",
    "\\Z": "write $ for the end of the address",
    "\\u": "URLs are percent-encoded; write %D0%9D for Н and so on",
}
"""Advice on constructs that RE2 refuses. The key is the start of the construct as RE2's message quotes it."""


class Regex(Protocol):
    """A compiled expression."""

    pattern: str
    programsize: int
    """Number of RE2 instructions."""

    def search(self, text: str) -> object | None:
        """Return a match anywhere in ``text``, or None."""


def compile_pattern(text: str) -> Regex:
    """Return the compiled expression.

    Raises ``ValueError`` if it is not valid. The message states the fault and, if possible, what to write
    instead.
    """
    if not text:
        raise ValueError("an empty pattern matches every URL; write for example ^/news/\\d+")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    # RE2 would accept such a pattern, but the pattern would never match what its author wants.
    if (count := _READ_AS_TEXT.search(text)) is not None:
        raise ValueError(f"bad pattern {text!r}: {count[0]} is not a repeat count; write for example {{0,5}}")
    try:
        return cast("Regex", re2.compile(text, _options(_PATTERN_MEMORY)))
    except re2.error as error:
        raise ValueError(f"bad pattern {text!r}: {_explain(error)}") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"bad pattern {text!r}: it contains half of a surrogate pair") from error


def _explain(error: re2.error) -> str:
    """Return RE2's message about a pattern, and what to write instead."""
    said = error.args[0]
    message = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    kind, _, part = message.partition(": ")
    # The message is of the form "invalid escape sequence: \1".
    if kind == "invalid escape sequence" and part[1:].isdecimal():
        return f"{message}; back-references are not supported; write the parts out"
    if kind == "bad repetition operator" and part.endswith("+"):
        return f"{message}; possessive repeats are not supported and not needed; write {part[:-1]}"
    if kind == "invalid repetition size":
        return f"{message} repeats too much; write + or *"
    if kind.startswith("pattern too large"):
        return "it is too large with its repeat counts written out; make it shorter"
    remedies = [remedy for beginning, remedy in _REMEDIES.items() if part.startswith(beginning)]
    return "; ".join([message, *remedies])


class PatternSet:
    """Expressions that are searched together. Each must be valid for :func:`compile_pattern`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self._set: re2.Set | None = None

    def first(self, text: str) -> int | None:
        """Return the index of the first expression that matches anywhere in ``text``, or None."""
        if self._set is None:
            if not self._texts:
                return None
            self._set = self._compiled()
        # URLs are ASCII. A stray half of a surrogate pair must not stop a crawl.
        found = self._set.Match(text.encode("utf-8", "surrogatepass"))
        # Set.Match returns the indexes of all expressions that match.
        return min(found) if found else None

    def _compiled(self) -> re2.Set:
        """Build the automaton of all expressions.

        This happens at the first search, because most of the loaded rules are never searched.
        """
        size = sum(compile_pattern(text).programsize for text in self._texts)
        patterns = re2.Set.SearchSet(_options(_SET_MEMORY + _INSTRUCTION_MEMORY * size))
        for text in self._texts:
            patterns.Add(text)
        patterns.Compile()
        return patterns


@lru_cache(1024)
def pattern_set(texts: tuple[str, ...]) -> PatternSet:
    """Return the set of these expressions. Rules with equal expressions share it."""
    return PatternSet(texts)


def _options(memory: int) -> re2.Options:
    options = re2.Options()
    options.max_mem = memory
    options.never_capture = True  # faster; captured groups are not needed
    options.log_errors = False  # RE2 would write them to stderr
    return options


PREFIX = "xpath:"
_REMEMBERED = 65_536
"""Maximum number of cached selectors.

Imported rules repeat the same selectors, and a change in one rule file reloads all files.
"""
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
_PLAIN = re.compile(r"//(?:\w+|\*)(?:\[[^][/:]*\])*")
"""Matches the most common form of XPath, such as ``//div[@class='x']``. It selects elements in linear
time."""
_WHOLE_PAGE = re.compile(r"(?:preceding|following)\s*::")
_FROM_THE_TOP = re.compile(r"(?:[\[(,|=<>+-]|[\w)\].*']\s*\*|[\w)\].*']\s+(?:and|or|div|mod))\s*/")
"""Matches an absolute path after an operator, a comma, or an opening bracket."""
_UP = r"(?:\.\.|parent\s*::\s*[\w*()]+)"
# The parts of an XPath that change the cost: brackets, sibling axes, operators that begin another path, all
# attributes, and steps down or up. Neighbouring steps up ("../..") count as one, because each node has one
# parent.
_PART = re.compile(
    r"(?P<open>\[)|(?P<close>\])|(?P<sibling>-sibling\s*::)"
    r"|(?P<next>[,|+]|(?<=[\s)\]'])(?:and|or)(?=[\s(./@']))"
    r"|(?P<attributes>(?:@|attribute\s*::)\s*(?:\*|node\s*\())"
    r"|//|(?:descendant|ancestor)(?:-or-self)?\s*::|" + rf"{_UP}(?:\s*/\s*{_UP})*"
)


@dataclass(frozen=True, slots=True)
class Selector:
    """One of the selectors for a field: a CSS selector or an XPath.

    An XPath that ends in ``@attribute`` or ``text()``, or a CSS selector with ``::attr(x)`` or ``::text``,
    selects strings. Other selectors select elements.
    """

    text: str
    """The selector as it is written in the file."""
    xpath: str
    """The equivalent XPath, which is executed."""


@lru_cache(_REMEMBERED)
def read_selector(text: str) -> Selector:
    """Return the selector for a text. CSS may end in ``::text`` or ``::attr(name)``, as in Scrapy.

    Raises ``ValueError`` if the selector is not valid, is too slow, or does not select parts of a page.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the selector has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    if not text.strip() or text.strip() == PREFIX:
        raise ValueError("the selector is empty; write for example 'h1.title' or 'xpath://h1'")
    xpath = text.removeprefix(PREFIX).strip() if text.startswith(PREFIX) else _from_css(text)
    # The two checks below are cached. When the texts in quotes are removed, many selectors are equal and
    # share a result.
    form = _LITERAL.sub("''", xpath)
    try:
        found = _result_of(form if xpath.isprintable() else xpath)
    except etree.XPathError as error:
        raise ValueError(f"bad XPath {xpath!r}: {error}") from error
    _check_cost(form)
    if found is not list:
        raise ValueError(f"{text!r} gives a {found.__name__}; a selector must select parts of the page")
    return Selector(text, xpath)


@lru_cache(_REMEMBERED)
def _result_of(xpath: str) -> type:
    """Return the type of the result of an XPath. Raises ``etree.XPathError`` if it is not valid.

    Texts in quotes have no influence on the type. The caller removes them, so that selectors that differ only
    in these texts share one cached result.
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
            "preceding::, following:: and absolute paths in a predicate look at the whole page for each "
            "element, which takes too long; use preceding-sibling::, following-sibling:: or .//"
        )
    outer: list[int] = []
    """The number of expensive steps in the path before each open predicate."""
    # The XPath is read once from left to right. In a predicate, the count starts at the number of steps of
    # the path before it, because the predicate runs for each node of this path.
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
                "the selector is too slow, because it has several nested steps to siblings, attributes, "
                "descendants or ancestors; keep one such step (~, +, :nth-child, :has, .., @*), "
                "and name the other elements by their class"
            )


_PAGE = etree.fromstring("<html><head><title>x</title></head><body><p>x</p></body></html>")


@cache
def _translator() -> HTMLTranslator:
    return HTMLTranslator()


def _from_css(text: str) -> str:
    if text.lstrip().startswith(("//", "./", "(//")):
        raise ValueError(f"{text!r} looks like XPath (did you mean '{PREFIX}{text.strip()}'?)")
    try:
        return str(_translator().css_to_xpath(text))
    except (SelectorError, ValueError) as error:  # parsel raises ExpressionError, a SelectorError
        raise ValueError(f"bad CSS selector {text!r}: {error}") from error
    except RecursionError as error:
        raise ValueError("bad CSS selector: too deeply nested") from error
