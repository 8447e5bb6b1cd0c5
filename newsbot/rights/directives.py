"""Reads the permissions of a page: ``X-Robots-Tag``, ``<meta name=robots>``, TDM headers and elements.

The names of all signals are defined here too. A signal is a statement of the owner that is stored with the
article.

No RFC defines the directives. The reference is
https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag. If directives contradict each
other, the directive that forbids is obeyed. Text and data mining (TDM) follows
https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/: the page wins over the server's header,
and the header wins over the site's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lxml.html import HtmlElement

NOINDEX = "noindex"
NOARCHIVE = "noarchive"
TDM_RESERVATION = "tdm-reservation"
TDM_POLICY = "tdm-policy"
"""The value of this signal is the URL of the owner's policy, which says how to obtain a licence."""
AI_AGENTS = "ai-agents"
"""This signal means that robots.txt forbids the page to crawlers that collect for AI."""
AI_COMMENT = "ai-comment"
"""This signal means that a comment in robots.txt mentions AI training or text and data mining."""
AI_TRAIN = "ai-train"
AI_INPUT = "ai-input"
DIRECTIVES = ("noai", "noimageai", "noml")

OPT_OUTS = frozenset((*DIRECTIVES, TDM_RESERVATION, AI_AGENTS, AI_COMMENT, AI_TRAIN, AI_INPUT))
"""Signals by which an owner reserves a page against use by AI."""


def opted_out(rights: Mapping[str, str]) -> bool:
    """Return True if any signal reserves the page against use by AI."""
    return not OPT_OUTS.isdisjoint(rights)


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
    """The place that stated each signal, by its name. The names are at the top of this module."""


def page_rights(
    headers: Mapping[str, Sequence[str]],
    tree: HtmlElement | None = None,
    site: Mapping[str, str] | None = None,
) -> PageRights:
    """Return the permissions of a page.

    ``headers`` has the values of the response's headers by lower-case name. ``tree`` is the document if it is
    HTML. ``site`` has the signals of the site's files (robots.txt, tdmrep.json) for the URL.
    """
    metas = _metas(tree) if tree is not None else {}
    told: dict[str, str] = {}
    # The header is read first. If page and header state the same directive, the header is recorded.
    for word in _for_us(headers.get("x-robots-tag", ())):
        told.setdefault(word, HEADER)
    for name in ("robots", AGENT):
        for value in metas.get(name, ()):
            for word in _words(value):
                told.setdefault(word, META)
    signals = dict(site or {})
    signals |= {name: told[name] for name in (*DIRECTIVES, NOARCHIVE) if name in told}
    # "nocache" is Bing's name for "noarchive".
    if "nocache" in told:
        signals.setdefault(NOARCHIVE, told["nocache"])
    index = "noindex" not in told and "none" not in told
    if not index:
        signals[NOINDEX] = told.get("noindex") or told["none"]
    for value in headers.get("content-usage", ()):
        signals |= dict.fromkeys(usage_signals(value[:MAX_VALUE]), HEADER)
    # The site's files come first, then the headers, then the page. Each place may replace the statements of
    # the places before it.
    _reservation(signals, headers, HEADER)
    _reservation(signals, metas, META)
    return PageRights(
        index=index,
        follow="nofollow" not in told and "none" not in told,
        archive=NOARCHIVE not in signals,
        signals=signals,
    )


def _metas(tree: HtmlElement) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in islice(tree.iter("meta"), MAX_METAS):
        name = (element.get("name") or "").strip().lower()
        if name in ("robots", AGENT, TDM_RESERVATION, TDM_POLICY):
            found.setdefault(name, []).append((element.get("content") or "")[:MAX_VALUE])
    return found


def _words(value: str) -> list[str]:
    return [word.strip().lower() for word in value.replace(";", ",").split(",")]


def _for_us(values: Iterable[str]) -> Iterable[str]:
    """Yield the directives of ``X-Robots-Tag`` for every agent or for newsbot.

    In ``otherbot: noindex, nofollow``, both directives are for otherbot. A name applies to all directives
    that follow it in the same header.
    """
    for value in values:
        ours = True
        for word in _words(value[:MAX_VALUE]):
            name, colon, rest = word.partition(":")
            directive = word
            # "max-snippet: 20" is a directive with a value and not one for a crawler of this name.
            if colon and name.strip() not in _WITH_VALUE:
                ours = name.strip() in ("*", AGENT)
                directive = rest.strip()
            if ours and directive:
                yield directive


def _reservation(signals: dict[str, str], told: Mapping[str, Sequence[str]], place: str) -> None:
    """Change ``signals`` by the TDM statements ``told`` of one place.

    They replace statements of less specific places.
    """
    values = [value.strip() for value in told.get(TDM_RESERVATION, ())]
    # If one place states both 1 and 0, the page is reserved.
    if "1" in values:
        signals[TDM_RESERVATION] = place
    elif "0" in values:
        signals.pop(TDM_RESERVATION, None)
        signals.pop(TDM_POLICY, None)
    policy = next(iter(told.get(TDM_POLICY, ())), "").strip()
    if policy and TDM_RESERVATION in signals:
        signals[TDM_POLICY] = policy[:MAX_VALUE]
