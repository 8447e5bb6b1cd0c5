"""Reads how a site allows its pages to be used: robots directives and reservations against use by AI.

Robots directives control newsbot itself. Signals are the owner's statements about AI and about text and data
mining. They do not control newsbot. They are recorded with each article, so that an export can leave out
reserved articles (:func:`opted_out`).

A page makes statements in ``X-Robots-Tag``, ``<meta name=robots>``, TDM headers and TDM elements. No RFC
defines the directives. The reference is
https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag. If directives contradict each
other, the directive that forbids is obeyed. Text and data mining (TDM) follows
https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/: the page takes precedence over the
server's header, and the header takes precedence over the site's file.

A site makes statements in robots.txt and ``/.well-known/tdmrep.json``. In robots.txt, the statements are
groups for AI crawlers, usage lines, and comments. Usage lines begin with Content-Signal
(https://contentsignals.org) or Content-Usage (draft-ietf-aipref-attach). A comment counts as a reservation
only if the file has no usage lines. Files with usage lines often contain a standard text that explains these
lines. This text mentions reservations even if the site makes none.

tdmrep.json lists the parts of a site that are reserved against text and data mining. The format is
https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/: a list of objects with ``location`` (a
path with ``*`` and ``$`` as in robots.txt), ``tdm-reservation`` (0 or 1) and ``tdm-policy`` (a URL). If
several locations match, the longest decides, as in robots.txt. Among locations of equal length, a location
that is reserved decides.

A licence (RSL, https://rslstandard.org/rsl) states for which uses the pages may be taken, and for which
payment. robots.txt (``License:``), the header ``Link``, and ``<link rel=license>`` name its file. A page may
also contain it. newsbot never pays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement

# --- pages

NOINDEX = "noindex"
NOARCHIVE = "noarchive"
TDM_RESERVATION = "tdm-reservation"
TDM_POLICY = "tdm-policy"
"""The value of this signal is the URL of the owner's policy, which says how to obtain a licence."""
TDM_UNKNOWN = "tdm-unknown"
"""This signal means that the site's tdmrep.json could not be read, so it may reserve the page."""
AI_AGENTS = "ai-agents"
"""This signal means that robots.txt disallows the page for crawlers that collect data for AI."""
AI_COMMENT = "ai-comment"
"""This signal means that a comment in robots.txt mentions AI training or text and data mining."""
AI_TRAIN = "ai-train"
AI_INPUT = "ai-input"
LICENSE = "license"
"""The value of this signal is the address of a licence (RSL, https://rslstandard.org) for the use by AI."""
LICENSE_TERMS = "license-terms"
"""The value of this signal is a summary of the licence: payments, and permitted and prohibited uses."""
PAYMENT = "payment-required"
"""The value of this signal is the price, or ``402``: the server wants a payment for the page (status 402)."""
FREE = "free"
"""The summary of a licence that permits the use by AI without a payment."""
DIRECTIVES = ("noai", "noimageai", "noml")

OPT_OUTS = frozenset(
    (*DIRECTIVES, TDM_RESERVATION, AI_AGENTS, AI_COMMENT, AI_TRAIN, AI_INPUT, LICENSE, PAYMENT)
)
"""Signals by which an owner reserves a page against use by AI.

A licence that permits this use without a payment is no reservation.
"""


def opted_out(rights: Mapping[str, str]) -> bool:
    """Return True if any signal reserves the page against use by AI."""
    freed = {LICENSE} if rights.get(LICENSE_TERMS) == FREE else set()
    return not (OPT_OUTS - freed).isdisjoint(rights)


def usage_signals(value: str) -> tuple[str, ...]:
    """Return the uses that a Content-Signal or Content-Usage value refuses: ``ai-train``, ``ai-input``.

    ``ai-train=no`` (https://contentsignals.org) and ``train-ai=n`` (draft-ietf-aipref-attach) mean the same.
    """
    refused = []
    for part in value.replace(";", ",").split(","):
        words = part.split()  # in robots.txt, Content-Usage may have a path before the statement
        name, _, answer = (words[-1] if words else "").lower().partition("=")
        name = {"train-ai": AI_TRAIN, "train-genai": AI_TRAIN}.get(name, name)
        if name in (AI_TRAIN, AI_INPUT) and answer in ("no", "n", "?0"):
            refused.append(name)
    return tuple(dict.fromkeys(refused))


