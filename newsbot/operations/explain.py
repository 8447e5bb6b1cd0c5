"""Collects what is known about one URL from rules, frontier and storage. It sends no requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from newsbot.clock import utc
from newsbot.frontier.base import Entry, Frontier, HostCopy, Known
from newsbot.items import Article, ArticleFilter, Kind, Link, PageRecord, Where
from newsbot.ranking.judging import Judgement, judge
from newsbot.ranking.url_learning import kept, learns, session_keys
from newsbot.rules import RuleSet
from newsbot.rules.learn import LearnedRule
from newsbot.rules.rule import Match, Rule, classify
from newsbot.sites.removals import removal_of
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_MEMBERS = 20
"""Maximum number of other articles of the same story that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is known about one URL. Only the URL itself, its rule and its judgement are always set."""

    url: str
    canonical_url: str
    fingerprint: bytes
    host: str
    rule: Rule
    has_rule: bool
    """False if no rule file covers the site, so that the defaults apply."""
    match: Match
    judgement: Judgement
    """What the crawl would do now with a link to the URL in the body of a page."""
    is_listed: bool = False
    """True if a feed or sitemap of the site is known.

    The crawl then does not follow links on article pages.
    """
    page: PageRecord | None = None
    known: Known | None = None
    entry: Entry | None = None
    article: Article | None = None
    versions: int = 0
    story: Sequence[Article] = ()
    """Other articles of the same story."""
    removed: tuple[str, dict[str, Any]] | None = None
    """The removed URL or domain because of which the URL is blocked, and the note of the removal."""
    pace: HostCopy | None = None
    """Delay and pauses of the host of the URL."""

    @property
    def same_text_as(self) -> str | None:
        """The canonical URL under which this text is stored, if it is another URL."""
        if self.article is None or self.article.canonical_url == self.canonical_url:
            return None
        return self.article.canonical_url


def explain(
    url: str, rules: RuleSet, storage: Storage | None, frontier: Frontier | None, *, now: float
) -> Explanation:
    """Return what is known about ``url``.

    ``storage`` and ``frontier`` are None if nothing has been crawled. ``now`` is in POSIX seconds. Raises
    ``ValueError`` if ``url`` is not an absolute http(s) URL, and subclasses of
    :class:`newsbot.errors.DataError`.
    """
    if storage:
        # The crawl drops learned session parameters from URLs. They are dropped here too, because otherwise
        # the fingerprint would differ.
        rules = rules.dropping(session_keys(storage.notes))
    rule = rules.for_url(url)
    canonical = canonicalize(url, rule.drop_query)
    key = fingerprint(canonical)
    page = storage.pages.get([key]).get(key) if storage else None
    if page is not None:  # an item of a feed may be on another host, but belongs to the feed's site
        rule = rules.get(page.source) or rule
    # An article may be stored with or without the parameters that the rule drops now.
    article = (
        (storage.articles.get(canonical) or storage.articles.get(canonicalize(url))) if storage else None
    )
    link = Link(url=url, where=Where.BODY)
    host = host_key(url)
    return Explanation(
        url=url,
        canonical_url=canonical,
        fingerprint=key,
        host=host,
        rule=rule,
        has_rule=rules.get(rule.domain) is not None,
        match=classify(rule, canonical),
        judgement=judge(
            link, rule, depth=page.depth if page else 1, now=utc(now), learned=_learned(storage, rule)
        ),
        is_listed=bool(rule.feeds or rule.sitemaps or _lists(storage, rule)),
        page=page,
        known=frontier.known([key]).get(key) if frontier else None,
        entry=frontier.entry(key) if frontier else None,
        article=article,
        versions=len(storage.articles.versions(article.canonical_url)) if storage and article else 0,
        story=_others(storage, article) if storage and article else (),
        removed=removal_of(storage.notes, key, host) if storage else None,
        pace=frontier.host(host) if frontier else None,
    )


def _lists(storage: Storage | None, rule: Rule) -> bool:
    kinds = {source.kind for source in storage.sources.all(rule.domain)} if storage else set()
    return not kinds.isdisjoint((Kind.FEED, Kind.SITEMAP))


def _learned(storage: Storage | None, rule: Rule) -> LearnedRule | None:
    return kept(storage.notes, rule.domain)[1] if storage and learns(rule) else None


def _others(storage: Storage, article: Article) -> Sequence[Article]:
    if article.story is None:
        return ()
    members = storage.articles.iter(ArticleFilter(story=article.story))
    others = (member for member in members if member.canonical_url != article.canonical_url)
    return tuple(islice(others, MAX_MEMBERS))
