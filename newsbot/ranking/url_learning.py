"""Learns during a crawl what the URLs of each site look like, and stores the result for the next crawl.

The examples are links of feeds and menus, and fetched pages (:mod:`newsbot.rules.examples`). From them a
*learned rule* is computed (:mod:`newsbot.rules.learn`). It is computed again when the site has a quarter more
examples, or when a pattern is removed because its pages are no longer articles. A few rejected links are
fetched anyway: they are *explored* (NEWSBOT_EXPLORE), so that a redesign is noticed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.discovery.list_probing import shape_of
from newsbot.items import Bounded, Link, Reason, Where
from newsbot.ranking.judging import Judgement
from newsbot.ranking.shapes import MAX_SHAPES, Shapes, ShapesOfAll
from newsbot.ranking.shapes import shape_of as address_shape
from newsbot.rules.examples import Examples
from newsbot.rules.learn import LearnedRule, learned_from
from newsbot.rules.schema import Rule
from newsbot.rules.sessions import SessionKeys
from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

MAX_SITES = 5000
"""Maximum number of sites whose examples are kept in memory."""
SHORT_TEXT = 3
"""Maximum number of words in the text of a menu link. A longer text is not the name of a section."""
EXPLORED_REASONS = frozenset((Reason.UNLIKELY_ARTICLE, Reason.NOT_IN_RULE))
OF_PAGES = 0.5
"""The share of links to explore, times this factor, is the maximum share of explored pages among all
pages."""
EXPLORED_PRIORITY = 5.0
"""Priority of explored links. It is low, so that they are fetched last."""
MAX_BARREN = 3
"""Number of explored pages without an article after which links of their shape are not explored any more in
this crawl."""
NOTE_KIND = "addresses:"
"""This prefix and the domain are the kind of the notes with a site's examples and learned rule."""
SHAPES_NOTE = "address_shapes"
"""The kind of the note with the shapes of URLs that failed or succeeded on several sites."""
SESSION_NOTE = "session_keys"
"""The kind of the notes with the query keys of each domain on which no page depends."""


@dataclass(slots=True)
class _Site:
    examples: Examples = field(default_factory=Examples)
    rule: LearnedRule | None = None
    kept: dict[str, Any] | None = None
    """The learned rule in the storage, as this worker read or wrote it last."""
    changed: bool = False
    """True if there are new results that are not stored yet."""
    links: int = 0
    """Number of rejected links that could have been explored."""
    pages: int = 0
    """Number of pages that were fetched as articles in this crawl."""
    explored: int = 0
    """Number of rejected links that were explored."""
    barren: Bounded[str, int] = field(default_factory=lambda: Bounded(MAX_SHAPES))
    """Shape -> number of explored pages that were not articles."""
    shapes: Shapes = field(default_factory=Shapes)