AGENT = "newsbot"
"""The name of newsbot in directives that are meant for it alone."""
MAX_METAS = 500
"""Maximum number of ``<meta>`` elements that are read."""
MAX_VALUE = 2000
"""Maximum number of characters of a value that are used."""
_MAX_PRICE = 60
_WITH_VALUE = frozenset(("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"))
"""Directives that have a value after a colon. Any other name before a colon is the name of a crawler."""
HEADER, META = "header", "meta"


@dataclass(frozen=True, slots=True)
class PageRights:
    """The permissions of one page, and the signals to record."""

    index: bool = True
    """True if the text of the page may be stored."""
    follow: bool = True
    """True if the links of the page may be followed."""
    archive: bool = True
    """True if a copy of the page may be kept."""
    signals: Mapping[str, str] = field(default_factory=dict)
    """Name of a signal -> the place that states it. The names are defined at the top of this module."""


_LICENSE_LINK = re.compile(
    r"<([^<>\s]{1,2000})>(?=[^<>]{0,300}\brel\s?=\s?\"?license\b)(?=[^<>]{0,300}application/rsl\+xml)",
    re.IGNORECASE,
)
"""Matches a link to an RSL licence in the header ``Link`` (RFC 8288)."""


def page_rights(
    headers: Mapping[str, Sequence[str]],
    tree: HtmlElement | None = None,
    site: Mapping[str, str] | None = None,
    url: str = "",
) -> PageRights:
    """Return the permissions of a page.

    ``headers`` has the values of the response's headers by lower-case name. ``tree`` is the document if it is
    HTML. ``site`` has the signals of the site's files (robots.txt, tdmrep.json, licence) for ``url``.
    """
    metas = _metas(tree) if tree is not None else {}
    directives: dict[str, str] = {}
    # The header is read first. If both the page and the header state a directive, the header is recorded.
    for word in _own_directives(headers.get("x-robots-tag", ())):
        directives.setdefault(word, HEADER)
    for name in ("robots", AGENT):
        for value in metas.get(name, ()):
            for word in _words(value):
                directives.setdefault(word, META)
    signals = dict(site or {})
    signals |= {name: directives[name] for name in (*DIRECTIVES, NOARCHIVE) if name in directives}
    # "nocache" is Bing's name for "noarchive".
    if "nocache" in directives:
        signals.setdefault(NOARCHIVE, directives["nocache"])
    index = "noindex" not in directives and "none" not in directives
    if not index:
        signals[NOINDEX] = directives.get("noindex") or directives["none"]
    for value in headers.get("content-usage", ()):
        signals |= dict.fromkeys(usage_signals(value[:MAX_VALUE]), HEADER)
    _licence(signals, headers, tree, url)
    # The site's files come first, then the headers, then the page. Each place may replace the statements of
    # the places before it.
    _reservation(signals, headers, HEADER)
    _reservation(signals, metas, META)
    return PageRights(
        index=index,
        follow="nofollow" not in directives and "none" not in directives,
        archive=NOARCHIVE not in signals,
        signals=signals,
    )


_RSL_TYPE = re.compile(r"\s*application/rsl\+xml\s*(?:;.*)?", re.IGNORECASE)


def _absolute(url: str, address: str) -> str:
    try:
        return urljoin(url, address.strip())[:MAX_VALUE]
    except ValueError:
        return address.strip()[:MAX_VALUE]


def _replace_licence(signals: dict[str, str], address: str) -> None:
    """Set the licence of a page. The terms of the site's licence stay only if it is the same licence."""
    if signals.get(LICENSE) != address:
        for name in [name for name, place in signals.items() if name == LICENSE_TERMS or place == LICENSE]:
            del signals[name]
        signals[LICENSE] = address


