"""Learns during a crawl what the URLs of each site look like: those of articles, and those with session ids.

The results are stored for the next crawl, and shared by all workers.

**URLs of articles.** The examples are links of feeds and menus, and fetched pages
(:class:`newsbot.pages.rules.learn.Examples`). From them a *learned rule* is computed
(:mod:`newsbot.pages.rules.learn`). It is computed again when the site has a quarter more examples, or when a
pattern is removed because its pages are no longer articles. The learned rule only decides the order of links,
and is proposed to people (``scrapy rules learn``).

**Session ids.** URLs that differ only in a *session id* are one page. Query keys with common names are
removed from every URL (:mod:`newsbot.urls`). Other session keys are detected by comparing the texts of
fetched articles. A key is *idle* in the URLs of one form (:func:`newsbot.urls.path_form`) if several articles
each had the same text under two values of the key, and no article had a different text under another value.
Some sites write a new id into all of their links. Without this detection, all articles of these sites would
be fetched again at each visit.

Only links that the site itself gives are evidence, because anybody can add a key to the URL of a page. A key
is *refuted* if a value selects the text. It is then never removed again: if it was idle before, the site's
lists show several headlines under URLs that differ only in this key.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.cli.program import PROGRAM
from newsbot.items import Bounded, Link, Where, batched
from newsbot.pages.rules.learn import Examples, LearnedRule, learned_from
from newsbot.pages.rules.rule import Rule
from newsbot.storage.notes import AT_ONCE, NoteName, Notes, SharedNotes
from newsbot.urls import canonicalize, path_form

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


# --- session keys
SESSION_NOTE = "session_keys"
"""The kind of the notes with a domain's idle and refuted query keys."""
ENOUGH_TEXTS = 3
"""Minimum number of articles with different texts that show that a key is idle.

Each article must have had the same text under two values of the key.
"""
MAX_KEYS = 20
"""Maximum number of keys of a site that are checked, counted for each form of URLs."""
MAX_FORMS = 500
"""Maximum number of URLs (without the key) that are stored for each key."""
MAX_LISTED = 10_000
"""Maximum number of URLs, of all sites, whose last headline is kept."""
_MAX_PAIRS = 8
"""Maximum number of keys of one URL that are checked."""
# At least six characters with a digit and a letter (the two look-aheads), such as "a8f3k2", or at least 20
# characters of any kind, such as "PHPSESSIDabcdefghijk".
_TOKEN = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{6,128}|[\w.-]{20,128}", re.ASCII)
"""Matches a value that looks like a session id: random characters, and not a word or a number."""


