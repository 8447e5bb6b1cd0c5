"""``scrapy remove``: finds and deletes all data of a URL or a domain, and blocks it.

``scrapy prune``: deletes old data: WARC files, earlier versions of articles, and the history of pages.

Database records are deleted in batches, so that running crawls can write between two batches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from newsbot.backends import open_index, open_rules, queued, stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns
from newsbot.clock import iso, parse_duration, system_clock, utc
from newsbot.config.apps import Owner, active_apps, known_apps, load
from newsbot.config.settings import AGE, value_of
from newsbot.crawl.links.usual_places import NOTE_KIND as GUESSES
from newsbot.crawl.sources import HUB
from newsbot.dedup.index import NearIndex
from newsbot.errors import ArgumentError, UserError
from newsbot.items import ArticleFilter, batched
from newsbot.pages.rules import RuleSet
from newsbot.ranking.families import NOTE_KIND as FAMILIES
from newsbot.ranking.url_learning import NOTE_KIND as LESSONS
from newsbot.ranking.url_learning import SESSION_NOTE
from newsbot.sites.health import FULL_QUEUE
from newsbot.sites.health import NOTE_KIND as HEALTH
from newsbot.sites.pauses_and_removals import (
    OF_DOMAIN,
    REFRESH,
    REMOVED,
    forget_texts,
    within,
)
from newsbot.sites.rights import NOTE_KIND as FILES
from newsbot.sites.texts import NOTE_KIND as LINES
from newsbot.sites.texts import PUSHED
from newsbot.storage.base import REMOVED_AT_ONCE, Storage, site_names
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint, host_key


@dataclass(slots=True)
class Found:
    """The data of a URL or a domain."""

    what: str
    domain: str | None
    """The domain that is removed; None if a single URL is removed."""
    articles: list[str] = field(default_factory=list)
    """Canonical URLs of the articles."""
    versions: int = 0
    addresses: list[str] = field(default_factory=list)
    """URLs of the pages, including other URLs of the articles."""
    pages: list[bytes] = field(default_factory=list)
    """Keys of the pages that have a record."""
    sources: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    """Sites whose data are deleted completely."""

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of items by kind, under the names shown to people."""
        return {
            "articles": len(self.articles),
            "versions": self.versions,
            "pages": len(self.pages),
            "sources": len(self.sources),
        }


def keep_out(notes: Notes, *, urls: list[str], domain: str | None, at: float, reason: str) -> None:
    """Write a note for each of ``urls`` (canonical) or for ``domain``. URLs with a note are not collected
    again.

    ``at`` is in POSIX seconds. ``reason`` is the user's text, which is stored with the note. It may be empty.
    """
    note: dict[str, Any] = {"at": at, **({"reason": reason} if reason else {})}
    for key in [*urls, *([OF_DOMAIN + domain] if domain else [])]:
        notes.save(REMOVED, key, note)


def buried(notes: Notes) -> list[tuple[str, dict[str, Any]]]:
    """Return all removed domains and URLs with their notes, latest first."""
    kept = notes.all(REMOVED).items()
    return sorted(
        ((key.removeprefix(OF_DOMAIN), note) for key, note in kept), key=lambda one: (-one[1]["at"], one[0])
    )


def find_url(url: str, rules: RuleSet, storage: Storage) -> Found:
    """Return the data of one URL: its page, and its article with all other URLs of that article.

    Raises ``ValueError`` if ``url`` is not an absolute http(s) URL.
    """
    # The page may be stored with or without the query parameters that the rule drops, because the rule may
    # have changed after the page was stored.
    names = {canonicalize(url), canonicalize(url, rules.for_url(url).drop_query)}
    found = Found(what=url, domain=None)
    for article in {one.canonical_url: one for name in names if (one := storage.articles.get(name))}.values():
        found.articles.append(article.canonical_url)
        found.versions += len(storage.articles.versions(article.canonical_url)) - 1
        names |= {article.canonical_url, canonicalize(article.url)}
        names.update(storage.removal.addresses([article.canonical_url]))
    found.addresses = sorted(names)
    found.pages = list(storage.pages.get([fingerprint(name) for name in found.addresses]))
    found.sources = [record.url for record in storage.sources.iter() if _canonical(record.url) in names]
    return found