def _licence(
    signals: dict[str, str], headers: Mapping[str, Sequence[str]], tree: HtmlElement | None, url: str
) -> None:
    """Write the licence that a page or its headers state into ``signals``."""
    if stated := next(filter(None, map(_LICENSE_LINK.search, headers.get("link", ()))), None):
        _replace_licence(signals, _absolute(url, stated[1]))
    elements = () if tree is None else islice(tree.iter("link", "script"), MAX_METAS)
    for element in elements:
        if _RSL_TYPE.fullmatch(element.get("type") or ""):
            _page_licence(signals, element, url)


def _page_licence(signals: dict[str, str], element: HtmlElement, url: str) -> None:
    """Write the licence that a ``<link>`` names or a ``<script>`` contains into ``signals``."""
    if element.tag == "script":
        if found := read_rsl((element.text or "").encode()).signals(url):
            _replace_licence(signals, url)
            signals |= found
    elif "license" in (element.get("rel") or "").lower().split() and (element.get("href") or "").strip():
        _replace_licence(signals, _absolute(url, element.get("href") or ""))


def price_of(headers: Mapping[str, Sequence[str]]) -> str:
    """Return the price that the headers of a response with status 402 state; ``402`` if they state none.

    ``crawler-price`` is the header of https://developers.cloudflare.com/ai-crawl-control/.
    """
    return next(iter(headers.get("crawler-price", ())), "").strip()[:_MAX_PRICE] or "402"


def _metas(tree: HtmlElement) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in islice(tree.iter("meta"), MAX_METAS):
        name = (element.get("name") or "").strip().lower()
        if name in ("robots", AGENT, TDM_RESERVATION, TDM_POLICY):
            found.setdefault(name, []).append((element.get("content") or "")[:MAX_VALUE])
    return found


def _words(value: str) -> list[str]:
    return [word.strip().lower() for word in value.replace(";", ",").split(",")]


def _own_directives(values: Iterable[str]) -> Iterable[str]:
    """Yield the directives of ``X-Robots-Tag`` that apply to all crawlers or to newsbot.

    In ``otherbot: noindex, nofollow``, both directives are for otherbot. A name applies to all directives
    that follow it in the same header.
    """
    for value in values:
        ours = True
        for word in _words(value[:MAX_VALUE]):
            name, colon, rest = word.partition(":")
            directive = word
            # In "max-snippet: 20", the name before the colon is a directive. It is not the name of a crawler.
            if colon and name.strip() not in _WITH_VALUE:
                ours = name.partition("/")[0].strip() in ("*", AGENT)
                directive = rest.strip()
            if ours and directive:
                yield directive


def _reservation(signals: dict[str, str], statements: Mapping[str, Sequence[str]], place: str) -> None:
    """Write the TDM statements of one place into ``signals``.

    They replace the earlier statements in ``signals``, which come from less specific places. The keys of
    ``statements`` are lower-case names of headers or ``<meta>`` elements.
    """
    values = [value.strip() for value in statements.get(TDM_RESERVATION, ())]
    if "1" in values or "0" in values:
        signals.pop(TDM_UNKNOWN, None)
    # If one place states both 1 and 0, the page is reserved.
    if "1" in values:
        signals[TDM_RESERVATION] = place
    elif "0" in values:
        signals.pop(TDM_RESERVATION, None)
        signals.pop(TDM_POLICY, None)
    policy = next(iter(statements.get(TDM_POLICY, ())), "").strip()
    if policy and TDM_RESERVATION in signals:
        signals[TDM_POLICY] = policy[:MAX_VALUE]


# --- files of a site