@dataclass(slots=True)
class SessionKeys:
    """The evidence about the query keys of one site. All keys are written as in :func:`keys_of`."""

    idle: set[str] = field(default_factory=set)
    """Keys whose value has no influence on the page."""
    refuted: set[str] = field(default_factory=set)
    """Keys whose value selects the page. They are not checked again."""
    _seen: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Key -> URL without the key -> (value of the key, hash of the text) at the first fetch."""
    _same: dict[str, set[str]] = field(default_factory=dict)
    """Key -> hashes of texts that were found under two values of the key."""

    def saw(self, url: str, text: str) -> str | None:
        """Record the URL of a fetched article and the hash of its text.

        Returns a key that is now known to be idle or refuted, or None.
        """
        for key, value, rest in keys_of(url):
            if key in self.idle or key in self.refuted or _TOKEN.fullmatch(value) is None:
                continue
            if (idle := self._is_idle(key, rest, value, text)) is not None:
                (self.idle if idle else self.refuted).add(key)
                self._seen.pop(key, None)
                self._same.pop(key, None)
                return key
        return None

    def _is_idle(self, key: str, rest: str, value: str, text: str) -> bool | None:
        """Record one observation of a key. Return whether the key is idle, or None if this is not known.

        ``rest`` is the URL without the key.
        """
        known = len(self._seen) + len(self.refuted) + len(self.idle)
        if key not in self._seen and known >= MAX_KEYS:
            return None
        seen = self._seen.setdefault(key, {})
        if rest not in seen:
            if len(seen) < MAX_FORMS:
                seen[rest] = value, text
            return None
        value_before, text_before = seen[rest]
        if value_before == value:
            return None  # the same URL was fetched again, and its page may have been edited
        # One page whose text depends on the value is enough: the key selects the content.
        if text_before != text:
            return False
        same = self._same.setdefault(key, set())
        # Different texts are counted, because one text under many values may be an error page.
        same.add(text)
        return True if len(same) >= ENOUGH_TEXTS else None

    def refute(self, keys: set[str]) -> None:
        """Record that the values of these keys select pages."""
        self.idle -= keys
        self.refuted |= keys


def keys_of(url: str) -> list[tuple[str, str, str]]:
    """Return the query keys of a canonical URL, each with its value and the URL without the key.

    A key is written with the form of the path: ``sid /news/*``. :func:`newsbot.urls.canonicalize` removes it
    from the URLs of this form only.
    """
    page, _, query = url.partition("?")
    pairs = query.split("&") if query else []
    form = path_form("/" + page.partition("://")[2].partition("/")[2])
    found = []
    for place, pair in enumerate(pairs[:_MAX_PAIRS]):
        key, _, value = pair.partition("=")
        rest = "&".join(pairs[:place] + pairs[place + 1 :])
        found.append((f"{key.lower()} {form}", value, f"{page}?{rest}"))
    return found


class SessionLearning:
    """Learns the session keys of all sites of one crawl.

    The methods raise :class:`newsbot.errors.DataError`; the call may then be repeated.
    """

    def __init__(self) -> None:
        self._keys = Bounded[str, SessionKeys](MAX_SITES)
        self._listed = Bounded[str, tuple[str, str]](MAX_LISTED)
        """Canonical URL without idle keys -> the URL with these keys, and the headline, in the last list."""
        self.storage: Notes | None = None
        self.changed: Callable[[], object] = lambda: None
        """Called when a key was learned or refuted, so that the rules are made again."""

    def read_text(self, domain: str, url: str, text: str) -> None:
        """Record the canonical URL and the text of an article to which the site itself has linked."""
        if "?" not in url:
            return
        keys = self._of(domain)
        key = keys.saw(url, text)
        if key is not None:
            self._write(domain, keys)
        if key in keys.idle:
            logger.warning(
                "session key learned domain=%s key=%s; articles do not depend on it, so it is removed from"
                " URLs (in the rule: drop_query; to forget it: %s rules learn %s --forget)",
                *(domain, key, PROGRAM, domain),
            )

    def listed(self, domain: str, url: str, short: str, headline: str) -> None:
        """Record a headline in a list of the site. ``short`` is the canonical ``url`` without its idle keys.

        If another headline has the same short URL, the keys are refuted.
        """
        # Commands that only read the learned rules do not need NumPy.
        from newsbot.dedup.decision import headlines_agree  # noqa: PLC0415

        before, said = self._listed.get(short, (url, headline))
        self._listed[short] = url, headline
        if before == url or headlines_agree(said, headline) is not False:
            return
        left = {key: value for key, value, _ in keys_of(before)}
        differ = {key for key, value, _ in keys_of(url) if left.get(key, "") != value} & self._of(domain).idle
        if differ:
            self._of(domain).refute(differ)
            self._write(domain, self._of(domain))
            logger.warning(
                "session key refuted domain=%s key=%s; the site lists different articles under its values",
                domain,
                ", ".join(sorted(differ)),
            )

    def _of(self, domain: str) -> SessionKeys:
        if domain not in self._keys:
            self._keys[domain] = keys = SessionKeys()
            if self.storage is not None:
                _merge(_SESSION_KEYS.read(self.storage, [domain]).get(domain), keys)
        return self._keys[domain]

    def _write(self, domain: str, keys: SessionKeys) -> None:
        if self.storage is not None:
            _SESSION_KEYS.write(self.storage, {domain: keys})
        self.changed()


def _merge(note: Mapping[str, Any] | None, keys: SessionKeys) -> dict[str, Any]:
    """Add to ``keys`` what other workers have stored. A refuted key is never idle again."""
    stored = note or {}
    keys.idle |= set(map(str, stored.get("idle") or ()))
    keys.refute(set(map(str, stored.get("refuted") or ())))
    keys.idle -= keys.refuted
    return {"idle": sorted(keys.idle), "refuted": sorted(keys.refuted)}


_SESSION_KEYS = SharedNotes(SESSION_NOTE, _merge)


def session_keys(storage: Notes) -> dict[str, tuple[str, ...]]:
    """Return the query keys that contain session ids, by domain, each with the form of URLs (see
    :func:`keys_of`)."""
    known = storage.all(SESSION_NOTE)
    return {domain: tuple(map(str, note.get("idle") or ())) for domain, note in known.items()}
