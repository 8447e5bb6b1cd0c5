"""``scrapy articles search``, ``counts`` and ``index``."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from itertools import chain
from pathlib import Path
from typing import Any

from newsbot.apps.operations.articles import chosen, time_of
from newsbot.apps.search.articles import MAX_COMPARED, ArticleSearch, searching
from newsbot.apps.search.query import Hit
from newsbot.cli.command import Action, Argument, Call, moment, one_of, plain, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, columns, counted, lines
from newsbot.clock import system_clock, utc
from newsbot.config.apps import known_apps
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


_WHICH = (
    Argument("--source", metavar="DOMAIN", help="only of this site"),
    Argument("--language", metavar="CODE", help="only articles in this language, e.g. ru"),
    Argument("--since", metavar="DATE", type=moment, help="published since DATE: 2024-05, 7d, yesterday"),
    Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
)
LABELS = [name for app in known_apps().values() for name in app.labels]
"""Fields of searches that apps add."""


def share(text: str) -> float:
    """Parse a share above 0 and up to 1 (``type`` of an argument)."""
    if re.fullmatch(r"[0-9]*\.?[0-9]+", text) is None or not 0 < float(text) <= 1:
        raise ArgumentTypeError(f"{text!r} is not a share; write a number above 0 and up to 1, e.g. 0.01")
    return float(text)


ARTICLES = (
    Action(
        "search",
        "Find articles that contain words in any grammatical form, newest first",
        search,
        Argument(
            "query",
            help='in quotes: words, "a phrase", -without, a OR b, (brackets), beginn*, title: author:'
            " site: lang: category: place: since: until: story: (docs/search.md)",
        ),
        *_WHICH,
        Argument("--limit", type=positive, default=20, help="maximum number (20)"),
        Argument("--best-first", action="store_true", help="best matches first (default: newest first)"),
    ),
    Action(
        "counts",
        "Count the results of up to four queries by day, site, language, category or place",
        counts,
        Argument("query", nargs="+", help="queries as in search, each in quotes"),
        *_WHICH,
        Argument(
            "--by",
            type=one_of("day", "site", "language", *LABELS),
            metavar="WHAT",
            default="day",
            help="day (default; the last 30 days without --since), site, language or a label "
            f"({', '.join(LABELS)})",
        ),
    ),
    Action(
        "save",
        "Save a search under a name; a saved search can report new articles",
        "newsbot.apps.alerts.extension:save",
        Argument("name", help="name of the search; replaces an existing search with this name"),
        Argument("query", help="a query as in search, in quotes"),
        Argument(
            "--tell",
            type=one_of("off", "at_once", "hourly", "daily"),
            metavar="WHEN",
            default="off",
            help="off (default), at_once (within seconds), hourly or daily",
        ),
        Argument(
            "--fields",
            metavar="NAME,…",
            help="fields of articles in notices, such as title,url,text (default: without text)",
        ),
        writes=True,
    ),
    Action("saved", "List saved searches", "newsbot.apps.alerts.extension:list_saved"),
    Action(
        "forget",
        "Delete a saved search",
        "newsbot.apps.alerts.extension:forget",
        Argument("name", help=f"the name, as listed by {PROGRAM} articles saved"),
        writes=True,
    ),
    Action(
        "show",
        "Show all stored data of an article, and the method that gave each field",
        "newsbot.apps.archive.command:show",
        Argument("url", help="any URL of the article"),
        Argument("--original", action="store_true", help="print the archived page itself (NEWSBOT_WARC_DIR)"),
        Argument("--versions", action="store_true", help="show earlier versions and their changes too"),
    ),
    Action(
        "export",
        "Write articles to a file or to stdout",
        "newsbot.apps.export.command:export",
        Argument(
            "--format",
            type=one_of("jsonl", "json", "csv", "parquet", "warc", "wacz"),
            metavar="FORMAT",
            help="jsonl, json, csv, parquet, warc or wacz; default: by the file name, or else jsonl",
        ),
        Argument("-o", "--output", type=Path, metavar="FILE", help="output file, replaced at the end"),
        *_WHICH,
        Argument(
            "--without-ai-opt-outs",
            action="store_true",
            help="leave out articles whose site opts out of use by AI",
        ),
        Argument("--query", default="", help="only articles that match a query as in search, newest first"),
        Argument("--raw", action="store_true", help="CSV: do not change cells that begin like formulas"),
        Argument("--excel", action="store_true", help="CSV: with a byte order mark, for Excel"),
        Argument("--new", metavar="NAME", help="only changes since the last export called NAME"),
    ),
    Action(
        "import",
        "Import articles from WARC files (CC-NEWS, other crawlers, your own) or folders",
        "newsbot.apps.archive.importing:import_files",
        Argument("file", nargs="*", type=Path, metavar="FILE", help=".warc or .warc.gz, or a folder"),
        Argument("--url", metavar="URL", help="the URL of a folder"),
        Argument(
            "--cc-news",
            metavar="MONTH",
            help="the CC-NEWS files of a month, e.g. 2026-11, from NEWSBOT_CC_NEWS",
        ),
        Argument("--source", metavar="DOMAIN", help="only of this site"),
        Argument("--sites", metavar="DOMAIN,…", help="only these (with --cc-news: those with a rule)"),
        Argument(
            "--sample",
            metavar="SHARE",
            type=share,
            help="with --cc-news: read only this share of the files, e.g. 0.01 (always the same files)",
        ),
        Argument(
            "--processes",
            metavar="N",
            type=positive,
            help="number of files to read in parallel (default: 1; with --cc-news: one per core)",
        ),
        Argument(
            "--again", action="store_true", help="start from the beginning, even after an earlier import"
        ),
        writes=True,
    ),
    Action(
        "feed",
        "Write the newest articles that match a query as an Atom or RSS feed",
        "newsbot.apps.export.command:feed",
        Argument("query", nargs="?", default="", help="a query as in search (default: all articles)"),
        Argument("--format", type=one_of("atom", "rss"), metavar="KIND", default="atom", help="atom or rss"),
        Argument("-o", "--output", type=Path, metavar="FILE", help="output file, replaced at the end"),
        *_WHICH,
        Argument("--limit", type=positive, default=50, help="maximum number (50)"),
        Argument("--address", metavar="URL", default="", help="the public URL of the feed"),
    ),
    Action(
        "stories",
        "List stories: groups of articles on the same news, the most recent first",
        "newsbot.apps.search.stories:stories",
        Argument("--since", metavar="DATE", type=moment, help="only stories with articles since DATE"),
        Argument(
            "--min-members", metavar="N", type=positive, default=2, help="minimum number of articles (2)"
        ),
        Argument("--min-sources", metavar="N", type=positive, default=1, help="minimum number of sites (1)"),
        Argument("--limit", type=positive, default=50, help="maximum number (50)"),
    ),
    Action(
        "split",
        "Split a story whose articles do not belong together into one story for each group of them",
        "newsbot.apps.search.stories:split",
        Argument("story", metavar="STORY", help=f"id of a story, as in: {PROGRAM} articles stories --json"),
        writes=True,
    ),
    Action(
        "index",
        "Update the search index of this machine, as each search does; with --anew, rebuild it from the "
        "articles, for example after a backup was restored or if the index takes too much space",
        index,
        Argument("--anew", action="store_true", help="rebuild it; the old index is used until then"),
        Argument("--drop", metavar="YEAR", help="delete a year (or 2024-05) from the index"),
        Argument("--move", metavar="YEAR", help="move the files of a year or a month to another disk"),
        Argument("--to", metavar="FOLDER", help="the folder for --move"),
    ),
    Action(
        "reindex",
        "Put the texts of the last 30 days (NEWSBOT_NEAR_DAYS) back into the near-duplicate index after "
        "Redis has lost its data; add --anew if newsbot refuses the old index after an update",
        "newsbot.apps.search.stories:reindex",
        Argument("--anew", action="store_true", help="empty the index first (stop all crawls before)"),
        writes=True,
    ),
)


SEARCH = tuple(
    Action("", action.help, action.run, *action.arguments) for action in ARTICLES if action.name == "search"
)