PLACE = "robots.txt"
_NAMES = """
    ai2bot ai2bot-dolma amazonbot anthropic-ai applebot-extended bytespider ccbot chatgpt-user
    claude-searchbot claude-user claude-web claudebot cohere-ai cohere-training-data-crawler diffbot
    duckassistbot facebookbot friendlycrawler google-cloudvertexbot google-extended gptbot icc-crawler
    imagesiftbot img2dataset meta-externalagent meta-externalfetcher mistralai-user oai-searchbot omgili
    omgilibot pangubot perplexitybot perplexity-user timpibot tiktokspider velenpublicwebcrawler
    webzio-extended youbot
"""
AGENTS = frozenset(_NAMES.split())
"""Names of crawlers that collect data for AI, in lower case."""
OURS = ("*", "newsbot")
"""Names of the groups that newsbot obeys."""
_AGENT_LINE = re.compile(
    r"((?:^|(?<=\r))[ \t]*user[- ]?agent[ \t]*:?[ \t]*)([^\s/(;#:]+)([^\r\n#]*)", re.MULTILINE | re.IGNORECASE
)
_OUR_NAME = re.compile(r"(newsbot|\*)(?![\w-])", re.IGNORECASE)
_MORE = re.compile(r"[ \t]*[/(;]|[ \t]+\w")
"""Matches what follows the name of a product in a user-agent line."""
_LICENSE_LINE = re.compile(r"\s*license\s*:\s*((?:https?:/)?/[^\s#]+)", re.IGNORECASE)
MAX_LINES = 20_000
"""Maximum number of lines that are read."""
_MAX_COMMENTS = 64 * 1024
"""Maximum number of characters of the comments that are searched."""
_MAX_PARTLY = 20
"""Maximum number of AI crawlers whose rules are checked for each URL."""

