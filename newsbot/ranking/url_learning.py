"""Learns during a crawl what the URLs of each site look like, and stores the result for the next crawl.

The examples are links of feeds and menus, and fetched pages (:class:`newsbot.rules.learn.Examples`). From
them a *learned rule* is computed (:mod:`newsbot.rules.learn`). It is computed again when the site has a
quarter more examples, or when a pattern is removed because its pages are no longer articles. A few rejected
links are fetched anyway, so that a redesign of the site is noticed. These links are *explored*
(NEWSBOT_EXPLORE).

A *shape* is a URL whose variable parts are replaced by ``*`` and ``#`` (:func:`shape_of`). Some URLs have the
words and numbers of an article (``/gallery/ten-best-pictures-7``, ``/2024/05/4711/``), but their pages may be
anything. A shape is *proven* if the site's feed or sitemap lists URLs of this shape, or if pages of this
shape were articles. It has *failed* if at least :data:`ENOUGH` of its pages were not articles. Other shapes
are doubtful: a few pages are fetched, and the other links of the shape wait for the result. A shape that a
feed lists can fail too, but only for links that the feed does not list.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.discovery.list_pages import shape_of as list_shape
from newsbot.items import Bounded, Link, Reason, Where, batched
from newsbot.ranking.judging import Judgement
from newsbot.rules.learn import Examples, LearnedRule, learned_from
from newsbot.rules.rule import Rule
from newsbot.rules.shape import kind_of, split_path
from newsbot.storage.notes import AT_ONCE, NoteName, Notes, SharedNotes
from newsbot.urls import canonicalize, fingerprint

ENOUGH = 2
"""A shape has failed only if at least this number of its pages were not articles."""
LEAST_SHARE = 0.3
"""A shape has failed only if less than this share of its fetched pages were articles."""
ENOUGH_UNLISTED = 5
"""Used instead of :data:`ENOUGH` for shapes that a feed or sitemap lists. For these shapes, only pages that
are not listed by any source are counted."""
MANY_SITES = 3
"""Number of sites on which a shape must fail before it is skipped on other sites. A shape that succeeded on
any site is not skipped."""
MAX_SHAPES = 500
"""Maximum number of shapes that are stored for one site, and for all sites together."""
_MAX_SITES = 5
"""Maximum number of domains that are stored for a shape of all sites."""
_NUMBERS = re.compile(r"\d+")
_SHORT_CODE = 9
_ID_IN_FRONT = re.compile(r"\d{5}")
"""Matches an id at the start of a segment. The number in ``37-million-for-a-race`` is not an id."""
_LONG_WORD = 20
"""Maximum number of characters of a word. Longer texts are most likely slugs without hyphens."""


def shape_of(url: str) -> str:
    """Return the shape of a URL, e.g. ``/sport/*#.html`` or ``/?p&a=b``.

    Short words are kept. ``*`` replaces other text, ``#`` replaces a number. Values in the query that
    identify a page are left out.
    """
    _, segments, extension, slash, query = split_path(url)
    parts = [_part(segment) for segment in segments]
    path = "/" + "/".join(parts) + (f".{extension}" if extension else "") + ("/" if slash and parts else "")
    # sorted, because sites write the keys of a query in any order
    keys = sorted(key if _is_value(value) else f"{key}={value}" for key, _, value in _pairs(query))
    return path + ("?" + "&".join(keys) if keys else "")


def _part(segment: str) -> str:
    """Return the shape of one segment of the path."""
    kind = kind_of(segment)
    if kind == "word":
        return segment.lower() if len(segment) <= _LONG_WORD else "*"
    # An id at either end of a slug is part of the shape: "12345-a-headline", "a-headline-12345".
    if kind in ("slug", "mixed", "other"):
        in_front = _ID_IN_FRONT.match(segment) is not None
        # '#' * True is "#", and '#' * False is empty
        return f"{'#' * in_front}*{'#' * segment[-1:].isdecimal()}"
    return _NUMBERS.sub("#", segment) if len(segment) < _SHORT_CODE else "#"


def _pairs(query: str) -> Iterable[tuple[str, str, str]]:
    return (part.partition("=") for part in query.split("&")[:8] if part)


def _is_value(value: str) -> bool:
    """Return True for a value that identifies a page; other values belong to the shape (``view=print``)."""
    return any(map(str.isdecimal, value)) or len(value) > _LONG_WORD or not value


@dataclass(slots=True)
class Shapes:
    """The evidence about the shapes of one site."""

    named: set[str] = field(default_factory=set)
    """Shapes of the URLs that a feed or sitemap lists."""
    good: Counter[str] = field(default_factory=Counter)
    """Shape -> number of fetched pages that were articles."""
    bad: Counter[str] = field(default_factory=Counter)
    """Shape -> number of fetched pages that were not articles."""
    unlisted: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """(Shape, True for articles) -> number of pages that were fetched in this crawl and that no source
    lists."""

    def name(self, url: str) -> None:
        """Record a URL that a feed or sitemap lists."""
        if len(self.named) < MAX_SHAPES:
            self.named.add(shape_of(url))

    def fetched(self, url: str, *, article: bool, listed: bool = True) -> None:
        """Record whether a page was an article. ``listed`` is True if a feed, sitemap or rule led to it."""
        counter, shape = self.good if article else self.bad, shape_of(url)
        # when the limit is reached, known shapes are still counted
        if len(counter) < MAX_SHAPES or shape in counter:
            counter[shape] += 1
            self.unlisted[shape, article] += not listed

    def take(self, articles: Mapping[str, bool], others: Mapping[str, bool]) -> None:
        """Load the stored examples of articles and of other pages.

        Both map a URL to True if it was fetched. An article that was not fetched is listed by a feed or
        sitemap. Other pages that were not fetched are not evidence.
        """
        # the larger count is kept, because this crawl may have counted some of the pages already
        good = Counter(shape_of(url) for url, fetched in articles.items() if fetched)
        bad = Counter(shape_of(url) for url, fetched in others.items() if fetched)
        for counter, found in ((self.good, good), (self.bad, bad)):
            for shape, number in found.items():
                if shape in counter or len(counter) < MAX_SHAPES:
                    counter[shape] = max(counter[shape], number)
        for url, fetched in articles.items():
            if not fetched:
                self.name(url)

    def has_failed(self, shape: str) -> bool:
        """Return True if the shape has failed: links of this shape that no source lists are not articles."""
        good, bad, enough = self.good[shape], self.bad[shape], ENOUGH
        # Results for articles that a feed lists do not apply to the unlisted pages of the same shape.
        if shape in self.named:
            good, bad, enough = self.unlisted[shape, True], self.unlisted[shape, False], ENOUGH_UNLISTED
        return bad >= enough and good < LEAST_SHARE * (good + bad)

    def is_proven(self, shape: str) -> bool:
        """Return True if the shape is proven: pages of this shape are articles."""
        return (shape in self.named or self.good[shape] > 0) and not self.has_failed(shape)

    @property
    def lost(self) -> int:
        """Return the number of fetched pages that were not articles, except pages of listed or proven
        shapes."""
        return sum(
            number
            for shape, number in self.bad.items()
            if shape not in self.named and not self.is_proven(shape)
        )


class ShapesOfAll:
    """The shapes that failed or succeeded on each site. A shape that failed on many sites is skipped on other
    sites."""

    def __init__(self) -> None:
        self.failed = Bounded[str, list[str]](MAX_SHAPES)
        """Shape -> the first :data:`_MAX_SITES` domains on which it failed."""
        self.good = Bounded[str, list[str]](MAX_SHAPES)
        """Shape -> the first :data:`_MAX_SITES` domains on which it succeeded."""

    def record(self, domain: str, shape: str, *, good: bool) -> None:
        """Record that pages of a shape were articles on a site (``good``), or that they were not."""
        home = self.good if good else self.failed
        domains = home.setdefault(shape, [])
        if domain not in domains and len(domains) < _MAX_SITES:
            domains.append(domain)

    def is_hopeless(self, shape: str) -> bool:
        """Return True if a shape failed on many sites and succeeded on none."""
        return len(self.failed.get(shape, ())) >= MANY_SITES and shape not in self.good

    def plain(self) -> dict[str, Any]:
        """Return the shapes as a JSON-serializable mapping."""
        return {"failed": self.failed, "good": self.good}

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add the :meth:`plain` value of another worker or an earlier crawl. Invalid parts are ignored."""
        for name, good in (("failed", False), ("good", True)):
            shapes = plain.get(name)
            for shape, domains in shapes.items() if isinstance(shapes, dict) else ():
                for domain in domains if isinstance(domains, list) else ():
                    self.record(str(domain), str(shape), good=good)


logger = logging.getLogger(__name__)

MAX_SITES = 5000
"""Maximum number of sites whose examples are kept in memory."""
SHORT_TEXT = 3
"""Maximum number of words in the text of a menu link. A longer text is not the name of a section."""
EXPLORED_REASONS = frozenset((Reason.UNLIKELY_ARTICLE, Reason.NOT_IN_RULE))
OF_PAGES = 0.5
"""NEWSBOT_EXPLORE times this factor is the maximum share of explored pages among all fetched pages."""
EXPLORED_PRIORITY = 5.0
"""Priority of explored links. It is low, so that they are fetched last."""
MAX_BARREN = 3
"""A shape is no longer explored after this number of its explored pages were not articles."""
NOTE_KIND = "addresses:"
"""Prefix of the kind of the notes with a site's examples and learned rule. The domain follows it."""
SHAPES_NOTE = "address_shapes"
"""The kind of the note with the shapes of URLs that failed or succeeded on several sites."""


@dataclass(slots=True)
class _Site:
    examples: Examples = field(default_factory=Examples)
    rule: LearnedRule | None = None
    kept: dict[str, Any] | None = None
    """The learned rule as this worker last read it from the storage or wrote it there."""
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
        self.of_all_sites = ShapesOfAll()
        self.storage: Notes | None = None

    def rule(self, rule: Rule) -> LearnedRule | None:
        """Return the learned rule of a site; None if there are not enough examples yet, or if learning is
        off."""
        return self._site(rule.domain).rule if learns(rule) else None

    def vouches(self, rule: Rule, url: str) -> bool:
        """Return True if the site's learned rule, and not only the global prior, accepts an article's URL."""
        learned = self.rule(rule)
        return learned is not None and bool(learned.trees) and learned.is_article(url)

    def shapes(self, domain: str) -> Shapes:
        """Return the evidence about the shapes of a site's URLs."""
        return self._site(domain).shapes

    def may_lose(self, domain: str) -> float:
        """Return how many pages that are not articles may be fetched to test unlisted shapes.

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
        """Record whether a page that was fetched as an article was an article.

        ``why`` is the :class:`newsbot.items.Reason` for which it was queued.
        """
        site = self._site(rule.domain)
        site.pages += 1
        site.shapes.fetched(url, article=article, listed=why != Reason.LIKELY_ARTICLE)
        shape = shape_of(url)
        # If pages of a shape usually are articles on this site, a page that is not an article does not count
        # for other sites.
        if article or not (shape in site.shapes.named or site.shapes.is_proven(shape)):
            self.of_all_sites.record(rule.domain, shape, good=article)
        if why == Reason.EXPLORED and not article:
            site.barren[list_shape(url)] = site.barren.get(list_shape(url), 0) + 1
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

    def explores(self, judgement: Judgement, rule: Rule, url: str) -> bool:
        """Return True if a rejected link is fetched anyway.

        There are two limits. At most the configured share of the rejected links is fetched. And explored
        pages are at most half this share of all fetched pages, so that a site with many rejected links does
        not cause many downloads.
        """
        if judgement.reason not in EXPLORED_REASONS or self._share <= 0.0:
            return False
        site = self._site(rule.domain)
        site.links += 1
        if site.explored + 1 > self._share * min(site.links, site.pages * OF_PAGES):
            return False
        if site.barren.get(list_shape(url), 0) >= MAX_BARREN:
            return False
        if int.from_bytes(fingerprint(url)[:4], "big") % 1000 >= 1000 * max(self._share, 0.1):
            return False  # a hash of the URL selects links, so that not only the first links are explored
        site.explored += 1
        return True

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Store new results, except results of removed sites (``is_out`` is True for their domains).

        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        if self.storage is None:
            return
        _SHAPES.write(self.storage, {"all": self.of_all_sites})
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
            site.shapes.take(site.examples.articles, site.examples.others)
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
            site.shapes.take(site.examples.articles, site.examples.others)
            if self.storage is not None and not self._sites:  # done once, for all sites
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


def _with_shapes(note: dict[str, Any] | None, shapes: ShapesOfAll) -> dict[str, Any]:
    shapes.merge(note or {})
    return shapes.plain()


_RULES = SharedNotes(NOTE_KIND, _latest, key="rule")
_SHAPES = SharedNotes(SHAPES_NOTE, _with_shapes)


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
