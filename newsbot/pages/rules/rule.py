"""The rule of one site, its patterns and selectors, the set of all rules, and what a rule says about a URL.

:mod:`newsbot.pages.rules.load` creates rules from files. :class:`RuleSet` finds the rule that applies to a
URL, and :func:`classify` matches a URL against a rule. :func:`classify` runs for every link, several hundred
times per page. So all patterns of a rule are searched in one pass. If several patterns match, the first
pattern decides.

Patterns are regular expressions for RE2 (https://github.com/google/re2/wiki/Syntax), which matches in time
linear in the length of the URL. Therefore patterns have no look-around and no back-references. All patterns
of a rule are compiled into one automaton. A search takes 1 to 2 µs per URL, however many patterns the rule
has.

Selectors are CSS, or begin with ``xpath:``. They are converted to XPath. lxml cannot interrupt a slow XPath.
So a selector is refused if its time can grow faster than the square of the size of the page. In one path and
its predicates, at most one step may go to siblings, to all attributes or, in a predicate, to descendants or
ancestors. The two sides of a comparison count as one path, because each node of one side is compared with
each node of the other side. For selectors with such a step, ``newsbot.pages.extraction.body.selectors``
limits the size of the page.

Secret values (names and passwords, cookies and headers) never stand in outputs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Protocol, cast

import re2
from cssselect.parser import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from newsbot.items import KINDS, Kind
from newsbot.urls import canonicalize, host_key, site_of

# --- expressions
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


MAX_SECRET = 64 * 1024
"""Maximum length of a secret, in bytes."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_FILE = "file:"


class Secret(str):
    """A secret as it is shown: the variable or file that contains it, or ``***``.

    So a rule can be printed, exported and logged. :meth:`read` returns the secret itself.
    """

    __slots__ = ("_written",)
    _written: str

    def __new__(cls, written: str) -> Secret:
        """``written`` is ``$NAME`` (environment variable), ``file:PATH``, or the secret itself."""
        is_reference = _VARIABLE.fullmatch(written) is not None or written.startswith(_FILE)
        secret = super().__new__(cls, written if is_reference else "***")
        secret._written = written
        return secret

    def read(self) -> str:
        """Return the secret. Raises ``ValueError`` if the variable or the file is missing."""
        text = self._written
        if variable := _VARIABLE.fullmatch(text):
            text = os.environ.get(variable[1], "")
            if not text:
                raise ValueError(f"the environment variable {variable[1]} is not set")
        elif text.startswith(_FILE):
            text = _content(Path(text.removeprefix(_FILE)).expanduser())
        return text.strip()

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        """Copy the secret, and not only what is shown."""
        return Secret, (self._written,)


def _content(path: Path) -> str:
    if not path.is_absolute():
        raise ValueError(f"{path} is not an absolute path; write for example file:/etc/newsbot/cookies.txt")
    try:
        with path.open("rb") as file:
            return file.read(MAX_SECRET).decode("utf-8", "replace")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from error


# Kinds of sources whose links may be followed.
Follow = Literal["feeds", "sitemaps", "sections", "links"]
FOLLOW: tuple[Follow, ...] = ("feeds", "sitemaps", "sections", "links")

TLS = Literal["verify", "ignore"]
Recrawl = Literal["index", "ladder", "optimum", "fixed", "off"]
RECRAWL: Mapping[Kind, tuple[Recrawl, ...]] = MappingProxyType(
    {
        Kind.FEED: ("index", "fixed"),
        Kind.SITEMAP: ("index", "fixed"),
        Kind.SECTION: ("index", "fixed"),
        Kind.ARTICLE: ("ladder", "optimum", "fixed", "off"),
        Kind.OTHER: ("fixed", "optimum", "off"),
    }
)
"""Kind of a page -> allowed policies for fetching such pages again. The first policy is the default."""

RECHECK = (3 * 3600.0, 9 * 3600.0, 24 * 3600.0, 50 * 3600.0, 96 * 3600.0, 7 * 86400.0)
"""Default ages in seconds at which articles are fetched again."""