_AI = r"(?:ai|artificial intelligence|machine[- ]learning|llms?|language models?|generative)"
# Words in comments that mean that the site is reserved against use by AI.
_RESERVED = re.compile(
    r"text[- ]and[- ]data[- ]mining|text[- ]?(?:und|&)[- ]?data[- ]?mining|2019/790|§ ?44b"
    rf"|\b{_AI}\b\W+(?:\w+\W+){{0,4}}(?:train\w*|develop\w*|model\w*)"
    rf"|\b(?:train\w*|develop\w*)\W+(?:\w+\W+){{0,6}}{_AI}\b"
    r"|обучени\w{1,3}\W+(?:\w+\W+){0,5}(?:нейро\w+|искусственн\w+|ии\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RobotsSignals:
    """The statements about AI in one robots.txt."""

    everywhere: dict[str, str] = field(default_factory=dict)
    """Signals for the whole site."""
    partly: tuple[str, ...] = ()
    """AI crawlers that are excluded from a part of the site.

    Only the first crawler of each group is listed, because all crawlers of a group have the same rules.
    """

    def signals(self, url: str, can_fetch: Callable[[str, str], bool]) -> dict[str, str]:
        """Return the signals for a URL.

        ``can_fetch(url, agent)`` returns True if robots.txt allows ``agent`` to fetch ``url``.
        """
        # can_fetch() is slow, and not needed if the whole site is forbidden to one of the crawlers.
        if AI_AGENTS in self.everywhere:
            return dict(self.everywhere)
        kept_out = next((agent for agent in self.partly if not can_fetch(url, agent)), None)
        return self.everywhere | ({} if kept_out is None else {AI_AGENTS: f"{PLACE} ({kept_out})"})


@dataclass(slots=True)
class _Group:
    """A group of robots.txt: the crawlers that it names, and the rules for them."""

    agents: list[str] = field(default_factory=list)
    """Names as written in the file."""
    rules: list[tuple[str, str]] = field(default_factory=list)
    """``allow`` or ``disallow``, and the path."""
    refused: list[str] = field(default_factory=list)
    """Uses that the group's usage lines refuse, see :func:`usage_signals`."""

    @property
    def collectors(self) -> list[str]:
        """The crawlers of the group that collect data for AI."""
        return [agent for agent in self.agents if agent.lower() in AGENTS]

    @property
    def closed(self) -> bool:
        """True if the whole site is disallowed and no rule allows anything."""
        return ("disallow", "/") in self.rules and all(name == "disallow" for name, _ in self.rules)

    @property
    def applies_to_newsbot(self) -> bool:
        """True if the group applies to newsbot."""
        return not self.agents or any(agent.lower() in OURS for agent in self.agents)


def for_protego(text: str) -> str:
    """Return the text of a robots.txt in the form in which Protego reads it like RFC 9309.

    Site owners copy names with versions from their logs: ``newsbot/0.1.0 (+https://…)`` means ``newsbot``.
    Protego takes a group for ``news`` as a group for newsbot, so such a name gets another end. Only Allow and
    Disallow end the list of the user agents of a group (2.2.4), but in Protego, Crawl-delay ends it too. So
    other lines are moved below the list.
    """
    lines, moved, listing = [], list[str](), False
    for line in _AGENT_LINE.sub(_product_name, text).splitlines():
        name = line.partition(":")[0].strip().lower()
        if name in _ENDS_LIST:
            lines += moved
            moved, listing = [], False
        elif listing and name in _NO_RULES:
            moved.append(line)
            continue
        listing = listing or name == "user-agent"
        lines.append(line)
    return "\n".join(lines + moved)


_ENDS_LIST = frozenset(("allow", "disallow"))
_NO_RULES = frozenset(("crawl-delay", "request-rate", "visit-time"))
"""Lines that end the list of user agents in Protego only."""


def _product_name(line: re.Match[str]) -> str:
    start, name, rest = line.groups()
    if ours := _OUR_NAME.match(name):
        return start + ours[1]
    if AGENT.startswith(name.lower()):
        return f"{start}{name}-"
    return start + name + ("" if _MORE.match(rest) else rest)


def read_robots(text: str) -> RobotsSignals:
    """Return the statements about AI in the text of a robots.txt.

    Never raises. The time is linear in the length of the text.
    """
    lines = text.splitlines()[:MAX_LINES]
    groups = list(_groups(lines))
    everywhere: dict[str, str] = {}
    # Usage lines apply only to the crawlers that their group names, so only groups for newsbot are used.
    for group in groups:
        if group.applies_to_newsbot:
            everywhere |= dict.fromkeys(group.refused, PLACE)
    # Like a Sitemap line, a License line belongs to no group.
    if licence := next(filter(None, map(_LICENSE_LINE.match, lines)), None):
        everywhere[LICENSE] = licence[1][:MAX_VALUE]
    closed = [agent for group in groups if group.closed for agent in group.collectors]
    if closed:
        more = f" and {len(closed) - 1} more" if len(closed) > 1 else ""
        everywhere[AI_AGENTS] = f"{PLACE} ({closed[0][:60]}{more})"
    if not any(_is_usage(line) for line in lines) and _RESERVED.search(_comments(lines)):
        everywhere[AI_COMMENT] = PLACE
    # One crawler of each group is enough, because all crawlers of a group have the same rules.
    partly = [
        group.collectors[0]
        for group in groups
        if group.collectors and not group.closed and any(name == "disallow" for name, _ in group.rules)
    ]
    return RobotsSignals(everywhere, tuple(dict.fromkeys(partly))[:_MAX_PARTLY])


def _groups(lines: list[str]) -> Iterator[_Group]:
    """Yield the groups of a file. The first group has no names. It holds the lines before the first
    user-agent line."""
    group, begun = _Group(), False
    for line in lines:
        name, _, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            # Several user-agent lines in a row share the rules that follow (RFC 9309, 2.2.1).
            if begun or not group.agents:
                yield group
                group, begun = _Group(), False
            group.agents.append(value)
        elif name in ("allow", "disallow"):
            begun = True
            # An empty value does not forbid anything.
            if value:
                group.rules.append((name, value))
        elif name in ("content-signal", "content-usage"):
            begun = True
            group.refused += usage_signals(value[:500])
    yield group


def _is_usage(line: str) -> bool:
    return line.lstrip()[:14].lower().startswith(("content-signal", "content-usage"))


def _comments(lines: list[str]) -> str:
    text = " ".join(line.partition("#")[2].strip("# \t") for line in lines if "#" in line)
    return text[:_MAX_COMMENTS]


PATH = "/.well-known/tdmrep.json"
MAX_BYTES = 256 * 1024
"""Maximum number of bytes of the file that are read."""
MAX_RULES = 500
"""Maximum number of entries of the file that are read."""
MAX_LOCATION = 500
"""Maximum length of a location, in characters. Entries with a longer location are ignored."""
MAX_STARS = 10
"""Maximum number of parts between the stars of a location.

Entries with more parts are ignored, so that matching takes bounded time.
"""
_MAX_POLICY = 2000
"""Maximum length of the URL of a policy, in characters."""


@dataclass(frozen=True, slots=True)
class _Location:
    """A path with stars, as in robots.txt."""

    parts: tuple[str, ...]
    """The parts between the stars."""
    to_end: bool
    """True if the location ends with ``$``. Then its last part must be at the end of the path."""
    length: int

    @classmethod
    def read(cls, location: str) -> _Location | None:
        """Return None if the location is empty or too long."""
        parts = tuple(re.split(r"\*+", location.rstrip("$")))
        if not location or len(location) > MAX_LOCATION or len(parts) > MAX_STARS:
            return None
        # Paths begin with a slash, but some sites omit it.
        parts = parts if parts[0].startswith("/") or not parts[0] else (f"/{parts[0]}", *parts[1:])
        return cls(parts, location.endswith("$"), len(location))

    def matches(self, path: str) -> bool:
        """Return True if the location matches ``path``.

        The time is linear in the length of ``path``, because no regular expression is used.
        """
        if not path.startswith(self.parts[0]):
            return False
        at = len(self.parts[0])
        for part in self.parts[1:]:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        # The last part may occur earlier in the path too: "*.html$" matches /a.html/b.html.
        return not self.to_end or (path.endswith(self.parts[-1]) and (len(self.parts) > 1 or at == len(path)))


@dataclass(frozen=True, slots=True)
class _Rule:
    """One entry of the file: a location, and whether it is reserved."""

    location: _Location
    reserved: bool
    policy: str | None

    @property
    def weight(self) -> tuple[int, bool]:
        """If several rules match, the rule with the highest weight decides."""
        return self.location.length, self.reserved


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


@dataclass(frozen=True, slots=True)
class Reservations:
    """The reservations in one site's file."""

    rules: tuple[_Rule, ...] = ()
    unknown: bool = False
    """True if the file could not be read."""

    def signals(self, url: str) -> dict[str, str]:
        """Return the signals for a URL of the site. The result is empty if the URL is not reserved."""
        if self.unknown:
            return {TDM_UNKNOWN: PATH}
        path = _path_of(url)
        matching = [rule for rule in self.rules if rule.location.matches(path)]
        if not matching:
            return {}
        best = max(matching, key=lambda rule: rule.weight)
        if not best.reserved:
            return {}
        policy = {TDM_POLICY: best.policy} if best.policy else {}
        return {TDM_RESERVATION: PATH, **policy}


def read_tdmrep(body: bytes) -> Reservations:
    """Return the reservations in the bytes of a file. The result is empty if the file is invalid. Never
    raises."""
    try:
        data = json.loads(body[:MAX_BYTES])
    except (ValueError, RecursionError):
        return Reservations()
    listed = data if isinstance(data, list) else [data]  # some sites write one object instead of a list
    return Reservations(tuple(rule for one in listed[:MAX_RULES] if (rule := _rule(one)) is not None))


def _rule(entry: Any) -> _Rule | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("location"), str):
        return None
    reserved = str(entry.get(TDM_RESERVATION)).strip()  # some sites write the number as a string
    location = _Location.read(entry["location"].strip())
    if reserved not in ("0", "1") or location is None:
        return None
    policy = entry.get(TDM_POLICY)
    return _Rule(
        location, reserved == "1", policy[:_MAX_POLICY] if isinstance(policy, str) and policy else None
    )