def find_domain(domain: str, storage: Storage) -> Found:
    """Return the data of a domain and its subdomains.

    If there is a site with this domain, all its pages are included, even pages on other hosts. A site can
    have such pages because its feed lists them.
    """
    found = Found(what=domain, domain=domain)
    only = frozenset((domain,))

    def belongs(url: str, source: str) -> bool:
        return source == domain or within(host_key(url), only)

    # Two groups of sites are searched: sites of the domain and its subdomains, and sites of its parent
    # domains. A site of a parent domain may have pages on this domain.
    sites = chain([domain], site_names(storage.sites))
    related = {site for site in sites if within(site, only) or within(domain, frozenset((site,)))}
    found.sites = sorted(site for site in related if within(site, only))
    for site in sorted(related):
        for article in storage.articles.iter(ArticleFilter(source=site)):
            if belongs(article.canonical_url, site):
                found.articles.append(article.canonical_url)
                found.versions += article.version - 1
        found.pages += [page.fingerprint for page in storage.pages.iter(site=site) if belongs(page.url, site)]
        found.sources += [record.url for record in storage.sources.all(site) if belongs(record.url, site)]
    return found


def remove(found: Found, storage: Storage, index: NearIndex, *, reason: str = "") -> None:
    """Block the URLs or the domain, then delete their data. It is safe to call this again after an error.

    The note of the removal is written first, so that a running crawl does not collect the data again.
    ``reason`` is stored in the note. Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    at = system_clock()
    keep_out(storage.notes, urls=found.addresses, domain=found.domain, at=at, reason=reason)
    taker = storage.removal
    for some in batched(found.articles, REMOVED_AT_ONCE):
        # The texts are deleted from the index before the articles are deleted. If an error occurs between the
        # two steps, the articles still exist. A repeated call then finds their texts in the index.
        forget_texts(index, some, at)
        taker.articles(some)
    # URLs without a page record are included: search results and checks can exist without one.
    for keys in batched(dict.fromkeys([*found.pages, *map(fingerprint, found.addresses)]), REMOVED_AT_ONCE):
        taker.pages(keys)
        storage.waiting.forget(keys)
    for urls in batched(found.sources, REMOVED_AT_ONCE):
        taker.sources(urls)
    for site in found.sites:
        taker.site(site)
    _forget_notes(found, storage)
    for app in known_apps().values():
        # An app without a repository for this storage has no data there.
        is_there = all(storage.place in classes for classes in app.repositories.values())
        for place in app.removal if is_there else ():
            load(place)(found, storage)


OWNERS: Mapping[str, Owner] = {
    LESSONS: Owner.SITE_IN_KIND,
    LINES: Owner.SITE_IN_KIND,
    GUESSES: Owner.SITE_IN_KIND,
    HEALTH: Owner.SITE,
    FAMILIES: Owner.SITE,
    FULL_QUEUE: Owner.SITE,
    SESSION_NOTE: Owner.SITE,
    FILES: Owner.HOST_IN_KIND,
    HUB: Owner.PAGE,
    PUSHED: Owner.PAGE,
}
"""The owners of the notes that the core writes about sites, hosts and pages. Apps name the others."""


def _forget_notes(found: Found, storage: Storage) -> None:
    """Delete the notes and the waiting links whose owner is removed."""
    notes = storage.notes
    names = {_canonical(url) for url in (*found.addresses, *found.sources)}
    only = frozenset([] if found.domain is None else [found.domain])
    hosts = {host_key(url) for url in (*found.articles, *found.sources) if within(host_key(url), only)}
    for site in found.sites:
        storage.waiting.forget_site(site)
    for kind, owner in _owners().items():
        if owner is Owner.PAGE:
            for url in notes.all(kind):
                if _canonical(url) in names or within(host_key(url), only):
                    notes.forget(kind, url)
        elif owner is Owner.SITE:
            for site in found.sites:
                notes.forget(kind, site)
        else:
            for name in found.sites if owner is Owner.SITE_IN_KIND else {*only, *hosts}:
                for key in notes.all(kind + name):
                    notes.forget(kind + name, key)


def _owners() -> Mapping[str, Owner]:
    owners = dict(OWNERS)
    for app in known_apps().values():
        owners |= app.notes
    return owners


def wait_for_crawls(seconds: float) -> None:
    """Sleep for ``seconds``, so that all running crawls read the notes of removals again."""
    time.sleep(seconds)


def _canonical(url: str) -> str:
    try:
        return canonicalize(url)
    except ValueError:
        return url


def take_out(call: Call) -> None:
    """Show how many items are stored for a URL or a domain, or delete these items (``--yes``).

    ``--list`` shows the blocked URLs and domains. ``--allow`` unblocks the URLs and domains that the user
    names.
    """
    options = call.options
    if options.list:
        _list(call)
        return
    if not options.what:
        raise ArgumentError("give a URL, a domain, or --list")
    with stored(call.settings) as storage:
        if options.allow:
            _allow(call, storage)
            return
        rules = open_rules(call.settings)
        found = [_find(what, rules, storage) for what in options.what]
        if options.yes:
            _remove(call, storage, found, rules)
    if call.json:
        call.document([{"what": one.what, **one.counts, "removed": options.yes} for one in found])
        return
    titles = columns("what * | articles > | versions > | pages > | sources >")
    call.table(titles, ((one.what, *one.counts.values()) for one in found))
    call.note(
        "removed and blocked; WARC files and exports are unchanged"
        if options.yes
        else "no data were removed; add --yes to delete them and to block the URL or domain"
    )


def _find(what: str, rules: RuleSet, storage: Storage) -> Found:
    try:
        if "://" in what:
            return find_url(what, rules, storage)
        if "/" in what or "." not in what:
            raise ArgumentError(f"{what}: is neither a URL (https://...) nor a domain such as example.org")
        return find_domain(host_key(f"http://{what}/"), storage)
    except ValueError as error:
        raise ArgumentError(f"{what}: {error}") from error


def _remove(call: Call, storage: Storage, found: list[Found], rules: RuleSet) -> None:
    with closing(open_index(call.settings)) as index, queued(call.settings) as frontier:
        for one in found:
            remove(one, storage, index, reason=call.options.reason)
        if not frontier.owners():
            return
        # Pages that a crawl was fetching when the note was written may still be stored.
        call.note(
            f"a crawl is running; the data that it stores in the next {REFRESH:.0f} s will be deleted too"
        )
        # The two additional seconds are for pages that are in the pipelines when a crawl reads the notes.
        wait_for_crawls(REFRESH + 2)
        for one in found:
            remove(_find(one.what, rules, storage), storage, index, reason=call.options.reason)


def removal_of(notes: Notes, key: bytes, host: str) -> tuple[str, dict[str, Any]] | None:
    """Return (removed URL or domain, its note) for a URL; None if the URL was not removed.

    ``key`` is the fingerprint of the URL, and ``host`` is its host.
    """
    for what, note in buried(notes):
        is_url = "://" in what
        if (is_url and fingerprint(what) == key) or (not is_url and within(host, frozenset((what,)))):
            return what, note
    return None


def allow_again(notes: Notes, what: str) -> bool:
    """Delete the note of a URL or domain. Return False if there was no note."""
    keys = [OF_DOMAIN + what.lower(), what]
    with suppress(ValueError):  # a domain is not a URL
        keys.append(canonicalize(what))
    deleted = [notes.forget(REMOVED, key) for key in dict.fromkeys(keys)]
    return any(deleted)


def _allow(call: Call, storage: Storage) -> None:
    unknown = [what for what in call.options.what if not allow_again(storage.notes, what)]
    if unknown:
        raise UserError(f"{unknown[0]}: is not blocked; {PROGRAM} remove --list shows what is blocked")
    call.note("unblocked; newsbot can collect it again")


def _list(call: Call) -> None:
    with stored(call.settings) as storage:
        kept = buried(storage.notes)
    rows = [(iso(utc(note["at"])), what, note.get("reason", "")) for what, note in kept]
    call.listing(
        [{"at": at, "what": what, "reason": reason} for at, what, reason in rows],
        columns("since | what * | reason *"),
        rows,
        empty="no URL or domain is blocked",
    )


ACTIONS = (
    Action(
        "",
        "Count the data of a URL or a domain; with --yes delete the data and block the URL or domain",
        take_out,
        Argument("what", nargs="*", metavar="URL|DOMAIN", help="a URL, or a domain with its subdomains"),
        Argument("--yes", action="store_true", help="delete the data (default: only count them)"),
        Argument("--reason", metavar="TEXT", default="", help="stored with the block, e.g. a reference"),
        Argument("--list", action="store_true", help="list the blocked URLs and domains"),
        Argument("--allow", action="store_true", help="unblock it, so that it can be collected again"),
        writes=True,
    ),
)


BATCH = 1000
WHAT = {
    "raw": "NEWSBOT_KEEP_RAW",
    "versions": "NEWSBOT_KEEP_VERSIONS",
    "pages": "NEWSBOT_KEEP_PAGES",
}
"""The kinds of data, and for each kind the setting with its maximum age."""


def prune(call: Call) -> None:
    """Show how many items of each kind are old, or delete these items (``--yes``)."""
    counts = _prune(call, _moments(call))
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table(columns("what | old >"), list(counts.items()))
    note = "deleted" if call.options.yes else "no data were deleted; add --yes to delete them"
    call.note(note if counts else f"all data are kept; to delete old data, set {', '.join(WHAT.values())}")


def _moments(call: Call) -> dict[str, float]:
    """Return the time (POSIX seconds) before which each kind of data is old.

    Kinds that are kept forever are left out.
    """
    now = time.time()
    found = {}
    for what, setting in WHAT.items():
        age = getattr(call.options, what) or value_of(call.settings, setting)
        if age is not None:
            found[what] = now - age
    return found


def _prune(call: Call, moments: dict[str, float]) -> dict[str, int]:
    """Return the number of old items of each kind. With ``--yes`` these items are deleted."""
    delete: bool = call.options.yes
    counts = dict.fromkeys(moments, 0)
    for app in active_apps(call.settings.get("NEWSBOT_APPS")):
        for what, place in app.pruning.items():
            if what in moments:
                counts[what] = load(place)(call.settings, moments[what], delete=delete)
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as storage:
            removal = storage.removal
            if "versions" in moments:
                moment = utc(moments["versions"])
                counts["versions"] = removal.old_versions(moment)
                while delete and removal.drop_versions(moment, BATCH):
                    pass
            if "pages" in moments:
                # Only history and referrers of pages that are never due again are deleted. The records stay,
                # so that a crawl still knows the URLs.
                counts["pages"] = removal.old_pages(moments["pages"])
                while delete and removal.slim_pages(moments["pages"], BATCH):
                    pass
    return counts


def age(text: str) -> float:
    """Parse the maximum age of data; return seconds (``type`` of an argument)."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < AGE.least:
        raise argparse.ArgumentTypeError(f"{text!r} is less than an hour, the minimum")
    return seconds


PRUNING = (
    Action(
        "",
        "Count the old data; with --yes delete them",
        prune,
        Argument("--yes", action="store_true", help="delete the data (default: only count them)"),
        Argument("--raw", metavar="AGE", type=age, help="maximum age of WARC files, e.g. 90d"),
        Argument("--versions", metavar="AGE", type=age, help="maximum age of earlier article versions"),
        Argument("--pages", metavar="AGE", type=age, help="maximum age of page history and referrers"),
        writes=True,
    ),
)
