"""Decides which links are fetched by the families of their addresses, and keeps all other links.

A link that no rule, feed, news sitemap or person names belongs to a family (:mod:`newsbot.ranking.families`).
If the family is open, the link is queued. Otherwise it is *held*: it is stored as a waiting link, and costs
no request. A few links are fetched as samples. When a family opens, its waiting links are queued; no source
has to be read again.

The knowledge about families is shared by all workers. Before a worker takes a sample, it reads what the other
workers have learned.

:class:`Lists` decides how far a list is read, and whether it led to articles. A site may link to hundreds of
calendar days, tags and months of an archive. Such lists are families, as articles are: one list of a family
is read first, and the others wait until it has led to new articles. The pages of one list are read one after
the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch, entry_again, page_for
from newsbot.crawl.scope import Scope
from newsbot.crawl.sources import SourceRegistry
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, EntryData, Known, Lease, known_of
from newsbot.items import Bounded, EventKind, Kind, Link, Reason, Where, read_reason
from newsbot.pages.discovery.list_pages import (
    ListWalks,
    above,
    is_archive,
    is_archive_front,
    is_index,
    narrows,
)
from newsbot.pages.extraction.verdict import REQUIRED, Standing
from newsbot.pages.rules.rule import Rule, classify
from newsbot.ranking.families import (
    LISTS,
    SAMPLES,
    Family,
    FamilyNotes,
    Result,
    SiteFamilies,
    State,
    family_of,
    list_family,
)
from newsbot.ranking.judging import PATIENT_PRIORITY
from newsbot.storage.base import WaitingLink
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_WAITING = 2000
"""Maximum number of waiting links of a family."""
MAX_HELD, MAX_LISTED = 50_000, 100_000
"""Maximum numbers of fingerprints of held links, and of links that sources list, that are kept in memory."""
_FOUND_ON_PAGES = frozenset((Where.BODY, Where.NAVIGATION))
SAMPLE_PRIORITY = 5.0
"""Priority of samples on a site that names its articles. They are fetched last."""
_NAMED = frozenset((Where.FEED, Where.NEWS_SITEMAP, Where.PUSH, Where.SEED, Where.ARGUMENT))
OF_FAMILIES = frozenset((Reason.LIKELY_ARTICLE, Reason.SAMPLE, Reason.NOT_IN_RULE))
FOUND_LISTS = frozenset((Reason.LIST, Reason.SUBJECT_LIST))
"""Reasons of lists that no rule names."""
_QUEUED = frozenset(("pending", "leased"))
_COPIES = frozenset((Reason.SAME_TEXT, Reason.UNCHANGED, Reason.COPY))


class Families:
    """The families of the sites of one crawl. All methods raise :class:`newsbot.errors.DataError`."""

    def __init__(self, context: Context, notes: FamilyNotes, *, explore: float) -> None:
        """``explore`` is NEWSBOT_EXPLORE."""
        self._context, self._notes, self._explore = context, notes, explore
        self._held = Bounded[bytes, None](MAX_HELD)
        """Fingerprints of links that this worker has stored as waiting links."""
        self._touched: set[str] = set()
        """Domains whose links were held since the last call of :meth:`end`."""
        self._listed = Bounded[bytes, None](MAX_LISTED)
        """Fingerprints of the links that the sites' own feeds and sitemaps list."""
        self._urgent: set[str] = set()
        """Domains with results that must be stored before the lease of the visit ends."""

    # --- what is known
    def of(self, domain: str) -> SiteFamilies:
        """Return the families of a site."""
        return self._notes.of(self._context.notes, domain)

    def standing(self, visit: Visit) -> Standing:
        """Return what is known of the page of a visit before it is read."""
        data = visit.data
        if data.get("where") in (Where.ARGUMENT, Where.SEED) or _is_asked(visit.lease.entry):
            return Standing.NAMED
        # The family of a sample may have opened since the sample was queued.
        is_open = self.of(visit.rule.domain).state(self._name(visit.lease.entry)) is State.OPEN
        return Standing.MEMBER if is_open else Standing.SAMPLE

    def is_open(self, domain: str, url: str) -> bool:
        """Return True if the family of a canonical URL is open."""
        return self.of(domain).state(family_of(url)) is State.OPEN

    def heard(self, rule: Rule, links: Iterable[Link]) -> None:
        """Record the families whose members the site's own feeds and sitemaps name."""
        site = None
        for link in links:
            named = link.where in (Where.FEED, Where.NEWS_SITEMAP)
            listed = link.where in (Where.SITEMAP, Where.NEWS_SITEMAP)
            if not (named or listed) or (link.kind is not None and link.kind.is_source):
                continue
            site = site or self.of(rule.domain)
            try:
                url = canonicalize(link.url, rule.drop_query)
            except ValueError:
                continue
            key = fingerprint(url)
            self._listed[key] = None
            if key.hex() in site.beside:
                self._add(rule.domain, Result(listed=(key.hex(),)))
            name = family_of(url)
            known = site.families.get(name) or Family()
            if (named and not known.named) or (listed and not known.listed):
                self._add(rule.domain, Result(family=name, is_named=named, is_listed=listed))
                self._urgent.add(rule.domain)

    def fetched(self, visit: Visit, refusal: str | None) -> None:
        """Record the result of the first visit of a page.

        ``refusal`` is the reason why the page is not an article; empty for an article, None if nothing is
        known of the page.
        """
        entry, data = visit.lease.entry, visit.data
        if visit.record is not None and visit.record.last_full_fetch is not None:
            return
        why = read_reason(data.get("why"))[0]
        named = data.get("where") in _NAMED or why == Reason.RULE or _is_asked(entry)
        name, domain = self._name(entry), visit.rule.domain
        if refusal is None:
            if not named:
                self._add(domain, Result(family=name, is_void=True))
            return
        if not refusal and not named:
            dropped = {
                read_reason(event.get("reason"))[0].partition(" ")[0]
                for event in visit.events
                if event["event"] == EventKind.DROPPED
            }
            is_copy = dropped & _COPIES or (visit.kept.is_copy and why == Reason.SAMPLE)
            refusal = Reason.COPY.value if is_copy else ""
        evidence = visit.reading.evidence
        site = self.of(domain)
        strong = evidence is not None and (
            evidence.odds + site.witnesses.agreement(evidence) >= REQUIRED[Standing.ALONE]
        )
        witness = strong and not refusal and data.get("where") not in (Where.PUSH, Where.ARGUMENT)
        is_found = data.get("where") in _FOUND_ON_PAGES and entry.fingerprint not in self._listed
        result = Result(
            family=name,
            named=named,
            refusal=refusal,
            is_weak=not refusal and not strong,
            beside=None if refusal or not is_found else (entry.fingerprint.hex(), data["discovered_at"]),
            evidence=evidence if witness else None,
        )
        before = site.state(name)
        if refusal == "no_evidence" and not named and before is not State.OPEN:
            result = replace(result, lacking=entry.fingerprint.hex())
        self._add(domain, result)
        if site.state(name) is not before or result.lacking:
            self._urgent.add(domain)

    def _add(self, domain: str, result: Result) -> None:
        self._notes.add(self._context.notes, domain, result)

    # --- links
    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Remove from the batch the links whose family is not open, and store them as waiting links."""
        if visit is not None and (visit.record is None or visit.record.last_full_fetch is None):
            self._wait_for_sources(visit.rule.domain, batch)
        asked = {key: entry for key, entry in batch.entries.items() if _is_unnamed(entry)}
        known = known_of(self._context.frontier, asked.values())
        held: list[tuple[str, Entry]] = []
        for key, entry in asked.items():
            if key in known:
                continue
            name, site = self._family(entry), self.of(entry.data["source"])
            is_open = entry.data["why"] != Reason.NOT_IN_RULE and site.state(name) is State.OPEN
            if is_open:
                continue
            del batch.entries[key]
            held.append((name, entry))
            self._touched.add(entry.data["source"])
            batch.rejected[Reason.WAITS] += 1
            # A list that leads to links of unknown families may be worth reading if nothing else names
            # articles.
            if entry.kind is Kind.SECTION or (not site.articles and site.state(name) is State.UNKNOWN):
                batch.held[key] = entry
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]
        self._hold(held, visit)

    def _hold(self, held: list[tuple[str, Entry]], visit: Visit | None) -> None:
        new = [(name, entry) for name, entry in held if entry.fingerprint not in self._held]
        if not new:
            return
        self._context.storage.waiting.save([_packed(name, entry) for name, entry in new], MAX_WAITING)
        best: dict[tuple[str, str], float] = {}
        for name, entry in new:
            key = entry.data["source"], name
            best[key] = max(best.get(key, 0.0), entry.priority)
            self._held[entry.fingerprint] = None
        counts = {domain: self._context.storage.waiting.counts(domain) for domain in {one[0] for one in best}}
        for (domain, name), priority in best.items():
            number = counts[domain].get(name, 0)
            family = self.of(domain).families.get(name)
            highest = max(priority, 0.0 if family is None else family.best)
            if family is None or not family.waiting:
                self._urgent.add(domain)
            self._add(domain, Result(family=name, waiting=number, best=highest))
            if number >= MAX_WAITING and visit is not None:
                # Older links were dropped. The next visit must read this page in full, even if it is
                # unchanged.
                visit.reads_again = True

    def _wait_for_sources(self, domain: str, batch: Batch) -> None:
        """Record the feeds and sitemaps that a page names. Samples wait until one of them was visited.

        They do not wait for guesses that are rarely right.
        """
        named = [
            key
            for key, entry in batch.entries.items()
            if entry.kind.is_listing
            and (entry.data.get("where") != Where.GUESS or entry.priority > PATIENT_PRIORITY)
        ]
        site = self.of(domain)
        new = tuple(key.hex() for key in named if key.hex() not in site.awaited)
        if new and not site.has_source:
            self._add(domain, Result(awaited=new))
            self._urgent.add(domain)

    def _awaits_sources(self, domain: str) -> bool:
        """Return True if the domain's feeds and sitemaps are still to be visited, by any worker."""
        awaited = [bytes.fromhex(key) for key in self.of(domain).awaited]
        known = self._context.frontier.known(awaited) if awaited else {}
        left = {key for key, one in known.items() if one.state in _QUEUED and one.last_fetched is None}
        if visited := tuple(key.hex() for key in known if key not in left):
            self._add(domain, Result(visited=visited))
        return bool(left)

    def end(self, visit: Visit, *, has_sitemap: bool) -> Batch:
        """Return the waiting links that may be queued after a visit. :meth:`queued` must be called after
        that.

        ``has_sitemap`` is True if a sitemap of the site is known to exist.
        """
        domain = visit.rule.domain
        if visit.kind.is_listing:
            self._arrived(visit)
        needs_lists = self.needs_lists(domain, has_sitemap=has_sitemap)
        released = self._released(domain, needs_lists=needs_lists) + self._enough_now(domain)
        # The page may have been redirected to another site, or a feed may list articles of several sites.
        for other in sorted(self._touched - {domain}):
            released += self._released(other, needs_lists=False)
        self._touched.clear()
        entries = {entry.fingerprint: entry for entry in released}
        pages = [page_for(entry, self._context.clock()) for entry in entries.values()]
        return Batch(entries=entries, pages=pages)

    def _arrived(self, visit: Visit) -> None:
        """Record that a feed or sitemap was visited, also if it was unchanged."""
        domain, key = visit.rule.domain, visit.lease.entry.fingerprint.hex()
        site, is_read = self.of(domain), not visit.guessed and not visit.outcome.failed
        if key in site.awaited or (is_read and not site.has_source):
            self._add(domain, Result(visited=(key,), has_source=is_read))
        if visit.kind.is_sitemap and not visit.outcome.failed and (site.beside or not site.heard_at):
            self._add(domain, Result(heard_at=self._context.clock()))

    def _enough_now(self, domain: str) -> list[Entry]:
        """Return the samples that had too little evidence while nothing was known of their family."""
        site, found = self.of(domain), []
        for name, family in list(site.families.items()):
            if not family.lacking or site.state(name) is not State.OPEN:
                continue
            for page in self._context.storage.pages.get([*map(bytes.fromhex, family.lacking)]).values():
                again = entry_again(page)
                data: EntryData = {**again.data, "why": Reason.LIKELY_ARTICLE.value, "force": True}
                found.append(replace(again, due=0.0, data={**data, "discovered_at": self._context.clock()}))
        return found

    def queued(self, batch: Batch) -> None:
        """Delete the waiting links that were queued, and store what a worker that is killed must not lose."""
        if batch.entries:
            self._forget_waiting(batch)
        self._store()

    def _store(self) -> None:
        for domain in sorted(self._urgent):
            self._notes.write(self._context.notes, only=domain)
            self._urgent.discard(domain)

    def _forget_waiting(self, batch: Batch) -> None:
        self._context.storage.waiting.forget(list(batch.entries))
        queued = {key.hex() for key in batch.entries}
        for domain in {entry.data["source"] for entry in batch.entries.values()}:
            for name, family in list(self.of(domain).families.items()):
                if queued.intersection(family.lacking):
                    self._add(domain, Result(family=name, is_retried=True))
                    self._urgent.add(domain)
            self._recount(domain)

    def _recount(self, domain: str) -> None:
        counts = self._context.storage.waiting.counts(domain)
        for name, family in list(self.of(domain).families.items()):
            if family.waiting != (number := counts.get(name, 0)):
                self._add(domain, Result(family=name, waiting=number, best=family.best if number else 0.0))

    def _released(self, domain: str, *, needs_lists: bool) -> list[Entry]:
        """Return the links of open families, and samples."""
        site, now = self.of(domain), self._context.clock()
        waiting = [name for name, family in site.families.items() if family.waiting > 0]
        if not waiting:
            return []
        rule = self._context.rules.get(domain)
        ruled = rule is not None and bool(rule.article) and not rule.learn
        found: list[Entry] = []
        for name in sorted(waiting, key=site.promise):
            is_open = site.state(name) is State.OPEN
            if not is_open and ((ruled and not name.startswith(LISTS)) or self._awaits_sources(domain)):
                continue
            found += self._taken(domain, name, is_open=is_open, needs_lists=needs_lists, now=now)
            site = self.of(domain)
        return found

    def _taken(self, domain: str, name: str, *, is_open: bool, needs_lists: bool, now: float) -> list[Entry]:
        """Return the links of one family that may be queued now."""
        site, is_list = self.of(domain), name.startswith(LISTS)
        number = MAX_WAITING
        if not is_open:
            if not site.may_fetch(name, now, self._explore, needs_lists=needs_lists):
                return []
            # Other workers may have taken samples in the meantime.
            self._notes.write(self._context.notes, only=domain)
            site, number = self.of(domain), 0
            while number < SAMPLES and site.may_fetch(name, now, self._explore, needs_lists=needs_lists):
                self._add(domain, Result(family=name, sampled_at=now))
                number += 1
            if not number:
                return []
            self._notes.write(self._context.notes, only=domain)
        of_family = self._context.storage.waiting.of_family
        links = of_family(domain, name, MAX_WAITING if is_list else number)
        if is_list and not is_open and links:
            # A site links to its newest months first. Their articles are on the home page and in the feed. So
            # the second list that is tried is the last one.
            links.sort(key=lambda link: link.at)
            links = links[-1:] if site.families[name].bad % 2 else links[:1]
        why = None if is_list else Reason.LIKELY_ARTICLE if is_open else Reason.SAMPLE
        entries = [entry for link in links if (entry := self._entry(link, why)) is not None]
        if not is_open and not is_list and site.names_articles:
            entries = [replace(entry, priority=SAMPLE_PRIORITY) for entry in entries]
        known = known_of(self._context.frontier, entries)
        done = [key for key, one in known.items() if not _is_unread(one)]
        if done or not links:
            self._context.storage.waiting.forget(done)
            self._recount(domain)
        entries = [entry for entry in entries if entry.fingerprint not in done]
        if not is_open:
            for _ in range(number - len(entries)):  # fewer links waited than samples were allowed
                self._add(domain, Result(family=name, is_void=True))
        return entries

    def _entry(self, link: WaitingLink, why: Reason | None) -> Entry | None:
        rule = self._context.rules.get(link.source)
        return unpacked(link, rule.drop_query if rule is not None else (), why)

    # --- lists
    def needs_lists(self, domain: str, *, has_sitemap: bool) -> bool:
        """Return True if lists lead to articles of the site that its feeds and sitemaps do not name.

        This is also expected if the site's sitemaps cannot be read, or list no articles.
        """
        site = self.of(domain)
        if not has_sitemap or site.has_unlisted:
            return True
        return not site.lists_articles and not self._awaits_sources(domain)

    def tell_list(self, entry: Entry, *, fruitful: bool | None) -> None:
        """Record whether a list led to new articles. If it did, the lists above it do, too.

        For example, if the list of a month has articles, the lists of other years lead to more of them.
        ``fruitful`` is None if nobody knows yet, because no article of the site is known. Another list is
        then tried if the site's budget allows it.
        """
        domain, names = entry.data["source"], {self._family(entry)}
        if fruitful:
            higher = {list_family(self._canonical(url)) for url in above(entry.url)}
            names |= higher & self.of(domain).families.keys()
        refusal = "" if fruitful else Reason.BARREN_LIST.value
        may_waste = self.of(domain).may_waste(self._context.clock(), self._explore, listed=False)
        is_void = fruitful is None and may_waste
        self._urgent.add(domain)
        named = None if is_void else False
        for name in names:
            self._add(
                domain, Result(family=name, named=named, refusal=refusal, is_list=True, is_void=is_void)
            )

    def leads_on(self, entry: Entry) -> None:
        """Record that a list has only lists below it. They decide whether it was worth reading."""
        self._add(entry.data["source"], Result(family=self._family(entry), leads_on=True))
        self._urgent.add(entry.data["source"])

    # --- leases
    def left(self, lease: Lease) -> Reason | None:
        """Return the reason why a leased entry is not fetched, or None if it must be fetched."""
        entry = lease.entry
        if not _is_unnamed(entry) or entry.data["why"] == Reason.SAMPLE or lease.last_fetched is not None:
            return None
        site, name = self.of(entry.data["source"]), self._family(entry)
        if site.is_needless(name):
            return Reason.WAITS
        if site.state(name) is not State.CLOSED:
            return None
        is_sample = entry.kind is Kind.SECTION and site.families[name].in_flight(self._context.clock())
        return None if is_sample else Reason.WAITS

    def leave(self, lease: Lease, reason: Reason) -> None:
        """End a lease whose entry is not fetched because of ``reason``.

        The link waits again. The host's turn (the time reserved for the request) is returned, so that another
        entry can use it.
        """
        entry, pages = lease.entry, self._context.storage.pages
        now = self._context.clock()
        record = pages.get([entry.fingerprint]).get(entry.fingerprint) or page_for(entry, now)
        record.state, record.next_due = "done", None
        record.history = [{"at": round(now, 3), "event": EventKind.LEFT.value, "reason": reason.value}]
        pages.save([record])
        if reason is Reason.WAITS:
            self._held.pop(entry.fingerprint, None)
            self._hold([(self._family(entry), entry)], None)
            self._store()
        self._context.frontier.ack(lease, next_due=None, fetched=False)
        self._context.frontier.return_turn(entry.host, lease.turn)
        self._context.count(f"left/{reason}")

    # --- rules
    def matching(self, rule: Rule) -> Batch:
        """Return the waiting links that match the article patterns of a rule, if the rule has changed.

        :meth:`queued` must be called after they are queued.
        """
        site = self.of(rule.domain)
        digest = hashlib.sha256(
            repr([pattern.text for pattern in (*rule.article, *rule.deny)]).encode()
        ).hexdigest()[:12]
        if site.rule == digest:
            return Batch()
        found: dict[bytes, Entry] = {}
        for entry in (*self._waiting_of(rule.domain), *self._refused(rule.domain)):
            if classify(rule, canonicalize(entry.url, rule.drop_query)).kind is Kind.ARTICLE:
                found[entry.fingerprint] = entry
        self._add(rule.domain, Result(rule=digest))
        now = self._context.clock()
        return Batch(entries=found, pages=[page_for(entry, now) for entry in found.values()])

    def _waiting_of(self, domain: str) -> Iterator[Entry]:
        """Yield the waiting links of a site, as articles that the rule names."""
        for name, family in self.of(domain).families.items():
            if family.waiting > 0:
                for link in self._context.storage.waiting.of_family(domain, name, MAX_WAITING):
                    if (entry := self._entry(link, Reason.RULE)) is not None:
                        yield replace(entry, kind=Kind.ARTICLE)

    def _refused(self, domain: str) -> Iterator[Entry]:
        """Yield the pages of a site that were read as lists, or that had too little evidence of being
        articles."""
        for page in self._context.storage.pages.iter(site=domain):
            refused = page.last(EventKind.NOT_AN_ARTICLE)
            lacks = refused is not None and refused.get("reason") in ("no_evidence", "section_front")
            if page.kind is Kind.SECTION or (lacks and page.last(EventKind.STORED) is None):
                again = entry_again(page)
                # ``force`` is needed because the page may be younger than its interval. A visit counts as
                # forced until the page is fetched after its discovery.
                data: EntryData = {
                    **again.data,
                    "why": Reason.RULE.value,
                    "force": True,
                    "discovered_at": self._context.clock(),
                }
                yield replace(again, kind=Kind.ARTICLE, due=0.0, data=data)

    def _family(self, entry: Entry) -> str:
        """Return the family of a link: of lists, or of articles."""
        if entry.kind is not Kind.SECTION:
            return self._name(entry)
        by_subject = entry.data.get("why") == Reason.SUBJECT_LIST
        return list_family(self._canonical(entry.url, entry.data["source"]), by_subject=by_subject)

    def _name(self, entry: Entry) -> str:
        return family_of(self._canonical(entry.url, entry.data["source"]))

    def _canonical(self, url: str, domain: str = "") -> str:
        rule = self._context.rules.get(domain) or self._context.rule_for(url)
        return canonicalize(url, rule.drop_query)


