"""``scrapy add``: queues URLs by hand, including known URLs, even while a crawl is running.

URLs that were added by hand are fetched before all URLs that the crawl found. The links of a family of
addresses that wait (:mod:`newsbot.ranking.families`) can be queued too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

from newsbot.apps.operations.sources import chosen_site
from newsbot.backends import open_frontier, open_rules, open_storage, queued, stored
from newsbot.cli.command import Action, Argument, Call, one_of
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.links.families import MAX_WAITING, unpacked
from newsbot.crawl.sources import make_due
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Added, Entry, Frontier
from newsbot.items import Kind, Link, Reason, Where, batched
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule, classify
from newsbot.ranking.families import LISTS, FamilyNotes, Result, read_site, rows_of
from newsbot.ranking.judging import Judgement
from newsbot.ranking.url_learning import SESSION_NOTE, note_names, session_keys
from newsbot.sites.pauses_and_removals import RemovalNotes
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host, canonicalize, meant


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


PRIORITY = 100.0
"""Priority of a URL that was added by hand.

It is higher than the priority of any entry that the crawl found.
"""
BATCH = 1000


def entry_by_hand(url: str, rules: RuleSet, kind: Kind | None, now: float, rule: Rule | None = None) -> Entry:
    """Return the queue entry of a URL that was added by hand.

    If ``kind`` is None, the patterns of the rule decide the kind. If no pattern matches, the kind is article.
    Pass the ``rule`` of the site if the URL can be on a host that the rule does not cover, for example the
    URL of a feed. ``now`` is in POSIX seconds. Raises ``ValueError`` if ``url`` is not an absolute http(s)
    URL.
    """
    rule = rule or rules.for_url(url)
    match = classify(rule, canonicalize(url, rule.drop_query))
    judgement = Judgement(
        kind=kind or match.kind or Kind.ARTICLE, priority=PRIORITY, accepted=True, reason="added by hand"
    )
    link = Link(url=url, where=Where.ARGUMENT, kind=judgement.kind)
    return entry_for(link, rule, judgement, depth=0, referrer=None, now=now, force=True)


def queue_by_hand(
    entries: Sequence[Entry], rules: RuleSet, storage: Storage, frontier: Frontier
) -> list[Added]:
    """Record the pages in the storage, then queue them. Return one result for each entry, in order.

    The pages are recorded first. So even after a crash, every queued entry has a page record. Raises
    :class:`ArgumentError` if one of the URLs was removed and is blocked. In this case nothing is queued.
    """
    _must_be_allowed(entries, storage.notes)
    now = time.time()
    for entry in {entry.host: entry for entry in entries}.values():
        rule = rules.for_url(entry.url)
        # The crawl may have increased the delay of a known host.
        frontier.set_politeness(entry.host, delay=rule.delay, concurrency=rule.concurrency, at_least=True)
    verdicts: list[Added] = []
    for batch in batched(entries, BATCH):
        storage.pages.discover([page_for(entry, now) for entry in batch])
        verdicts += frontier.add(batch, force=True)
    return verdicts


def _must_be_allowed(entries: Iterable[Entry], notes: Notes) -> None:
    """Raise :class:`ArgumentError` if one of the URLs was removed and is blocked."""
    tombstones = RemovalNotes(time.time)
    tombstones.read(notes)
    for entry in entries:
        if tombstones.covers(entry.fingerprint, entry.host):
            raise ArgumentError(
                f"{entry.url}: was removed and is blocked; to unblock it, run: {PROGRAM} remove URL --allow"
            )


MAX_FILE = 50 * 2**20
"""Maximum size in bytes of a file with URLs."""
MAX_PROBLEMS = 20
"""Maximum number of wrong URLs that are listed."""
WHEN_FETCHED = f"a running crawl fetches due URLs; if no crawl is running, start one: {PROGRAM} crawl news"

VERDICTS = {
    Added.NEW: "added",
    Added.SOONER: "known; fetched again now",
    Added.KNOWN: "already queued",
}


def add(call: Call) -> None:
    """Queue URLs. If one of them is wrong, nothing is queued and all problems are reported."""
    rules = open_rules(call.settings)
    if call.options.family:
        if call.options.url or call.options.file or call.options.due:
            raise ArgumentError("give either --family SITE FAMILY, --due SITE or URLs")
        _fetch_family(call, rules)
        return
    if call.options.due:
        _make_due(call, rules)
        return
    urls = list(_named_urls(call.options.url, call.options.file))
    if not urls:
        raise ArgumentError("give at least one URL, --file FILE with one URL per line, or --due SITE")
    entries = _entries(urls, rules, call.options.kind, time.time())
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        verdicts = queue_by_hand(list(entries.values()), rules, storage, frontier)
        waiting = [
            frontier.entry(key) if verdict is Added.KNOWN else None
            for key, verdict in zip(entries, verdicts, strict=True)
        ]
    rows = [
        (entry.url, (known or entry).kind.value, verdict)  # a queued URL keeps its kind
        for entry, known, verdict in zip(entries.values(), waiting, verdicts, strict=True)
    ]
    call.listing(
        [{"url": url, "kind": kind, "verdict": verdict.value} for url, kind, verdict in rows],
        columns("kind | verdict | url *"),
        ((kind, VERDICTS[verdict], url) for url, kind, verdict in rows),
    )
    if not call.json:
        call.note(f"{counted(len(rows), 'URL')} queued; {WHEN_FETCHED}")


def _fetch_family(call: Call, rules: RuleSet) -> None:
    """Open a family and queue its waiting links."""
    site, name = call.options.family
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        domain = chosen_site(site, storage, rules)
        rule = rules.get(domain)
        entries = open_family(storage, domain, name, rule.drop_query if rule is not None else ())
        queue_by_hand(entries, rules, storage, frontier)
        settle(storage, domain, name, entries)
    if call.json:
        call.document({"site": domain, "family": name, "queued": len(entries)})
        return
    call.text(
        f"{domain}: {counted(len(entries), 'link')} of {name} queued; such links are followed from now on"
    )
    call.note(WHEN_FETCHED)


def _make_due(call: Call, rules: RuleSet) -> None:
    """Queue the sources of the sites that ``--due`` names for an immediate poll."""
    if call.options.url or call.options.file:
        raise ArgumentError("give either --due SITE or URLs, not both")
    with stored(call.settings) as storage, queued(call.settings) as frontier:
        domains = dict.fromkeys(chosen_site(site, storage, rules) for site in call.options.due)
        numbers = {one: make_due(storage, frontier, rules, [one], time.time()) for one in domains}
    if call.json:
        call.document([{"site": domain, "due": number} for domain, number in numbers.items()])
        return
    for domain, number in numbers.items():
        if number:
            call.text(f"{domain}: {counted(number, 'source')} due now")
        else:
            call.text(
                f"{domain}: no source is known; to find some, run {PROGRAM} crawl news -a sites={domain}"
            )
    if any(numbers.values()):
        call.note(WHEN_FETCHED)


def _named_urls(urls: Iterable[str], file: Path | None) -> Iterator[tuple[str, str]]:
    """Yield each URL with a prefix for messages about the URL.

    The prefix names the file and the line. For URLs on the command line it is empty.
    """
    for url in urls:
        yield url.strip(), ""
    if file is None:
        return
    for number, line in enumerate(_read(file).splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip(), f"{file}:{number}: "


def _read(file: Path) -> str:
    try:
        if str(file) == "-":
            return sys.stdin.read(MAX_FILE)
        if file.stat().st_size > MAX_FILE:
            raise ArgumentError(f"{file}: is larger than {MAX_FILE >> 20} MB; split it")
        return file.expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: is not UTF-8 text; convert it to UTF-8") from error


def _entries(
    urls: Sequence[tuple[str, str]], rules: RuleSet, kind: str | None, now: float
) -> dict[bytes, Entry]:
    """Return the queue entries of the URLs, by fingerprint.

    ``urls`` contains pairs of a URL and a message prefix, as :func:`_named_urls` yields them. Raises
    :class:`ArgumentError` with all problems, one per line.
    """
    entries: dict[bytes, Entry] = {}
    problems: list[str] = []
    for url, place in urls:
        try:
            entry = entry_by_hand(url, rules, Kind(kind) if kind else None, now)
        except ValueError as error:
            problems.append(f"{place}{error}{meant(url)}")
        else:
            entries.setdefault(entry.fingerprint, entry)
    if problems:
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        raise ArgumentError("\n".join([*problems[:MAX_PROBLEMS], *more]))
    return entries


ACTIONS = (
    Action(
        "",
        "Queue URLs that are fetched next, including known URLs, even while a crawl is running",
        add,
        Argument("url", nargs="*", metavar="URL", help="absolute URLs"),
        Argument(
            "--kind",
            type=one_of("feed", "sitemap", "section", "article"),
            metavar="KIND",
            help="feed, sitemap, section or article; default: the kind in the rule, or else article",
        ),
        Argument(
            "--due",
            action="append",
            default=[],
            metavar="SITE",
            help="make all known feeds, sitemaps and sections of a site due now",
        ),
        Argument(
            "--family",
            nargs=2,
            metavar=("SITE", "FAMILY"),
            help=f"queue the links of a family that wait (list: {PROGRAM} rules learn SITE --why)",
        ),
        Argument("--file", type=Path, metavar="FILE", help="one URL per line; # for comments; - is stdin"),
        writes=True,
    ),
)
