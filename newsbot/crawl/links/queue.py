"""Queues links: each link is judged and, if it is new, recorded and put into the frontier.

The order of writes matters: first the page records, then the frontier entries, then the acknowledgement of
the page that has the links. After a crash in between, that page is read again and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress

from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch
from newsbot.crawl.links.canonical import Canonical
from newsbot.crawl.links.families import Families
from newsbot.crawl.links.feed_details import FeedDetails
from newsbot.crawl.links.judge import LINKS_AT_ONCE, LinkJudge
from newsbot.crawl.links.lists import Lists
from newsbot.crawl.links.room import Room
from newsbot.crawl.links.spellings import Spellings
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Added, Entry, known_of
from newsbot.items import Kind, Where, batched
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.session_keys import SessionLearning
from newsbot.urls import canonicalize, host_key


@dataclass(eq=False, kw_only=True)
class Links:
    """Queues the seeds of a crawl and the links of its pages.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    context: Context
    scope: Scope
    politeness: Politeness
    registry: SourceRegistry
    judge: LinkJudge
    lists: Lists
    families: Families
    canonical: Canonical
    spellings: Spellings
    feed_details: FeedDetails
    session_keys: SessionLearning
    room: Room

    def queue(self, found: Found, visit: Visit | None = None) -> int:
        """Judge and queue links. Return the number of links that were not known before."""
        return sum(new for some in parts(found, visit) for new in self.steps(some, visit))

    def queue_released(self, visit: Visit) -> None:
        """After a visit, queue the links that waited for its result."""
        has_sitemap = self.registry.of(visit.rule.domain).sitemap
        batch = self.families.end(visit, has_sitemap=has_sitemap)
        self.queue_waiting(batch, visit)
        for found, source in self.room.released(visit):
            self.queue(found, source)

    def queue_waiting(self, batch: Batch, visit: Visit | None) -> int:
        """Queue waiting links. Return the number of links that were not known before."""
        # ``force`` is needed for links that were leased while their family was closed. Families.leave has
        # marked them as done.
        fitting = self.room.fit(list(batch.entries.values()))  # the other links go on waiting
        batch.entries = {entry.fingerprint: entry for entry in fitting}
        new = self._queue(batch, visit, force=True)
        self.families.queued(batch)
        return new

    def steps(self, found: Found, visit: Visit | None) -> Iterator[int]:
        """Judge and queue links in steps that take less than 50 ms.

        Yields after each step the number of links that were not known before. ``visit`` is the visit of the
        page that has the links; None for seeds.
        """
        if visit is not None and visit.kind.is_listing and found.site is None:
            found = self._without_new_hosts(found, visit)
        batch, judging = Batch(), self.judge.judge(found, visit)
        while True:
            with self.context.timed("judge"):
                judged = next(judging, None)
            if judged is None:
                break
            batch = judged
            yield 0
        # These two calls compare all links of the page, so they are made after the last link is judged.
        with self.context.timed("judge"):
            self.families.weigh(batch, visit)
            self.lists.weigh(batch, visit)
        self._check_session_keys(found, visit)
        self.context.count("links/found", len(found.links))
        for reason, number in batch.rejected.items():
            self.context.count(f"links/rejected/{reason}", number)
        for some in (batch,) if visit is None else _pieces(batch):
            with self.context.timed("queue"):
                new = self._queue(some, visit, force=found.force)
            yield new

    def _without_new_hosts(self, found: Found, visit: Visit) -> Found:
        """Return the links of a feed or sitemap without the links that must wait (:meth:`Room.admit`)."""
        later = []
        for link in found.links:
            with suppress(ValueError):  # the URL is not valid; the judge rejects it
                host = host_key(link.url)
                if self.judge.may_go_to(link, self.context.rule_for(link.url), visit) and not self.room.admit(
                    visit.rule.domain, host
                ):
                    later.append(link)
        if not later:
            return found
        self.context.count("links/host_held", len(later))
        self.room.hold(later, found, visit)
        left = set(map(id, later))
        return replace(found, links=tuple(link for link in found.links if id(link) not in left))

    def _check_session_keys(self, found: Found, visit: Visit | None) -> None:
        """Compare the headlines of links whose URLs differ only in learned session keys."""
        for link in found.links:
            if not link.text or "?" not in link.url:
                continue
            with suppress(ValueError):  # the URL is not valid
                rule = self.context.rule_for(link.url)
                url = canonicalize(link.url)
                short = canonicalize(url, rule.drop_query)
                if short != url and self.judge.given_by(rule, found, visit).counts_for(rule.domain):
                    self.session_keys.listed(rule.domain, url, short, link.text)

    def _queue(self, batch: Batch, visit: Visit | None, *, force: bool) -> int:
        entries = list(batch.entries.values())
        if visit is not None and not force:
            every, entries = entries, self.room.fit(entries)
            visit.settling.left_out += len(every) - len(entries)
        if not entries:
            return 0
        fitting = {entry.fingerprint for entry in entries}
        self.context.storage.pages.discover([one for one in batch.pages if one.fingerprint in fitting])
        asked = visit is None or visit.data.get("where") == Where.ARGUMENT
        # The frontier must know a host's delay before the first entry is added, because another worker may
        # lease the entry at once.
        for host, entry in {entry.host: entry for entry in entries}.items():
            self._introduce(host, self.context.rule_for(entry.url), asked=asked)
        verdicts = self.context.frontier.add(entries, force=force)
        if not force:  # with force, the frontier has already replaced URL and data of known pages
            known = list(compress(entries, (one is not Added.NEW for one in verdicts)))
            self.spellings.offer(known)
            self.feed_details.take(known)
        if visit is None and not force and (changed := self._differently_stored(entries)):
            self.context.frontier.add(changed, force=True)
        self._read_claimed(entries, verdicts)
        new = sum(verdict is Added.NEW for verdict in verdicts)
        self.context.count("links/new", new)
        self.context.count("links/known", len(verdicts) - new)
        # A guessed feed may not exist, so it counts as a source only after its first visit (usual_places).
        self.registry.found(
            [one for one in entries if one.kind.is_listing and one.data["where"] != Where.GUESS]
        )
        return new

    def offer(self, entries: list[Entry]) -> None:
        """Use the URL spellings that the sites of known pages give; see :meth:`Spellings.offer`."""
        for entry in entries:
            self._introduce(entry.host, self.context.rule_for(entry.url), asked=False)
        self.spellings.offer(entries)

    def queue_spelling(self, entry: Entry, *, again: bool) -> None:
        """Queue another spelling of a URL that has a page record.

        With ``again``, done URLs are queued too.
        """
        self._introduce(entry.host, self.context.rule_for(entry.url), asked=False)
        self.context.frontier.add([entry], force=again)

    def _read_claimed(self, entries: list[Entry], verdicts: list[Added]) -> None:
        """Queue addresses that were marked as done by a claim, if the site also lists them as pages."""
        known = [
            entry
            for entry, verdict in zip(entries, verdicts, strict=True)
            if verdict is Added.KNOWN and entry.kind in (Kind.ARTICLE, Kind.SECTION)
        ]
        if offered := self.canonical.offered_by_themselves(known):
            self.context.frontier.add(offered, force=True)
            self.context.count("canonical/read_after_all", len(offered))

    def _introduce(self, host: str, rule: Rule, *, asked: bool) -> None:
        """Set the politeness of a host in the frontier, and add the host to the scope if it belongs there.

        If the host belongs to another site that has a rule and is not in the scope, it is not added: its
        pages wait for a crawl of that site. ``asked`` means that the URL is a seed, or is linked on a page
        that a person requested. Its host is then added in any case.
        """
        self.politeness.introduce(host, rule)
        if not self.scope.accepts(host) and (asked or self.context.rules.get(rule.domain) is None):
            self.scope.named_hosts.add(host)

    def _differently_stored(self, entries: list[Entry]) -> list[Entry]:
        """Return the sources that a rule names and that must replace their entries in the frontier.

        A stored entry is replaced if it has another kind, is never due, or has a spelling from another site.
        The frontier does not change entries that are done, so the caller queues the sources with ``force``.
        """
        named = {
            entry.fingerprint: entry
            for entry in entries
            if entry.data["where"] == Where.SEED and entry.kind.is_source
        }
        changed = []
        for key, known in known_of(self.context.frontier, named.values()).items():
            stored = self.context.frontier.entry(key) if known.state == "done" else None
            if stored is not None:
                otherwise = known.next_due is None or stored.kind is not named[key].kind
                otherwise |= not self.spellings.given_by_site(stored.data, stored.url)
                changed += [named[key]] * otherwise
        return changed


def _pieces(batch: Batch) -> Iterator[Batch]:
    """Split a batch into pieces of :data:`LINKS_AT_ONCE`, one for each transaction."""
    pages = {page.fingerprint: page for page in batch.pages}
    for some in batched(batch.entries.items(), LINKS_AT_ONCE):
        yield Batch(entries=dict(some), pages=[pages[key] for key, _ in some])


def parts(found: Found, visit: Visit | None) -> Iterator[Found]:
    """Split the links of a long feed or sitemap into parts of :data:`LINKS_AT_ONCE`.

    Queueing 50,000 links at once would take 100 MB, which Python does not return to the system. The links of
    an HTML page stay together, because each link is judged by comparison with the other links.
    :meth:`Links.steps` divides this work into steps.
    """
    links = found.links
    if visit is None or not visit.kind.is_listing or len(links) <= LINKS_AT_ONCE:
        yield found
        return
    for some in batched(links, LINKS_AT_ONCE):
        yield replace(found, links=tuple(some))