def _is_unnamed(entry: Entry) -> bool:
    """Return True if neither a rule, feed or news sitemap nor a person has named the link."""
    if entry.kind is Kind.SECTION:
        return is_found_list(entry) and not entry.data.get("force")
    of_families = entry.data.get("why") in OF_FAMILIES and not entry.data.get("force")
    return entry.kind is Kind.ARTICLE and of_families


def is_found_list(entry: Entry) -> bool:
    """Return True for the first page of a list that no rule names."""
    is_next = entry.data.get("where") == Where.NEXT_PAGE
    return entry.kind is Kind.SECTION and entry.data.get("why") in FOUND_LISTS and not is_next


def _is_asked(entry: Entry) -> bool:
    """Return True if a person asked for the page as an article, and not for a list that is read at once."""
    return bool(entry.data.get("force")) and not entry.kind.is_source and not entry.data.get("again")


def _is_unread(known: Known) -> bool:
    """Return True if the frontier has marked a URL as done without a fetch."""
    return known.state == "done" and known.last_fetched is None


def _packed(name: str, entry: Entry) -> WaitingLink:
    data = {name: value for name, value in entry.data.items() if name != "source"}
    body: dict[str, object] = {"url": entry.url, "kind": entry.kind.value, "depth": entry.depth, "data": data}
    return WaitingLink(
        fingerprint=entry.fingerprint,
        source=entry.data["source"],
        family=name,
        at=entry.data["discovered_at"],
        priority=entry.priority,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
    )


