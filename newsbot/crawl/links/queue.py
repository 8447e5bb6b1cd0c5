"""Queues the links that were found: each is judged and, if it is new, recorded and put into the frontier.

The order of writes matters: page records first, then the frontier, and both before the page that gave the
links is acknowledged. After a crash in between the page is only read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import compress

from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch
from newsbot.crawl.links.canonical import Canonical
from newsbot.crawl.links.judge import LinkJudge
from newsbot.crawl.links.list_probing import ListProbing
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Added, Entry
from newsbot.items import Kind, Reason, Where, read_reason
from newsbot.rules.schema import Rule

LINKS_AT_ONCE = 1000
"""Of a feed or sitemap that are judged and queued together."""


class Links:
    """Queues what a crawl begins with and what its pages lead to."""

    def __init__(
        self,
        *,
        context: Context,
        scope: Scope,
        politeness: Politeness,
        registry: SourceRegistry,
        judge: LinkJudge,
        probing: ListProbing,
        canonical: Canonical,
    ) -> None:
        self._context, self._scope, self._politeness, self._registry = context, scope, politeness, registry
        self._judge, self._probing, self._canonical = judge, probing, canonical

    def queue(self, found: Found, visit: Visit | None = None) -> int:
        """Judge and queue links; return how many were not known before."""
        return sum(self._queue_some(some, visit) for some in _parts(found, visit))

    def _queue_some(self, found: Found, visit: Visit | None) -> int:
        with self._context.timed("judge"):
            batch = self._judge.judge(found, visit)
            self._probing.weigh(batch, visit)
        self._context.count("links/found", len(found.links))
        for reason, number in batch.rejected.items():
            self._context.count(f"links/rejected/{reason}", number)
        with self._context.timed("queue"):
            return self._queue(batch, visit, force=found.force)

    def _queue(self, batch: Batch, visit: Visit | None, *, force: bool) -> int:
        entries = list(batch.entries.values())
        if not entries:
            return 0
        self._context.storage.pages.discover(batch.pages)
        asked = visit is None or visit.data.get("where") == Where.ARGUMENT
        for host, entry in {entry.host: entry for entry in entries}.items():
            self._introduce(host, self._context.rule_for(entry.url), asked=asked)
        verdicts = self._context.frontier.add(entries, force=force)
        if visit is None and not force and (changed := self._called_otherwise(entries)):
            self._context.frontier.add(changed, force=True)
        self._read_what_was_only_named(entries, verdicts)
        new = sum(verdict is Added.NEW for verdict in verdicts)
        self._context.count("links/new", new)
        marked = [read_reason(entry.data["why"])[0] == Reason.SAME_HEADLINE for entry in entries]
        self._context.count(
            "links/same_headline", sum(compress(marked, (one is Added.NEW for one in verdicts)))
        )
        self._context.count("links/known", len(verdicts) - new)
        for entry in entries:
            listed = entry.kind in (Kind.FEED, Kind.SITEMAP) and entry.data["where"] != Where.GUESS
            if listed and entry.url not in self._registry.dead:
                self._registry.with_sources.add(entry.data["source"])
        return new

    def _read_what_was_only_named(self, entries: list[Entry], verdicts: list[Added]) -> None:
        """Queue what another page called its canonical address if the site offers it as a page of its own."""
        known = [
            entry
            for entry, verdict in zip(entries, verdicts, strict=True)
            if verdict is Added.KNOWN and entry.kind in (Kind.ARTICLE, Kind.SECTION)
        ]
        if offered := self._canonical.offered_by_themselves(known):
            self._context.frontier.add(offered, force=True)
            self._context.count("canonical/read_after_all", len(offered))

    def _introduce(self, host: str, rule: Rule, *, asked: bool) -> None:
        """Tell the frontier how to treat a host, and take it into the crawl if it belongs there.

        Another site with a rule of its own, outside of this crawl's scope, waits for its own crawl, unless
        a person asked for what is there.
        """
        self._politeness.introduce(host, rule)
        if not self._scope.accepts(host) and (asked or self._context.rules.get(rule.domain) is None):
            self._scope.named_hosts.add(host)

    def _called_otherwise(self, entries: list[Entry]) -> list[Entry]:
        """Return what a rule names as a source now, but what is known as something else, or as never due."""
        named = {
            entry.fingerprint: entry
            for entry in entries
            if entry.data["where"] == Where.SEED and entry.kind.is_source
        }
        changed = []
        for key, known in self._context.frontier.known(list(named)).items():
            stands = self._context.frontier.entry(key)
            if known.state == "done" and stands is not None:
                otherwise = known.next_due is None or stands.kind is not named[key].kind
                changed += [named[key]] * otherwise
        return changed


def _parts(found: Found, visit: Visit | None) -> Iterator[Found]:
    """Split a long feed or sitemap: 50,000 links at once take 100 MB while they are queued.

    Python keeps such a peak. Links of a page stay together: they are judged by what all of them are.
    """
    links = found.links
    if visit is None or visit.kind not in (Kind.FEED, Kind.SITEMAP) or len(links) <= LINKS_AT_ONCE:
        yield found
        return
    for start in range(0, len(links), LINKS_AT_ONCE):
        yield replace(found, links=links[start : start + LINKS_AT_ONCE])
