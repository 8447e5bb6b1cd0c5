"""``scrapy articles search``, ``counts`` and ``index``."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

from newsbot.apps.operations.articles import chosen, time_of
from newsbot.apps.search.articles import MAX_COMPARED, ArticleSearch, searching
from newsbot.apps.search.query import Hit
from newsbot.cli.command import Call, plain
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, columns, counted, lines
from newsbot.clock import system_clock, utc
from newsbot.errors import ArgumentError, UserError

COUNTED = ("day", "site", "language")
"""What matches are counted by, besides the labels of apps."""
FOLLOWED = 10.0
"""Maximum number of seconds for which the index is updated before a search."""


def search(call: Call) -> None:
    """Find articles by words. The exit code is 0 even if no article is found."""
    options = call.options
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        hits = articles.find(options.query, chosen(call), limit=options.limit, by_time=not options.best_first)
        notes = articles.explain(options.query, found=bool(hits))
        waiting = articles.waiting()
    if waiting:
        call.note(
            f"the index lacks {counted(waiting, 'new article')}; to update it: {PROGRAM} articles index"
        )
    call.listing(
        [_hit_row(hit) for hit in hits],
        columns("time | source | title * | found * | url *"),
        ((time_of(h.article), h.article.source, _title(h), h.snippet, h.article.url) for h in hits),
        empty="no article found",
    )
    for note in notes:
        call.note(note)


def counts(call: Call) -> None:
    """Count the articles that match each query, by day, site, language or label."""
    options = call.options
    if len(options.query) > MAX_COMPARED:
        raise ArgumentError(f"{len(options.query)} queries: at most {MAX_COMPARED} can be compared")
    with searching(call.settings) as articles:
        articles.follow(FOLLOWED)
        where, by = chosen(call), options.by
        found = articles.attention(options.query, where, utc(system_clock()))
        if by not in COUNTED:
            labels = [articles.label_counts(one.query, where, by) for one in found.queries]
        elif by != "day":
            labels = [getattr(one.counts, f"{by}s") for one in found.queries]
    if call.json:
        call.document(found if by in COUNTED else {**plain(found), by: labels})
        return
    named = [Column(one.query, "right") for one in found.queries]
    if by == "day":
        rows = zip(found.days, *map(found.numbers, found.queries), found.articles, strict=True)
        call.table((Column("day"), *named, Column("all articles", "right")), rows)
    else:
        names = sorted({*chain(*labels)}, key=lambda name: (-sum(one.get(name, 0) for one in labels), name))
        call.table((Column(by), *named), ((name, *(one.get(name, 0) for one in labels)) for name in names))
    for one in found.queries:
        more = "" if one.counts.complete else "more than "
        call.note(f"{one.query}: {more}{one.counts.total} articles")
        for note in one.notes:
            call.note(note)


def index(call: Call) -> None:
    """Update the search index, or rebuild it (``--anew``)."""
    tell = lines(call.note, {})
    indexed = 0

    def written(so_far: int) -> None:
        nonlocal indexed
        indexed = so_far
        tell("articles", so_far)

    with searching(call.settings) as articles:
        if call.options.drop or call.options.move:
            _change_months(call, articles)
            return
        if not call.options.anew:
            articles.follow(tell=written)
        elif not articles.remake(written):
            raise UserError("another process is writing the search index; try again later")
        left = articles.waiting()
    if call.json:
        call.document({"indexed": indexed, "waiting": left})
    call.note(f"{counted(indexed, 'article')} indexed, {left} left")


def _change_months(call: Call, articles: ArticleSearch) -> None:
    options, folder = call.options, Path(call.options.to or "")
    if options.move and not (options.to and folder.is_dir()):
        raise ArgumentError("--move needs an existing folder: --to FOLDER")
    period = options.drop or options.move
    months = articles.months_of(period)
    if not months:
        raise ArgumentError(f"{period}: the index has no article of this time; write a year or YYYY-MM")
    if not articles.change_months(months, folder if options.move else None):
        raise UserError("another process is writing the search index; try again later")
    done = f"moved to {folder}" if options.move else "deleted from the index; the articles are still stored"
    call.note(f"{counted(len(months), 'month')} {done}")


def _title(hit: Hit) -> str:
    return hit.article.title + (f" (and {hit.copies} more)" if hit.copies else "")


def _hit_row(hit: Hit) -> dict[str, Any]:
    row = hit.article.to_dict()
    del row["text"]
    return {**row, "snippet": hit.snippet, "score": round(hit.score, 9), "copies": hit.copies}