def unpacked(link: WaitingLink, drop_query: tuple[str, ...], why: Reason | None) -> Entry | None:
    """Return the frontier entry of a waiting link; None if its body is damaged.

    ``drop_query`` are the keys that the site's rule removes. ``why`` is the reason why it is queued; None for
    the reason with which it was found.
    """
    try:
        body = json.loads(link.body)
        name = canonicalize(body["url"], drop_query)
        return Entry(
            url=body["url"],
            fingerprint=fingerprint(name),
            host=host_key(body["url"]),
            kind=Kind(body["kind"]),
            priority=link.priority,
            depth=int(body["depth"]),
            data=cast(
                "EntryData",
                {**body["data"], "source": link.source, **({} if why is None else {"why": why.value})},
            ),
        )
    except (ValueError, KeyError, TypeError):
        return None


# --- lists
class Lists:
    """Records the results of lists. All methods raise :class:`newsbot.errors.DataError`."""

    def __init__(self, context: Context, scope: Scope, registry: SourceRegistry, families: Families) -> None:
        self._context, self._scope, self._registry, self._families = context, scope, registry, families
        self._walks = ListWalks()

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Record the result of the visited list. Remove the link to its next page if it is not worth
        reading."""
        if visit is None:
            return
        # The reader passes links to next pages in a separate batch, after the other links. The result of the
        # first batch is then in visit.settling.goes_on.
        of_next_pages = bool(batch.entries) and all(map(_is_next_page, batch.entries.values()))
        if visit.kind is Kind.SECTION and not of_next_pages:
            self._tell(batch, visit, fruitful=self._is_fruitful(batch, visit))
        if not visit.settling.goes_on:
            for key in [key for key, entry in batch.entries.items() if _is_next_page(entry)]:
                del batch.entries[key]
                batch.rejected[Reason.BARREN_LIST] += 1
            batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def end(self, visit: Visit) -> None:
        """Record that a list could not be read, and the date of an article."""
        # Many lists have no dates. The date of an article shows how far back the list that links to it goes.
        published = from_iso(visit.reading.published_at)
        if published is not None and visit.data.get("referrer"):
            self._walks.dated(visit.data["referrer"] or "", published.timestamp())
        if visit.outcome.failed and visit.outcome.error not in (Reason.TOO_YOUNG, Reason.OURS):
            self._tell(Batch(), visit, fruitful=False)

    def _is_fruitful(self, batch: Batch, visit: Visit) -> bool | None:
        """Return True if a list led to new articles, and None if it led only to links of unknown families.

        Sets ``visit.settling.goes_on``, which says whether the next page of the list is worth reading. At the
        first visit of a page, or if the crawl has the argument ``since``, the page must show articles that
        are recent enough and were not on the preceding pages. At later visits, at least half of the page's
        articles must be new.
        """
        found = {**batch.entries, **batch.held}
        articles = {key: entry for key, entry in found.items() if _is_likely(entry)}
        new_ones = articles.keys() - known_of(self._context.frontier, articles.values())
        new = len(new_ones)
        domain, url, entry = visit.rule.domain, visit.lease.entry.url, visit.lease.entry
        before = entry.data.get("referrer") if _is_next_page(entry) else None
        unread = self._walks.read(domain, url, before, articles)
        for one in articles.values():
            if (listed := from_iso(one.data.get("published_at"))) is not None:
                self._walks.dated(url, listed.timestamp())
        has_sitemap = self._registry.of(domain).sitemap
        if not new and not self._families.needs_lists(domain, has_sitemap=has_sitemap):
            visit.settling.goes_on = False
        elif _is_first(visit) or self._scope.arguments.since is not None:
            since = self._scope.since_of_lists(self._walks.shown(domain))
            is_old = since is not None and self._walks.is_older(url, since.timestamp())
            visit.settling.goes_on = unread and not is_old
        else:
            visit.settling.goes_on = bool(new) and 2 * new >= len(articles)
        return None if new and new_ones <= batch.held.keys() else bool(new)

    def _tell(self, batch: Batch, visit: Visit, *, fruitful: bool | None) -> None:
        """Record the result of the first visit of a list.

        An archive page of a year that leads only to months has no result yet. The page of a month will
        decide.
        """
        entry = visit.lease.entry
        is_next = _is_next_page(entry) and fruitful is not False
        if visit.settling.told or not _is_first(visit) or not (is_next or is_found_list(entry)):
            return
        below = any(is_found_list(one) and _leads_on(one, entry.url) for one in batch.held.values())
        if fruitful is False and below:
            self._families.leads_on(entry)
        else:
            self._families.tell_list(entry, fruitful=is_next or fruitful)
        visit.settling.told = True


def _is_first(visit: Visit) -> bool:
    return visit.record is None or visit.record.last_full_fetch is None


def _is_next_page(entry: Entry) -> bool:
    """Return True for the second or a later page of a list."""
    return entry.data.get("where") == Where.NEXT_PAGE


def _is_likely(entry: Entry) -> bool:
    """Return True for a link to a probable article. Samples of families do not count."""
    return entry.kind is Kind.ARTICLE and entry.data["why"] != Reason.SAMPLE


def _leads_on(entry: Entry, page: str) -> bool:
    """Return True if the list of ``entry`` is one level below the list at the URL ``page``.

    Examples are the months of a year, the days of a month, the years on the front page of an archive, and the
    tags on the page that lists all tags.
    """
    url = entry.url
    of_index = is_index(page) and entry.data["why"] == Reason.SUBJECT_LIST and not is_index(url)
    return narrows(url, page) or (is_archive_front(page) and is_archive(url)) or of_index