# --- files of licences: RSL

_EVERY_USE = {AI_TRAIN: {"all", "ai-all", AI_TRAIN}, AI_INPUT: {"all", "ai-all", AI_INPUT}}
"""Use by AI -> the words that name it in a licence."""
_MAX_TERMS = 200
"""Maximum number of characters of the summary of one licence."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """One ``<license>`` of a part of a site."""

    permitted: frozenset[str]
    """The permitted uses; if it is empty, all uses are permitted."""
    prohibited: frozenset[str]
    payment: str

    def allows(self, use: str) -> bool:
        """Return True if the licence allows a use by AI."""
        names = _EVERY_USE[use]
        return not names & self.prohibited and (not self.permitted or bool(names & self.permitted))

    @property
    def summary(self) -> str:
        """The terms in a few words."""
        uses = (("permits", self.permitted), ("prohibits", self.prohibited))
        words = [self.payment, *(f"{verb} {', '.join(sorted(names))}" for verb, names in uses if names)]
        return "; ".join(filter(None, words))[:_MAX_TERMS]


@dataclass(frozen=True, slots=True)
class Licence:
    """The terms of a licence, by the part of the site for which they are: host ("" if the licence does not
    name it), location, and alternatives."""

    parts: tuple[tuple[str, _Location, tuple[_Terms, ...]], ...] = ()

    def signals(self, url: str) -> dict[str, str]:
        """Return the signals for a URL of the site, without the address of the licence."""
        host, path = urlsplit(url).netloc.lower(), _path_of(url)
        found = [part for part in self.parts if part[0] in ("", host) and part[1].matches(path)]
        if not found:
            return {}
        terms = max(found, key=lambda part: part[1].length)[2]
        # Each licence is an alternative.
        if any(one.payment == FREE and all(map(one.allows, _EVERY_USE)) for one in terms):
            return {LICENSE_TERMS: FREE}
        refused = [use for use in _EVERY_USE if terms and not any(one.allows(use) for one in terms)]
        summary = " | ".join(dict.fromkeys(filter(None, (one.summary for one in terms))))
        return {LICENSE_TERMS: summary or "none"} | dict.fromkeys(refused, LICENSE)


def read_rsl(file: bytes) -> Licence:
    """Return the terms in the bytes of a licence; none if the file is invalid. Never raises."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, remove_comments=True)
    try:
        root = etree.fromstring(file[:MAX_BYTES].strip(), parser)
    except (etree.LxmlError, ValueError):
        return Licence()
    if root is None:
        return Licence()
    parts = []
    for content in islice(root.iter("{*}content"), MAX_RULES):
        host, pattern = _host_and_path(content.get("url") or "/")
        location = _Location.read(pattern)
        if location is not None:
            terms = islice(content.iter("{*}license"), MAX_STARS)
            parts.append((host, location, tuple(map(_terms_of, terms))))
    return Licence(tuple(parts))


def _host_and_path(address: str) -> tuple[str, str]:
    _, separator, rest = address.strip().partition("://")
    if not separator:
        return "", address.strip()
    host, _, path = rest.partition("/")
    return host.lower(), f"/{path}"


def _terms_of(element: etree._Element) -> _Terms:
    def uses(name: str) -> frozenset[str]:
        stated = (one for one in element.iter("{*}" + name) if one.get("type", "usage") == "usage")
        words = (word for one in islice(stated, MAX_STARS) for word in (one.text or "").split())
        return frozenset(word.strip(",").lower()[:30] for word in islice(words, MAX_STARS))

    payment = next(element.iter("{*}payment"), None)
    words = []
    if payment is not None:
        amount = next(payment.iter("{*}amount"), None)
        words.append((payment.get("type") or "payment").strip().lower()[:30])
        if amount is not None and (amount.text or "").strip():
            words += [(amount.text or "").strip()[:20], (amount.get("currency") or "").strip()[:10]]
    return _Terms(uses("permits"), uses("prohibits"), " ".join(filter(None, words)))
