"""Judges what a link is likely to be, and how soon it should be fetched.

The site's rule decides first. If it does not cover the link, the link belongs to a family
(:mod:`newsbot.ranking.families`), and pages of this family decide whether it is fetched. The address and the
text of a link only decide the order: the log-odds of the shape of the URL (:mod:`newsbot.pages.rules.shape`),
of the place where the link was found, and of its text are added.

Priorities (higher is fetched first within a host):

======  =====================================================================
91-99   items of feeds and news sitemaps that are less than a day old, newest first
90, 80  feeds, sitemaps (:data:`SOURCE_PRIORITY`)
70      section fronts that a rule or a user names (the same table)
40-79   articles; higher for higher probabilities and newer dates
39.5    files of a sitemap index that have no sign of being fresh
20-39   section fronts and lists that were found on pages
10-14   lists by tag, category or author
4-10    links that only another site gives, if the linked site has a rule
======  =====================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from newsbot.items import Kind, Link, Reason, Where, read_reason
from newsbot.pages.discovery.list_pages import is_archive, is_archive_front, is_pagination, trap
from newsbot.pages.rules.learn import LearnedRule
from newsbot.pages.rules.rule import Match, Rule, classify
from newsbot.pages.rules.shape import features, is_front_page, log_odds, probability
from newsbot.urls import canonicalize

SOURCE_PRIORITY = {Kind.FEED: 90.0, Kind.SITEMAP: 80.0, Kind.SECTION: 70.0}
"""Priority of the sources that a rule or a user names, by kind."""
PATIENT_PRIORITY = 39.5
"""Priority of sources that are read after likely articles: files of a sitemap index without a sign of being
fresh, and rare usual places of feeds and sitemaps."""

FRESH_SECONDS = 86400.0
"""Items of feeds and news sitemaps are fetched before all sources if they are at most this old (seconds)."""
_FRESH_FLOOR, _FRESH_SPAN = 91.0, 8.0
_ARTICLE_FLOOR, _ARTICLE_SPAN = 40.0, 30.0
_AGE_SPAN = 9.0
_SECTION_FLOOR, _SECTION_SPAN = 20.0, 19.0
_LATER = 10.0
"""The priority of lists by subject is lower by this number. They are read after all other lists. By then it
is known whether the other lists lead to the older articles."""
_UNKNOWN_AGE_DAYS = 2.0
"""Assumed age of articles without a date."""

_DECLARED = (Where.FEED, Where.NEWS_SITEMAP)
"""Places whose links the site declares to be articles."""
_ON_PAGES = (Where.BODY, Where.NAVIGATION)
# Log-odds are added: 0.7 doubles the odds of an article (e ** 0.7 = 2), -1.5 divides them by 4.5.
_ODDS_OF_PLACE = {
    Where.BODY: 0.7,
    Where.NAVIGATION: -1.5,
    Where.SITEMAP: 0.3,
    Where.FEED: 4.0,
    Where.NEWS_SITEMAP: 5.0,
    Where.SEED: 1.0,
    Where.ARGUMENT: 1.0,
    Where.PUSH: 3.0,
    Where.REDIRECT: 0.5,
    Where.AUTODISCOVERY: -1.0,
    Where.GUESS: -1.0,
}
_ODDS_OF_TIME = 1.0
# Hiragana to the CJK ideographs (U+3040 to U+9FFF), and Hangul syllables (U+AC00 to U+D7AF).
_DENSE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
"""Chinese, Japanese and Korean characters."""
_ODDS_OF_PATTERN = 5.0
_SCORE_OF_PATTERN = 0.9
_USELESS_LISTS = frozenset(("utility", "utility above", "media", "media above"))
"""Features of URLs of lists without articles, e.g. lists of events, users or pictures."""
_HOST_SLASHES = 2
_DOUBT = 0.7
"""Factor for the probability of feed items that do not match the rule's article patterns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The decision on a link.

    ``reason`` is a short token (:class:`Reason`, or the place of the link); a detail may follow after a
    colon.
    """

    kind: Kind
    priority: float
    accepted: bool
    reason: str

    @property
    def token(self) -> str:
        """Return the reason without its detail."""
        return read_reason(self.reason)[0]


def judge(
    link: Link,
    rule: Rule,
    *,
    depth: int,
    now: datetime,
    learned: LearnedRule | None = None,
    is_open: Callable[[str], bool] = lambda _: False,
) -> Judgement:
    """Return the decision on a link, using the rule of its site. Never raises.

    ``depth`` is the number of clicks from a source to the link. ``learned`` is the learned rule of the site's
    URLs; it replaces the global prior. ``is_open`` says whether the family of a canonical URL is open.

    Reasons of rejected links: bad_url, ``denied:<pattern>``, offsite, too_deep, the reasons of
    :func:`newsbot.pages.discovery.list_pages.trap`, front_page, unlikely_list. Links of feeds and news
    sitemaps are never rejected as offsite, because the caller decides whether a feed may list articles of
    other sites. Accepted links have the reason likely_article if their family decides, and not_in_rule if the
    rule has article patterns and none matches. The caller keeps these links until they match.
    """
    try:
        url = canonicalize(link.url, rule.drop_query)
    except ValueError:
        return _rejected(Reason.BAD_URL)
    match = classify(rule, url)
    if (obstacle := _obstacle(link, url, rule, match, depth)) is not None:
        return _rejected(obstacle)
    # a known feed or sitemap is never judged as an article, even if an article pattern matches its URL
    if (kind := _known_source(link, match)) is not None:
        return Judgement(
            kind=kind, priority=SOURCE_PRIORITY[kind.like], accepted=True, reason=_why(link, match)
        )
    if match.kind is Kind.ARTICLE and link.where is not Where.NEXT_PAGE:
        score = max(probability(article_odds(link, url, learned) + _ODDS_OF_PATTERN), _SCORE_OF_PATTERN)
        return _article(link, score, now, _why(link, match))
    # The check for traps comes after the article patterns, because a person wrote or checked the patterns.
    if (reason := trap(url, now)) is not None:
        return _rejected(reason)
    is_section = match.kind is Kind.SECTION or link.kind is Kind.SECTION
    return (
        _section(link, depth, _why(link, match))
        if is_section
        else _by_family(link, url, rule, depth=depth, now=now, learned=learned, is_open=is_open)
    )


def is_onsite(url: str, rule: Rule) -> bool:
    """Return True if the host of ``url`` is the rule's domain or a subdomain of it. Never raises."""
    try:
        return _is_on(canonicalize(url), rule.domain)
    except ValueError:
        return False


