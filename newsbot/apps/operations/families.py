"""Shows the families of a site's addresses, and queues the links that wait
(:mod:`newsbot.ranking.families`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace

from newsbot.apps.operations.sources import chosen_site
from newsbot.backends import open_rules, open_storage, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.crawl.links.families import MAX_WAITING, unpacked
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Entry
from newsbot.items import Reason
from newsbot.ranking.families import LISTS, FamilyNotes, Result, read_site, rows_of
from newsbot.ranking.url_learning import SESSION_NOTE, note_names, session_keys
from newsbot.storage.base import Storage
from newsbot.urls import ascii_host


def show(call: Call) -> None:
    """List the families of a site with their states and reasons (``scrapy rules learn DOMAIN --why``)."""
    with stored(call.settings) as storage:
        domain = chosen_site(call.options.domain, storage, open_rules(call.settings))
        rows = rows_of(domain, read_site(storage.notes, domain))
    call.listing(
        [asdict(row) for row in rows],
        columns("family *1 | state | waiting > | tried > | articles > | why *"),
        ((row.family, row.state, row.waiting, row.tried, row.articles, row.why) for row in rows),
    )
    if not call.json and any(row.waiting for row in rows):
        call.note(f"to fetch the links of a family: {PROGRAM} add --family {domain} FAMILY")


def forget(call: Call) -> None:
    """Forget what was learned of the addresses of a site (``scrapy rules learn DOMAIN --forget``).

    This is: its families, the learned examples and patterns, and its session keys. The links that wait are
    kept, and their families are tried again.
    """
    domain = ascii_host(call.options.domain)
    with closing(open_storage(call.settings)) as storage:
        rule = open_rules(call.settings).get(domain)
        domain = domain if rule is None else rule.domain
        keys = session_keys(storage.notes).get(domain, ())
        names = (FamilyNotes().note_name(domain), (SESSION_NOTE, domain), *note_names(domain))
        found = [bool(storage.notes.get_many([name])) for name in names]
        waiting = reset(storage, domain)
        for name in names[1:]:
            storage.notes.forget(*name)
    if call.json:
        call.document(
            {"domain": domain, "forgotten": any(found), "session_keys": list(keys), "waiting": waiting}
        )
        return
    if not any(found):
        call.text(f"{domain}: nothing was learned about its URLs")
        return
    said = f"session keys: {', '.join(keys)}" if keys else "no session keys"
    call.text(
        f"{domain}: forgotten what was learned about its URLs ({said}); {counted(waiting, 'link')} wait"
    )
    call.note("a running crawl keeps what it has learned until it is started again")


def reset(storage: Storage, domain: str) -> int:
    """Forget the families of a site, except the number of links that wait. Return this number."""
    storage.notes.forget(*FamilyNotes().note_name(domain))
    counts = storage.waiting.counts(domain)
    if not counts:
        return 0
    notes = FamilyNotes()
    for name, number in counts.items():
        notes.add(storage.notes, domain, Result(family=name, waiting=number))
    notes.write(storage.notes)
    return sum(counts.values())


def open_family(storage: Storage, domain: str, name: str, drop_query: tuple[str, ...] = ()) -> list[Entry]:
    """Return the entries of a family's waiting links.

    Raises :class:`ArgumentError` if the site has no such family.
    """
    known = read_site(storage.notes, domain)
    if name not in known.families:
        waiting = [row.family for row in rows_of(domain, known) if row.waiting]
        shown = ", ".join(waiting[:5]) or "none"
        raise ArgumentError(f"{domain} has no family {name!r}; families with waiting links: {shown}")
    links = storage.waiting.of_family(domain, name, MAX_WAITING)
    reason = None if name.startswith(LISTS) else Reason.LIKELY_ARTICLE
    found = (unpacked(link, drop_query, reason) for link in links)
    # A person asked for these links, so they are fetched even if they are known.
    return [replace(entry, data={**entry.data, "force": True}) for entry in found if entry is not None]


def settle(storage: Storage, domain: str, name: str, entries: Sequence[Entry]) -> None:
    """Record that a person opened a family, and delete its waiting links, which are queued now."""
    notes = FamilyNotes()
    notes.add(storage.notes, domain, Result(family=name, is_opened=True, waiting=0))
    notes.write(storage.notes)
    storage.waiting.forget([entry.fingerprint for entry in entries])
