"""``scrapy searches``: shows what ``scrapy crawl search`` found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from typing import Any

from newsbot.apps.monitor.results import Searches, SearchResult, searches_of
from newsbot.backends import open_storage, stored
from newsbot.cli.command import Action, Argument, Call, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted, when
from newsbot.clock import iso_of, system_clock
from newsbot.errors import UserError


def list_searches(call: Call) -> None:
    """List all searches that have results."""
    with stored(call.settings) as storage:
        searches = searches_of(storage).all()
    now = system_clock()
    call.listing(
        [{**asdict(one), "first": iso_of(one.first), "last": iso_of(one.last)} for one in searches],
        columns("pages > | hits > | last | search *"),
        ((one.pages, one.hits, when(one.last, now), one.search) for one in searches),
        empty=f"there are no results yet; run: {PROGRAM} crawl search -a sites=DOMAIN -a text=TEXT",
    )


def show(call: Call) -> None:
    """Show where a search found its texts: URL, line and position, sorted by URL."""
    options = call.options
    with stored(call.settings) as storage:
        found = searches_of(storage)
        name = _known(found, options.name)
        results = islice(found.results(name, text=options.text, site=options.site), options.limit)
        if call.json:
            for result in results:
                call.record({**asdict(result), "looked_at": iso_of(result.looked_at)})
            return
        rows = sorted(_rows(results))
    call.table(columns("url * | line > | at > | text | found *"), rows)


def forget(call: Call) -> None:
    """Delete the results of a search."""
    with closing(open_storage(call.settings)) as storage:
        found = searches_of(storage)
        name = _known(found, call.options.name)
        count = found.forget(name)
    if call.json:
        call.document({"search": name, "results": count})
    else:
        call.note(f"{counted(count, 'result')} deleted")


def _known(found: Searches, name: str) -> str:
    if name not in {one.search for one in found.all()}:
        raise UserError(f"{name}: no search with this name has results; see: {PROGRAM} searches list")
    return name


def _rows(results: Iterator[SearchResult]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        for one in result.positions:
            shown = f"{one.before}[{one.found}]{one.after}"
            yield result.url, one.line, one.start, result.text, shown


ACTIONS = (
    Action(
        "list",
        "List all searches with results, the latest first",
        list_searches,
    ),
    Action(
        "show",
        "Show where a search found its texts: page, line, position, context",
        show,
        Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
        Argument("--text", metavar="TEXT", help="only results for this text or expression"),
        Argument("--site", metavar="DOMAIN", help="only results on this site"),
        Argument(
            "--limit",
            type=positive,
            default=1000,
            metavar="N",
            help="maximum number of results",
        ),
    ),
    Action(
        "forget",
        "Delete the results of a search",
        forget,
        Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
        writes=True,
    ),
)