FIELDS = (
    "title", "text", "summary", "authors", "published_at", "modified_at", "language", "section", "tags",
    "image", "canonical_url", "next_page",
)  # fmt: skip
"""Fields of an article that may have selectors in ``extract``."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that is searched anywhere in the path and query of a URL."""

    text: str
    file: str
    """Name of the rule file that contains the pattern."""
    line: int
    """Line in this file, from 1."""

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Layout:
    """The selectors for pages of a site from the day ``valid_from`` on.

    ``valid_from`` is compared with the publication date of the page, or with the current day if the date is
    unknown. It is None for the layout that applies to all earlier pages.
    """

    valid_from: date | None = None
    extract: Mapping[str, tuple[Selector, ...]] = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one site. It applies to ``domain`` and to its subdomains without rules of their own.

    docs/rules.md describes the keys.
    """

    domain: str
    file: str = "(built in)"
    seeds: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    article: tuple[Pattern, ...] = ()
    section: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    drop_query: tuple[str, ...] = ()
    max_depth: int = 5
    interval: Mapping[Kind, float] = field(default_factory=lambda: MappingProxyType({}))
    """Kind of a page -> seconds between two fetches. Loaded rules have a value for every kind."""
    recrawl: Mapping[Kind, Recrawl] = field(default_factory=lambda: MappingProxyType({}))
    """Kind of a page -> the policy that schedules its next visit."""
    recheck: tuple[float, ...] = RECHECK
    """Seconds after the discovery of an article at which the policy ``ladder`` fetches it again."""
    delay: float = 1.0
    """Seconds between two requests to a host."""
    concurrency: int = 1
    """Maximum number of simultaneous requests to a host."""
    tls: TLS = "verify"
    """How an invalid certificate is handled."""
    headers: Mapping[str, Secret] = field(default_factory=lambda: MappingProxyType({}))
    """More headers of requests to the site."""
    cookies: Mapping[str, Secret] | Secret = field(default_factory=lambda: MappingProxyType({}))
    """Cookies by name; or a text in the form of the header ``Cookie`` or of a cookies.txt."""
    user_agent: str = ""
    accept_language: str = ""
    """The header ``Accept-Language``. If it is empty, ``language`` comes first."""
    proxy: Secret | None = None
    auth: Secret | None = None
    """``NAME:PASSWORD`` of HTTP authentication."""
    render: bool | None = None
    """Whether a browser loads the pages and runs their scripts. None: the setting NEWSBOT_RENDER decides."""
    language: str | None = None
    timezone: str | None = None
    layouts: tuple[Layout, ...] = ()
    """The layouts, newest ``valid_from`` first.

    The last layout has the keys ``extract`` and ``remove`` from the top level of the file.
    """
    learn: bool | None = None
    """Whether the forms of article URLs are learned. None: only if the rule has no article patterns."""
    follow: tuple[Follow, ...] | None = None
    """Sources whose links are followed. None: all sources that the site offers."""
    tags: tuple[str, ...] = ()
    """Names of the collections that contain the site. Each is one short lower-case word."""
    notes: str = ""
    patterns: PatternSet = field(init=False, repr=False, compare=False)
    """All patterns of the rule, compiled together, in the order deny, article, section."""

    def __post_init__(self) -> None:
        texts = tuple(pattern.text for pattern in (*self.deny, *self.article, *self.section))
        # object.__setattr__ can set a field of a frozen dataclass.
        object.__setattr__(self, "patterns", pattern_set(texts))

    @property
    def has_sources(self) -> bool:
        """True if the file lists feeds, sitemaps or sections. If it is True, no sources are discovered."""
        return bool(self.feeds or self.sitemaps or self.sections)


_HOSTS = 65_536
"""Maximum number of hosts whose rule is cached. A limit is needed because links lead to many hosts without a
rule."""


class RuleSet:
    """The rules by domain, in the order of their file names.

    ``dropped`` has query keys by domain. They are removed from URLs in addition to the keys in the rules.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        defaults: Rule | None = None,
        dropped: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self._dropped = {domain: tuple(sorted(keys)) for domain, keys in (dropped or {}).items()}
        self._originals = tuple(rules)
        self._rules: Mapping[str, Rule] = {rule.domain: self._with_dropped(rule) for rule in self._originals}
        self.defaults = defaults or Rule(domain="")
        """The rule for sites that have no rule file. Its ``domain`` is empty."""
        self._for_host = lru_cache(_HOSTS)(self._find)

    def dropping(self, keys: Mapping[str, Iterable[str]]) -> RuleSet:
        """Return a copy of the rules in which the query keys in ``keys`` are removed from URLs too.

        ``keys`` maps domains to query keys. It may contain domains without a rule.
        """
        return RuleSet(self._originals, self.defaults, keys)

    def _with_dropped(self, rule: Rule) -> Rule:
        keys = tuple(key for key in self._dropped.get(rule.domain, ()) if key not in rule.drop_query)
        return replace(rule, drop_query=rule.drop_query + keys) if keys else rule

    def for_url(self, url: str) -> Rule:
        """Return the rule of the longest domain that covers the URL's host.

        If there is none, return the defaults with ``domain`` set to the site's registered domain. Raises
        ``ValueError`` if ``url`` is not an absolute http(s) URL.
        """
        return self._for_host(host_key(url))

    def get(self, domain: str) -> Rule | None:
        """Return the rule of exactly this domain, or None. The domain may be in Unicode or in upper case."""
        try:
            return self._rules.get(domain) or self._rules.get(ascii_domain(domain))
        except ValueError:
            return None

    def tagged(self, tag: str) -> list[str]:
        """Return the domains of the sites that have this tag."""
        return [rule.domain for rule in self if tag in rule.tags]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, domain: object) -> bool:
        return isinstance(domain, str) and self.get(domain) is not None

    def _find(self, host: str) -> Rule:
        # The port is removed. IPv6 addresses are in brackets and contain colons themselves.
        name = host if host.startswith("[") else host.partition(":")[0]
        labels = name.split(".")
        for start in range(len(labels)):  # a.b.example.org, b.example.org, example.org, org
            rule = self._rules.get(".".join(labels[start:]))
            if rule is not None:
                return rule
        return self._with_dropped(replace(self.defaults, domain=site_of(host)))