class UrlLearning:
    """Learns the URLs of all sites of one crawl. ``share`` (0 to 1) of the rejected links is explored."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._sites: dict[str, _Site] = {}
        self._keys = Bounded[str, SessionKeys](MAX_SITES)
        self.of_all_sites = ShapesOfAll()
        self.storage: Notes | None = None

    def rule(self, rule: Rule) -> LearnedRule | None:
        """Return the learned rule of a site; None before there are enough examples, or if learning is off."""
        return self._site(rule.domain).rule if learns(rule) else None

    def vouches(self, rule: Rule, url: str) -> bool:
        """Return True if the site's learned rule, and not only the global prior, accepts an article's URL."""
        learned = self.rule(rule)
        return learned is not None and bool(learned.trees) and learned.is_article(url)

    def shapes(self, domain: str) -> Shapes:
        """Return the evidence on the shapes of a site's URLs."""
        return self._site(domain).shapes

    def may_lose(self, domain: str) -> float:
        """Return the maximum number of pages without an article that testing unlisted shapes may cost.

        The number is 1 at first, so that few requests are wasted on a small site. It grows with the number of
        fetched pages of the site.
        """
        return max(1.0, self._share * self._site(domain).pages)

    def heard(self, rule: Rule, links: Iterable[Link]) -> None:
        """Add the links of a page, feed or sitemap as examples."""
        labelled = [(link, article) for link in links if (article := _label(link)) is not None]
        if not labelled:
            return  # seeds have no label; this avoids loading the notes of thousands of sites
        site, learning = self._site(rule.domain), learns(rule)
        for link, article in labelled:
            try:
                url = canonicalize(link.url, rule.drop_query)
            except ValueError:
                continue
            if article:
                site.shapes.name(url)
            if not learning:
                continue
            site.examples.heard(url, article=article)
            site.changed = True
        if learning:
            self._learn(rule.domain, site)

    def fetched(self, rule: Rule, url: str, *, article: bool, why: str) -> None:
        """Record whether a page was an article, after it was fetched as one.

        ``why`` is the :class:`newsbot.items.Reason` for which it was queued.
        """
        site = self._site(rule.domain)
        site.pages += 1
        site.shapes.fetched(url, article=article, listed=why != Reason.LIKELY_ARTICLE)
        shape = address_shape(url)
        # a page without an article does not count for other sites if its shape usually gives articles here
        if article or not (shape in site.shapes.named or site.shapes.is_proven(shape)):
            self.of_all_sites.told(rule.domain, shape, good=article)
        if why == Reason.EXPLORED and not article:
            site.barren[shape_of(url)] = site.barren.get(shape_of(url), 0) + 1
        if not learns(rule):
            return
        retired = site.examples.fetched(url, article=article, rule=site.rule)
        site.changed = True
        if retired is not None:
            logger.warning(
                "pattern given up domain=%s pattern=%s; its pages are no longer articles",
                rule.domain,
                retired,
            )
        self._learn(rule.domain, site)

    def read_text(self, domain: str, url: str, text: str) -> bool:
        """Record an article's URL and text. Return True if they show that a query key carries session ids.

        Raises :class:`newsbot.errors.DataError`; the call may then be repeated.
        """
        if "?" not in url:
            return False
        keys = self._keys[domain] = self._keys.get(domain) or SessionKeys()
        found = keys.saw(url, text)
        if found is None:
            return False
        if self.storage is not None:
            _SESSION_KEYS.write(self.storage, {domain: keys.idle})
        logger.warning(
            "session key learned domain=%s key=%s; articles do not depend on it, so it is removed from URLs"
            " (in the rule: drop_query)",
            domain,
            found,
        )
        return True

    def explores(self, judgement: Judgement, rule: Rule, url: str) -> bool:
        """Return True if a rejected link is fetched anyway.

        At most the configured share of the rejected links is fetched. Their number is also at most half this
        share of the number of fetched pages, so that a site with many rejected links does not cost many
        downloads.
        """
        if judgement.reason not in EXPLORED_REASONS or self._share <= 0.0:
            return False
        site = self._site(rule.domain)
        site.links += 1
        if site.explored + 1 > self._share * min(site.links, site.pages * OF_PAGES):
            return False
        if site.barren.get(shape_of(url), 0) >= MAX_BARREN:
            return False
        if int.from_bytes(fingerprint(url)[:4], "big") % 1000 >= 1000 * max(self._share, 0.1):
            return False  # a hash of the URL selects the links, so that not only the first ones are explored
        site.explored += 1
        return True

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Store new results, except those of removed sites (``is_out`` is True for their domains).

        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        if self.storage is None:
            return
        _SHAPES.write(self.storage, {"all": self.of_all_sites})
        for domain, site in self._sites.items():
            if site.changed and not is_out(domain) and self._write(self.storage, domain, site):
                site.changed = False

    def _write(self, storage: Notes, domain: str, site: _Site) -> bool:
        """Merge a site's results with those of other workers and store them.

        Returns False if they could not be stored completely. All workers then use the rule that was learned
        last from the examples of all workers.
        """
        told = storage.all(NOTE_KIND + domain)

        # This function is called again if another worker writes at the same time. Merging may learn a new
        # rule, so the rule is written after the examples.
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
        """Add to ``site`` the notes ``told``, which another worker may have written in the meantime."""
        try:
            site.examples.merge(told.get("examples", {}))
            site.shapes.take(site.examples.articles, site.examples.others)
            self._learn(domain, site)
            learned = told.get("rule")
            mine = None if site.rule is None else site.rule.plain()
            # The other worker's rule is used only if this worker has not learned a newer one itself.
            if learned is not None and learned != site.kept and mine in (None, site.kept):
                site.rule, site.kept = learned_from(learned), dict(learned)
        except ValueError as error:
            logger.warning("learned data damaged domain=%s fault=%s; it is replaced", domain, error)

    def _site(self, domain: str) -> _Site:
        site = self._sites.get(domain)
        if site is None:
            if len(self._sites) >= MAX_SITES:  # keep only unwritten results; the others can be read again
                unwritten = {name: one for name, one in self._sites.items() if one.changed}
                self._sites = unwritten if len(unwritten) < MAX_SITES else {}
            site = _Site() if self.storage is None else _Site(*kept(self.storage, domain))
            site.kept = None if site.rule is None else site.rule.plain()
            site.shapes.take(site.examples.articles, site.examples.others)
            if self.storage is not None and not self._sites:  # with the first site, load those of all sites
                self.of_all_sites.merge(self.storage.all(SHAPES_NOTE).get("all", {}))
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
    """Return the examples and the learned rule of a site from earlier crawls."""
    notes = storage.all(NOTE_KIND + domain)
    examples, rule = Examples(), None
    try:
        examples.merge(notes.get("examples", {}))
        if "rule" in notes:
            rule = learned_from(notes["rule"])
            examples.learned_at = examples.seen  # the stored rule was learned from these examples
    except ValueError as error:
        logger.warning("learned patterns damaged domain=%s fault=%s; learning starts again", domain, error)
    return examples, rule


def _latest(_: dict[str, Any] | None, rule: dict[str, Any]) -> dict[str, Any]:
    return rule


def _with_keys(note: dict[str, Any] | None, keys: Iterable[str]) -> dict[str, Any]:
    return {"keys": sorted({*keys, *map(str, (note or {}).get("keys") or ())})}


def _with_shapes(note: dict[str, Any] | None, shapes: ShapesOfAll) -> dict[str, Any]:
    shapes.merge(note or {})
    return shapes.plain()


_SHAPES = SharedNotes(SHAPES_NOTE, _with_shapes)
_SESSION_KEYS = SharedNotes(SESSION_NOTE, _with_keys)


def session_keys(storage: Notes) -> dict[str, tuple[str, ...]]:
    """Return the query keys that carry session ids, by domain."""
    known = storage.all(SESSION_NOTE)
    return {domain: tuple(map(str, note.get("keys") or ())) for domain, note in known.items()}


def learns(rule: Rule) -> bool:
    """Return True if the URLs of the rule's site are learned.

    The rule's ``learn`` decides. If it is absent, the URLs are learned if the rule has no article patterns.
    """
    return not rule.article if rule.learn is None else rule.learn


def _label(link: Link) -> bool | None:
    """Return True for an example of an article, False for one of another page, None for neither."""
    if link.kind is not None and link.kind.is_source:
        return None
    if link.where in (Where.FEED, Where.NEWS_SITEMAP):
        return True
    short = link.text is not None and len(link.text.split()) <= SHORT_TEXT
    return False if link.where is Where.NAVIGATION and short else None
