"""``scrapy add``: queues URLs that are fetched next, also while a crawl is running."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from newsbot.backends import open_frontier, open_rules, open_storage, queued, stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, counted
from newsbot.crawl.source_state import make_due
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Added, Entry
from newsbot.items import Kind
from newsbot.operations.add import entry_by_hand, queue_by_hand
from newsbot.operations.source_report import chosen_site
from newsbot.rules import RuleSet
from newsbot.urls import meant

MAX_FILE = 50 * 2**20
"""Maximum size of a file with URLs in bytes."""
MAX_PROBLEMS = 20
"""Maximum number of wrong URLs that are listed."""
TAKEN = "a running crawl fetches due URLs; if none is running: scrapy crawl news"

SAID = {
    Added.NEW: "added",
    Added.SOONER: "known; fetched again now",
    Added.KNOWN: "already queued",
}


def add(call: Call) -> int:
    """Queue URLs. If one of them is wrong, nothing is queued and all problems are reported."""
    rules = open_rules(call.settings)
    if call.options.due:
        return _make_due(call, rules)
    given = list(_given(call.options.url, call.options.file))
    if not given:
        raise ArgumentError("give at least one URL, --file FILE with one URL per line, or --due SITE")
    entries = _entries(given, rules, call.options.kind, time.time())
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
    if call.json:
        call.document([{"url": url, "kind": kind, "verdict": verdict.value} for url, kind, verdict in rows])
        return 0
    call.table(
        (Column("kind"), Column("verdict"), Column("url", wide=True)),
        ((kind, SAID[verdict], url) for url, kind, verdict in rows),
    )
    call.note(f"{counted(len(rows), 'URL')} queued; {TAKEN}")
    return 0


def _make_due(call: Call, rules: RuleSet) -> int:
    """Make the sources of the sites in ``--due`` due now."""
    if call.options.url or call.options.file:
        raise ArgumentError("give either --due SITE or URLs, not both")
    with stored(call.settings) as storage, queued(call.settings) as frontier:
        domains = dict.fromkeys(chosen_site(site, storage, rules) for site in call.options.due)
        numbers = {one: make_due(storage, frontier, rules, [one], time.time()) for one in domains}
    if call.json:
        call.document([{"site": domain, "due": number} for domain, number in numbers.items()])
        return 0
    for domain, number in numbers.items():
        if number:
            call.text(f"{domain}: {counted(number, 'source')} due now")
        else:
            call.text(f"{domain}: no source is known yet; scrapy crawl news -a sites={domain} finds them")
    if any(numbers.values()):
        call.note(TAKEN)
    return 0


def _given(urls: Iterable[str], file: Path | None) -> Iterator[tuple[str, str]]:
    """Yield each URL with a prefix for messages about the URL.

    The prefix names the file and the line. It is empty for a URL that is an argument.
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
    given: Sequence[tuple[str, str]], rules: RuleSet, kind: str | None, now: float
) -> dict[bytes, Entry]:
    """Return the queue entries of the URLs, by fingerprint.

    ``given`` has pairs of a URL and a prefix of messages, as :func:`_given` yields them. Raises
    :class:`ArgumentError` with all problems, one per line.
    """
    entries: dict[bytes, Entry] = {}
    problems: list[str] = []
    for url, place in given:
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
