"""Learns during a crawl what the URLs of each site look like, and stores the result for the next crawl.

The examples are links of feeds and menus, and fetched pages (:class:`newsbot.pages.rules.learn.Examples`).
From them a *learned rule* is computed (:mod:`newsbot.pages.rules.learn`). It is computed again when the site
has a quarter more examples, or when a pattern is removed because its pages are no longer articles. The
learned rule only decides the order of links, and is proposed to people (``scrapy rules learn``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.items import Link, Where, batched
from newsbot.pages.rules.learn import Examples, LearnedRule, learned_from
from newsbot.pages.rules.rule import Rule
from newsbot.storage.notes import AT_ONCE, NoteName, Notes, SharedNotes
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

MAX_SITES = 5000
"""Maximum number of sites whose examples are kept in memory."""
SHORT_TEXT = 3
"""Maximum number of words in the text of a menu link. A longer text is not the name of a section."""
NOTE_KIND = "addresses:"
"""Prefix of the kind of the notes with a site's examples and learned rule. The domain follows it."""


@dataclass(slots=True)
class _Site:
    examples: Examples = field(default_factory=Examples)
    rule: LearnedRule | None = None
    kept: dict[str, Any] | None = None
    """The learned rule as this worker last read it from the storage or wrote it there."""
    changed: bool = False
    """True if there are new results that are not stored yet."""


class UrlLearning:
    """Learns the URLs of all sites of one crawl."""

    def __init__(self) -> None:
        self._sites: dict[str, _Site] = {}
        self.storage: Notes | None = None

    def rule(self, rule: Rule) -> LearnedRule | None:
        """Return the learned rule of a site; None if there are not enough examples yet, or if learning is
        off."""
        return self._site(rule.domain).rule if learns(rule) else None

    def heard(self, rule: Rule, links: Iterable[Link]) -> None:
        """Add the links of a page, feed or sitemap as examples."""
        labelled = [(link, article) for link in links if (article := _label(link)) is not None]
        if not labelled or not learns(rule):
            return  # seeds have no label; this avoids loading the notes of thousands of sites
        site = self._site(rule.domain)
        for link, article in labelled:
            try:
                url = canonicalize(link.url, rule.drop_query)
            except ValueError:
                continue
            site.examples.heard(url, article=article)
            site.changed = True
        self._learn(rule.domain, site)

    def fetched(self, rule: Rule, url: str, *, article: bool) -> None:
        """Record whether a page that was fetched as an article was an article."""
        if not learns(rule):
            return
        site = self._site(rule.domain)
        retired = site.examples.fetched(url, article=article, rule=site.rule)
        site.changed = True
        if retired is not None:
            logger.warning(
                "pattern given up domain=%s pattern=%s; its pages are no longer articles",
                rule.domain,
                retired,
            )
        self._learn(rule.domain, site)

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Store new results, except results of removed sites (``is_out`` is True for their domains).

        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        if self.storage is None:
            return
        changed = [domain for domain, site in self._sites.items() if site.changed and not is_out(domain)]
        for some in batched(changed, AT_ONCE):
            self._write(self.storage, {name: self._sites[name] for name in some})

    def _write(self, storage: Notes, sites: Mapping[str, _Site]) -> None:
        """Merge the results of sites with the results of other workers, and store them.

        After that, all workers use the rule that was last learned from the examples of all workers.
        """
        rules = _RULES.read(storage, sites)

        # The storage calls this function again if another worker writes at the same time. Merging may learn a
        # new rule, so the rule is written after the examples.
        def examples(note: dict[str, Any] | None, domain: str) -> dict[str, Any]:
            rule = {"rule": rules[domain]} if domain in rules else {}
            self._merge(domain, sites[domain], {**rule, "examples": note or {}})
            return sites[domain].examples.plain()

        shared = SharedNotes[str](NOTE_KIND, examples, key="examples")
        stored = {name: sites[name] for name in shared.write(storage, {name: name for name in sites})}
        learned = {name: site.rule.plain() for name, site in stored.items() if site.rule is not None}
        written = _RULES.write(storage, learned)
        for domain, site in stored.items():
            site.kept = written.get(domain, site.kept)
            # Other workers wrote first too often, so the rule is written at the next call.
            site.changed = domain in learned and domain not in written

    def _merge(self, domain: str, site: _Site, notes: Mapping[str, Any]) -> None:
        """Add to ``site`` the ``notes`` that another worker may have written in the meantime."""
        try:
            site.examples.merge(notes.get("examples", {}))
            self._learn(domain, site)
            learned = notes.get("rule")
            mine = None if site.rule is None else site.rule.plain()
            # The other worker's rule is used only if this worker has not learned a newer one itself.
            if learned is not None and learned != site.kept and mine in (None, site.kept):
                site.rule, site.kept = learned_from(learned), dict(learned)
        except ValueError as error:
            logger.warning("learned data damaged domain=%s fault=%s; learning starts again", domain, error)

    def _site(self, domain: str) -> _Site:
        site = self._sites.get(domain)
        if site is None:
            if len(self._sites) >= MAX_SITES:  # only unwritten results are kept; the rest can be read again
                unwritten = {name: one for name, one in self._sites.items() if one.changed}
                self._sites = unwritten if len(unwritten) < MAX_SITES else {}
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


def note_names(domain: str) -> tuple[NoteName, NoteName]:
    """Return the names of a site's notes: its examples and its learned rule."""
    return (NOTE_KIND + domain, "examples"), (NOTE_KIND + domain, "rule")


def kept(storage: Notes, domain: str) -> tuple[Examples, LearnedRule | None]:
    """Return the examples and the learned rule of a site from earlier crawls."""
    names = note_names(domain)
    found = storage.get_many(names)
    stored_examples, stored_rule = map(found.get, names)
    examples, rule = Examples(), None
    try:
        examples.merge(stored_examples or {})
        if stored_rule is not None:
            rule = learned_from(stored_rule)
            examples.learned_at = examples.seen  # the stored rule was learned from these examples
    except ValueError as error:
        logger.warning("learned patterns damaged domain=%s fault=%s; learning starts again", domain, error)
    return examples, rule


def _latest(_: dict[str, Any] | None, rule: dict[str, Any]) -> dict[str, Any]:
    return rule


_RULES = SharedNotes(NOTE_KIND, _latest, key="rule")


def learns(rule: Rule) -> bool:
    """Return True if the URLs of the rule's site are learned.

    The rule's ``learn`` decides. If it is absent, the URLs are learned if the rule has no article patterns.
    """
    return not rule.article if rule.learn is None else rule.learn


def _label(link: Link) -> bool | None:
    """Return True for an example of an article, False for an example of another page, else None."""
    if link.kind is not None and link.kind.is_source:
        return None
    if link.where in (Where.FEED, Where.NEWS_SITEMAP):
        return True
    short = link.text is not None and len(link.text.split()) <= SHORT_TEXT
    return False if link.where is Where.NAVIGATION and short else None
