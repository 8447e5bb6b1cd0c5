"""``scrapy add``: queue URLs to be fetched now, also while a crawl runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import cast

from newsbot.backends import open_frontier, open_rules, open_storage
from newsbot.cli import Action, Argument, Call, NewsbotCommand, one_of
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Added, Entry, Frontier
from newsbot.items import Kind, Link, Where
from newsbot.queueing import entry_for, page_for
from newsbot.ranking import Judgement
from newsbot.rules import RuleSet
from newsbot.rules.match import classify
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.terminal import Column
from newsbot.tombstones import Tombstones
from newsbot.urls import canonicalize

PRIORITY = 100.0
"""What a person asks for goes before all that was found."""
MAX_FILE = 50 * 2**20
MAX_PROBLEMS = 20
BATCH = 1000
LOOKED_AT = 1000
"""Pages of a site that are looked at to see whether a host is known."""

SAID = {
    Added.NEW: "added",
    Added.SOONER: "was known, is fetched again now",
    Added.KNOWN: "already waits",
}


def add(call: Call) -> int:
    """Queue URLs; nothing is queued if one of them is wrong."""
    rules = open_rules(call.settings)
    given = list(_given(call.options.url, call.options.file))
    if not given:
        raise ArgumentError("give at least one URL, or --file FILE with one a line")
    entries = _entries(given, rules, call.options.kind, time.time())
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        _must_be_allowed(entries.values(), cast("Notes", storage))
        verdicts = _queue(list(entries.values()), rules, storage, frontier)
        waiting = [
            frontier.entry(key) if verdict is Added.KNOWN else None
            for key, verdict in zip(entries, verdicts, strict=True)
        ]
    rows = [
        (entry.url, (known or entry).kind.value, verdict)  # what waits already keeps its kind
        for entry, known, verdict in zip(entries.values(), waiting, verdicts, strict=True)
    ]
    if call.json:
        call.document([{"url": url, "kind": kind, "verdict": verdict.value} for url, kind, verdict in rows])
        return 0
    call.table(
        (Column("kind"), Column("verdict"), Column("url", wide=True)),
        ((kind, SAID[verdict], url) for url, kind, verdict in rows),
    )
    urls = "1 URL" if len(rows) == 1 else f"{len(rows)} URLs"
    call.note(f"{urls} queued; a running crawl takes them at once, else: scrapy crawl news")
    return 0


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Queue URLs to be fetched now, also while a crawl runs"
    actions = (
        Action(
            "",
            "Queue URLs to be fetched now, also while a crawl runs and also if they are known",
            add,
            (
                Argument("url", nargs="*", metavar="URL", help="absolute addresses"),
                Argument(
                    "--kind",
                    type=one_of("feed", "sitemap", "section", "article"),
                    metavar="KIND",
                    help="feed, sitemap, section or article; else what the rule says; else article",
                ),
                Argument("--file", type=Path, metavar="FILE", help="one URL a line, # comments; - is stdin"),
            ),
        ),
    )


def _given(urls: Iterable[str], file: Path | None) -> Iterator[tuple[str, str]]:
    """Yield each URL with its place for messages."""
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
            raise ArgumentError(f"{file}: larger than {MAX_FILE >> 20} MB; split it")
        return file.expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: is no UTF-8 text") from error


def _entries(
    given: Sequence[tuple[str, str]], rules: RuleSet, kind: str | None, now: float
) -> dict[bytes, Entry]:
    """Return the entries by fingerprint. Raises :class:`ArgumentError` with all that is wrong."""
    entries: dict[bytes, Entry] = {}
    problems: list[str] = []
    for url, place in given:
        try:
            entry = _entry(url, rules, Kind(kind) if kind else None, now)
        except ValueError as error:
            problems.append(f"{place}{error}")
        else:
            entries.setdefault(entry.fingerprint, entry)
    if problems:
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        raise ArgumentError("\n".join([*problems[:MAX_PROBLEMS], *more]))
    return entries


def _entry(url: str, rules: RuleSet, kind: Kind | None, now: float) -> Entry:
    rule = rules.for_url(url)
    match = classify(rule, canonicalize(url, rule.drop_query))
    judgement = Judgement(
        kind=kind or match.kind or Kind.ARTICLE, priority=PRIORITY, accepted=True, reason="added by hand"
    )
    link = Link(url=url, where=Where.ARGUMENT, kind=judgement.kind)
    return entry_for(link, rule, judgement, depth=0, referrer=None, now=now, force=True)


def _must_be_allowed(entries: Iterable[Entry], notes: Notes) -> None:
    """Raise :class:`ArgumentError` for what was taken out and is to stay out."""
    tombstones = Tombstones(time.time)
    tombstones.read(notes)
    for entry in entries:
        if tombstones.covers(entry.fingerprint, entry.host):
            raise ArgumentError(
                f"{entry.url}: was taken out and is kept out; see scrapy remove --list and --allow"
            )


def _queue(entries: Sequence[Entry], rules: RuleSet, storage: Storage, frontier: Frontier) -> list[Added]:
    """Record the pages, then queue them: a crash in between leaves nothing queued without a record."""
    now = time.time()
    for entry in {entry.host: entry for entry in entries}.values():
        rule = rules.for_url(entry.url)
        if not _host_is_known(storage, rule.domain, entry.host):  # else a crawl may have set a longer delay
            frontier.set_politeness(entry.host, delay=rule.delay, concurrency=rule.concurrency)
    verdicts: list[Added] = []
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        storage.discover([page_for(entry, now) for entry in batch])
        verdicts += frontier.add(batch, force=True)
    return verdicts


def _host_is_known(storage: Storage, domain: str, host: str) -> bool:
    return any(page.host == host for page in islice(storage.iter_pages(source=domain), LOOKED_AT))
