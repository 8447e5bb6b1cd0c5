"""Collects what is known of one URL from rules, frontier and storage. It uses no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from newsbot.clock import utc
from newsbot.frontier.base import Entry, Frontier, HostCopy, Known
from newsbot.items import Article, Link, PageRecord, Where
from newsbot.ranking.judging import Judgement, judge
from newsbot.ranking.url_learning import kept, learns, session_keys
from newsbot.rules import RuleSet
from newsbot.rules.learn import LearnedRule
from newsbot.rules.match import Match, classify
from newsbot.rules.schema import Rule
from newsbot.search.query import ArticleFilter
from newsbot.sites.removals import removal_of
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_MEMBERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is known of one URL. Everything may be missing except how it is named and judged."""

    url: str
    canonical_url: str
    fingerprint: bytes
    host: str
    rule: Rule
    has_rule: bool
    """False: no rule file covers the site, the defaults hold."""
    match: Match
    judgement: Judgement
    """What newsbot would do with a plain link to the URL now."""
    page: PageRecord | None = None
    known: Known | None = None
    entry: Entry | None = None
    article: Article | None = None
    versions: int = 0
    story: Sequence[Article] = ()
    """Other members of the article's story."""
    removed: tuple[str, dict[str, Any]] | None = None
    """What keeps it out (the URL or a domain), with the note of its removal."""
    pace: HostCopy | None = None
    """How its host is treated."""

    @property
    def same_text_as(self) -> str | None:
        """The canonical URL that holds this URL's text, if it is another one."""
        if self.article is None or self.article.canonical_url == self.canonical_url:
            return None
        return self.article.canonical_url


def explain(
    url: str, rules: RuleSet, storage: Storage | None, frontier: Frontier | None, *, now: float
) -> Explanation:
    """Return the story of ``url``; storage and frontier are None where nothing has been crawled.

    ``now`` in POSIX seconds. Raises ``ValueError`` for what is no absolute http(s) URL.
    """
    if storage:
        rules = rules.dropping(session_keys(storage.notes))
    rule = rules.for_url(url)
    canonical = canonicalize(url, rule.drop_query)
    key = fingerprint(canonical)
    page = storage.pages.get([key]).get(key) if storage else None
    if page is not None:  # items of a feed may live elsewhere and still belong to the feed's site
        rule = rules.get(page.source) or rule
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
        page=page,
        known=frontier.known([key]).get(key) if frontier else None,
        entry=frontier.entry(key) if frontier else None,
        article=article,
        versions=len(storage.articles.versions(article.canonical_url)) if storage and article else 0,
        story=_others(storage, article) if storage and article else (),
        removed=removal_of(storage.notes, key, host) if storage else None,
        pace=frontier.host(host) if frontier else None,
    )


def _learned(storage: Storage | None, rule: Rule) -> LearnedRule | None:
    return kept(storage.notes, rule.domain)[1] if storage and learns(rule) else None


def _others(storage: Storage, article: Article) -> Sequence[Article]:
    if article.story is None:
        return ()
    members = storage.articles.iter(ArticleFilter(story=article.story))
    others = (member for member in members if member.canonical_url != article.canonical_url)
    return tuple(islice(others, MAX_MEMBERS))
