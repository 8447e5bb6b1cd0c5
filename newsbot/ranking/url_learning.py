"""Learns while a crawl runs what its sites' addresses look like, and keeps that for the next crawl.

Links of feeds and menus and fetched pages are the examples (:mod:`newsbot.rules.examples`). A site is learned
again when its examples have grown by a quarter, or when a pattern is given up because its pages stopped being
articles. A few rejected links are fetched all the same (NEWSBOT_EXPLORE): a redesign is noticed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.discovery.list_probing import shape_of
from newsbot.items import Link, Reason, Where
from newsbot.ranking.judging import Judgement
from newsbot.rules.examples import Examples
from newsbot.rules.learn import LearnedRule, learned_from
from newsbot.rules.schema import Rule
from newsbot.rules.sessions import SessionKeys
from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

MAX_SITES = 5000
"""Sites of which examples are kept in memory."""
SHORT_TEXT = 3
"""Words: links of menus with no more are the names of sections."""
EXPLORED_REASONS = frozenset((Reason.UNLIKELY_ARTICLE, Reason.NOT_IN_RULE))
OF_PAGES = 0.5
"""Explored pages are at most this part of the share of all pages: they must not spoil the crawl."""
EXPLORED_PRIORITY = 5.0
"""Explored links come last."""
MAX_BARREN = 3
"""Pages of a shape that were explored in vain, after which the shape is left alone in this crawl."""
NOTE_KIND = "addresses:"
"""With a domain: the kind of the notes that hold examples and what was learned."""
SESSION_NOTE = "session_keys"
"""The kind of the notes that hold query keys no page depends on, by domain."""


@dataclass(slots=True)
class _Site:
    examples: Examples = field(default_factory=Examples)
    rule: LearnedRule | None = None
    kept: dict[str, Any] | None = None
    """The rule as it stands in the notes, as far as is known here."""
    changed: bool = False
    links: int = 0
    """Rejected links that might have been explored."""
    pages: int = 0
    """Pages that were fetched as articles in this crawl."""
    explored: int = 0
    barren: Counter[str] = field(default_factory=Counter)


class UrlLearning:
    """The sites of one crawl. ``storage`` keeps what is learned; ``share`` of rejected links is explored."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._sites: dict[str, _Site] = {}
        self._keys: dict[str, SessionKeys] = {}
        self.storage: Notes | None = None

    def rule(self, rule: Rule) -> LearnedRule | None:
        """Return what is known of a site's addresses; None before enough was seen, or if it may not learn."""
        return self._site(rule.domain).rule if learns(rule) else None

    def heard(self, rule: Rule, links: Iterable[Link]) -> None:
        """Take in the links of a page, feed or sitemap."""
        if not learns(rule):
            return
        site = self._site(rule.domain)
        for link in links:
            article = _label(link)
            if article is None:
                continue
            try:
                url = canonicalize(link.url, rule.drop_query)
            except ValueError:
                continue
            site.examples.heard(url, article=article)
            site.changed = True
        self._learn(rule.domain, site)

    def fetched(self, rule: Rule, url: str, *, article: bool, why: str) -> None:
        """Take in what a page that was fetched as an article turned out to be; ``why`` it was fetched."""
        site = self._site(rule.domain)
        site.pages += 1
        if why == Reason.EXPLORED and not article:
            site.barren[shape_of(url)] += 1
        if not learns(rule):
            return
        retired = site.examples.fetched(url, article=article, rule=site.rule)
        site.changed = True
        if retired is not None:
            logger.warning(
                "pattern given up domain=%s pattern=%s; its pages are no articles any more",
                rule.domain,
                retired,
            )
        self._learn(rule.domain, site)

    def read_text(self, domain: str, url: str, text: str) -> bool:
        """Take in an article's address and the hash of its text; True if a key carries sessions' ids.

        Raises :class:`newsbot.errors.DataError`; may then be called again.
        """
        if "?" not in url or (domain not in self._keys and len(self._keys) >= MAX_SITES):
            return False
        keys = self._keys.setdefault(domain, SessionKeys())
        found = keys.saw(url, text)
        if found is None:
            return False
        if self.storage is not None:
            _SESSION_KEYS.write(self.storage, {domain: keys.idle})
        logger.warning(
            "session key learned domain=%s key=%s; articles are the same whatever it is: it is dropped from"
            " addresses (in the rule: drop_query)",
            domain,
            found,
        )
        return True

    def explores(self, judgement: Judgement, rule: Rule, url: str) -> bool:
        """Tell whether a rejected link is fetched all the same.

        At most the share of such links, and no more than half the same share of the pages fetched: a site
        with many links to other things must not cost many downloads.
        """
        if judgement.reason not in EXPLORED_REASONS or self._share <= 0.0:
            return False
        site = self._site(rule.domain)
        site.links += 1
        if site.explored + 1 > self._share * min(site.links, site.pages * OF_PAGES):
            return False
        if site.barren[shape_of(url)] >= MAX_BARREN:
            return False
        if int.from_bytes(fingerprint(url)[:4], "big") % 1000 >= 1000 * max(self._share, 0.1):
            return False  # not just the first links of each page
        site.explored += 1
        return True

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Keep what has come, but of sites that ``is_out`` names: they were taken out.

        Raises :class:`newsbot.errors.DataError`; the rest is written next time.
        """
        if self.storage is None:
            return
        for domain, site in self._sites.items():
            if site.changed and not is_out(domain) and self._write(self.storage, domain, site):
                site.changed = False

    def _write(self, storage: Notes, domain: str, site: _Site) -> bool:
        """Join what is known here with what other workers have written, and keep both; False: not this time.

        What was learned last from the examples of all is the rule of all.
        """
        told = storage.all(NOTE_KIND + domain)

        def examples(note: dict[str, Any] | None, site: _Site) -> dict[str, Any]:
            self._merge(domain, site, {**told, "examples": note or {}})
            return site.examples.plain()

        if not SharedNotes(NOTE_KIND + domain, examples).write(storage, {"examples": site}):
            return False
        if site.rule is None:
            return True
        written = SharedNotes(NOTE_KIND + domain, _latest).write(storage, {"rule": site.rule.plain()})
        site.kept = written.get("rule", site.kept)
        return bool(written)

    def _merge(self, domain: str, site: _Site, told: Mapping[str, Any]) -> None:
        """Take over what another worker has written meanwhile."""
        try:
            site.examples.merge(told.get("examples", {}))
            self._learn(domain, site)
            learned = told.get("rule")
            mine = None if site.rule is None else site.rule.plain()
            if learned is not None and learned != site.kept and mine in (None, site.kept):
                site.rule, site.kept = learned_from(learned), dict(learned)
        except ValueError as error:
            logger.warning("learning damaged domain=%s fault=%s; it is replaced", domain, error)

    def _site(self, domain: str) -> _Site:
        site = self._sites.get(domain)
        if site is None:
            if len(self._sites) >= MAX_SITES:
                self._sites.clear()
            site = _Site() if self.storage is None else _Site(*kept(self.storage, domain))
            site.kept = None if site.rule is None else site.rule.plain()
            self._sites[domain] = site
        return site

    def _learn(self, domain: str, site: _Site) -> None:
        if not site.examples.wants_learning():
            return
        site.rule = site.examples.learn()
        logger.info(
            "learning domain=%s articles=%d others=%d patterns=%s",
            domain,
            site.rule.articles,
            site.rule.others,
            " ".join(pattern.text for pattern in site.rule.patterns) or "none",
        )


def kept(storage: Notes, domain: str) -> tuple[Examples, LearnedRule | None]:
    """Return the examples and what was learned of a site in earlier crawls."""
    notes = storage.all(NOTE_KIND + domain)
    examples, rule = Examples(), None
    try:
        examples.merge(notes.get("examples", {}))
        if "rule" in notes:
            rule = learned_from(notes["rule"])
            examples.learned_at = examples.seen
    except ValueError as error:
        logger.warning("learning damaged domain=%s fault=%s; it is learned anew", domain, error)
    return examples, rule


def _latest(_: dict[str, Any] | None, rule: dict[str, Any]) -> dict[str, Any]:
    return rule


def _with_keys(note: dict[str, Any] | None, keys: Iterable[str]) -> dict[str, Any]:
    return {"keys": sorted({*keys, *map(str, (note or {}).get("keys") or ())})}


_SESSION_KEYS = SharedNotes(SESSION_NOTE, _with_keys)


def session_keys(storage: Notes) -> dict[str, tuple[str, ...]]:
    """Return the query keys that carry sessions' ids, by domain."""
    known = storage.all(SESSION_NOTE)
    return {domain: tuple(map(str, note.get("keys") or ())) for domain, note in known.items()}


def learns(rule: Rule) -> bool:
    """Tell whether a site's addresses are learned: as its rule says, else if it has no article patterns."""
    return not rule.article if rule.learn is None else rule.learn


def _label(link: Link) -> bool | None:
    if link.kind is not None and link.kind.is_source:
        return None
    if link.where in (Where.FEED, Where.NEWS_SITEMAP):
        return True
    short = link.text is not None and len(link.text.split()) <= SHORT_TEXT
    return False if link.where is Where.NAVIGATION and short else None