def ascii_domain(domain: str) -> str:
    """Return a domain in lower-case ASCII form (``правда.рф`` → ``xn--80aafi6cg.xn--p1ai``).

    Raises ``ValueError`` if it is not a plain host name.
    """
    if not domain or not _NO_HOST.isdisjoint(domain):
        raise ValueError(f"{domain!r} is not a domain; write for example example.org")
    try:
        return host_key(f"https://{domain}/")
    except ValueError as error:
        raise ValueError(f"{domain!r} is not a domain; write for example example.org") from error


_NO_HOST = frozenset("/:?#@%*[]\\ \t\r\n")


MAX_SEARCHED = 2048
"""Maximum number of characters of path and query that are searched. The rest of a longer URL is ignored."""


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule says about a URL."""

    kind: Kind | None
    """The kind of page, or None if the rule does not state it."""
    denied: bool = False
    """True if the URL must not be fetched."""
    pattern: Pattern | None = None
    """The pattern that decided. None if no pattern matched, or if the rule lists the URL itself."""


_NOTHING = Match(None)
_LISTED = {kind: Match(kind) for kind in KINDS}


def classify(rule: Rule, url: str) -> Match:
    """Match a canonical URL against the rule.

    The first match decides. The order is: deny patterns, URLs that the rule lists (seeds count as sections),
    article patterns, section patterns.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    # ``first`` is an index in deny + article + section, so it identifies both the list and the pattern.
    first = rule.patterns.first(text)
    if first is not None and first < len(rule.deny):
        return Match(None, denied=True, pattern=rule.deny[first])
    listed = _listed_urls(rule.feeds, rule.sitemaps, rule.sections, rule.seeds, rule.drop_query)
    if listed and (kind := listed.get(_bare(url))) is not None:
        return _LISTED[kind]
    if first is None:
        return _NOTHING
    place = first - len(rule.deny)
    if place < len(rule.article):
        return Match(Kind.ARTICLE, pattern=rule.article[place])
    return Match(Kind.SECTION, pattern=rule.section[place - len(rule.article)])


# Returns the kind of each URL that the rule lists. The arguments are parts of the rule. The rule itself
# cannot be the key of the cache, because it contains mappings, which are not hashable.
@lru_cache(maxsize=4096)
def _listed_urls(
    feeds: tuple[str, ...],
    sitemaps: tuple[str, ...],
    sections: tuple[str, ...],
    seeds: tuple[str, ...],
    drop_query: tuple[str, ...],
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for urls, kind in (
        (seeds, Kind.SECTION),
        (sections, Kind.SECTION),
        (sitemaps, Kind.SITEMAP),
        (feeds, Kind.FEED),  # a later entry replaces an earlier one, so a feed that is also a seed is a feed
    ):
        for url in urls:
            kinds[_bare(canonicalize(url, drop_query))] = kind
    return kinds


def _bare(url: str) -> str:
    """Return a URL without scheme and ``www.``, because sites link to a page in all these forms."""
    return url.partition("://")[2].removeprefix("www.")