def article_odds(link: Link, url: str, learned: LearnedRule | None = None) -> float:
    """Return the log-odds that a link leads to an article; ``url`` is its canonical URL."""
    odds = log_odds(url) if learned is None else learned.log_odds(url)
    odds += _ODDS_OF_PLACE.get(link.where, 0.0) + odds_of_text(link.text)
    return odds + _ODDS_OF_TIME if link.published_at is not None else odds


def odds_of_text(text: str | None) -> float:
    """Return the log-odds that a link with this text leads to an article.

    Headlines have at least five words; names of sections have one or two. In Chinese, Japanese and Korean,
    three characters count as a word.
    """
    if not text:
        return 0.0
    words = text.count(" ") + 1
    if words < 5 and (dense := len(_DENSE.findall(text))):
        words = max(words, dense // 3)
    if words >= 8:
        return 2.2
    if words >= 5:
        return 1.6
    return 0.0 if words >= 3 else -0.8


def _obstacle(link: Link, url: str, rule: Rule, match: Match, depth: int) -> str | None:
    """Return the reason why a link of any kind must not be followed; None if it may be followed."""
    if match.denied:
        return f"{Reason.DENIED}:{match.pattern.text if match.pattern else ''}"
    if link.where not in _DECLARED and not _is_on(url, rule.domain):
        return Reason.OFFSITE
    return Reason.TOO_DEEP if depth > rule.max_depth else None


def _by_family(
    link: Link,
    url: str,
    rule: Rule,
    *,
    depth: int,
    now: datetime,
    learned: LearnedRule | None,
    is_open: Callable[[str], bool],
) -> Judgement:
    """Judge a link that the rule does not cover."""
    declared = link.where in _DECLARED
    ruled_out = bool(rule.article) and not rule.learn
    # A sitemap lists pages of all kinds. Their addresses say nothing, so their families decide.
    if (
        not declared
        and link.where is not Where.SITEMAP
        and (link.where is Where.NEXT_PAGE or not is_open(url))
    ):
        # The second page of a list may have a URL like an article. So lists are recognised before articles.
        if link.where is Where.NEXT_PAGE or is_pagination(url) or is_archive(url) or is_archive_front(url):
            useless = _USELESS_LISTS.intersection(features(url))
            return _rejected(Reason.UNLIKELY_LIST) if useless else _section(link, depth, Reason.LIST)
        # If a person wrote article patterns, the section patterns name the lists.
        if not ruled_out and _is_by_subject(link, url):
            section = _section(link, depth, Reason.SUBJECT_LIST)
            return replace(section, priority=section.priority - _LATER)
    if is_front_page(url):
        return _rejected(Reason.FRONT_PAGE)
    score = probability(article_odds(link, url, learned))
    if declared:  # always accepted; the score only determines the priority
        return _article(link, score * _DOUBT if rule.article else score, now, link.where.value)
    return _article(link, score, now, Reason.NOT_IN_RULE if ruled_out else Reason.LIKELY_ARTICLE)


def _is_by_subject(link: Link, url: str) -> bool:
    """Return True for a link on a page that leads to a list by tag, category or author."""
    shape = features(url)
    wanted = "list" in shape and "?" not in url and _USELESS_LISTS.isdisjoint(shape)
    return wanted and link.where in _ON_PAGES


def _known_source(link: Link, match: Match) -> Kind | None:
    """Return the kind of a source that the rule or source discovery declares; None for other links."""
    if match.kind is not None and match.kind.is_source and match.pattern is None:
        return match.kind
    return link.kind if link.kind is not None and link.kind.is_listing else None


def _article(link: Link, score: float, now: datetime, reason: str) -> Judgement:
    moment = link.published_at or link.modified_at
    age = max(0.0, (now - moment).total_seconds()) if moment is not None else None
    if age is not None and age < FRESH_SECONDS and link.where in _DECLARED:
        priority = _FRESH_FLOOR + _FRESH_SPAN * (1.0 - age / FRESH_SECONDS)
    else:
        # Probability counts more than age: a new article gets at most 9 of the 39 points.
        days = _UNKNOWN_AGE_DAYS if age is None else age / 86400.0
        priority = _ARTICLE_FLOOR + _ARTICLE_SPAN * score + _AGE_SPAN / (1.0 + days)
    return Judgement(kind=Kind.ARTICLE, priority=priority, accepted=True, reason=reason)


def _section(link: Link, depth: int, reason: str) -> Judgement:
    shallow = 1.0 / (1.0 + max(0, depth))
    bonus = 1.0 if link.kind is Kind.SECTION else 0.5
    return Judgement(
        kind=Kind.SECTION,
        priority=_SECTION_FLOOR + _SECTION_SPAN * shallow * bonus,
        accepted=True,
        reason=reason,
    )


def _rejected(reason: str) -> Judgement:
    return Judgement(kind=Kind.OTHER, priority=0.0, accepted=False, reason=reason)


def _why(link: Link, match: Match) -> str:
    if match.pattern is not None:
        return f"{Reason.RULE}:{match.pattern.text}"
    return Reason.RULE if match.kind is not None else link.where.value


def _is_on(url: str, domain: str) -> bool:
    host = url[url.index("//") + 2 :].partition("/")[0]
    if not host.startswith("["):  # the colons of an IPv6 address do not begin a port
        host = host.partition(":")[0]
    return host == domain or host.endswith("." + domain)
