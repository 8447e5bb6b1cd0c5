"""``scrapy articles``: finds, shows, exports and imports articles."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, one_of, positive
from newsbot.cli.program import PROGRAM
from newsbot.config.apps import known_apps

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


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "search",
            "Find articles that contain words in any grammatical form, newest first",
            "newsbot.apps.search.command:search",
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
            "newsbot.apps.search.command:counts",
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
            "newsbot.apps.alerts.command:save",
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
        Action("saved", "List saved searches", "newsbot.apps.alerts.command:saved"),
        Action(
            "forget",
            "Delete a saved search",
            "newsbot.apps.alerts.command:forget",
            Argument("name", help=f"the name, as listed by {PROGRAM} articles saved"),
            writes=True,
        ),
        Action(
            "show",
            "Show all stored data of an article, and the method that gave each field",
            "newsbot.apps.archive.command:show",
            Argument("url", help="any URL of the article"),
            Argument(
                "--original", action="store_true", help="print the archived page itself (NEWSBOT_WARC_DIR)"
            ),
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
            Argument(
                "--query", default="", help="only articles that match a query as in search, newest first"
            ),
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
            Argument(
                "--format", type=one_of("atom", "rss"), metavar="KIND", default="atom", help="atom or rss"
            ),
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
            Argument(
                "--min-sources", metavar="N", type=positive, default=1, help="minimum number of sites (1)"
            ),
            Argument("--limit", type=positive, default=50, help="maximum number (50)"),
        ),
        Action(
            "split",
            "Split a story whose articles do not belong together into one story for each group of them",
            "newsbot.apps.search.stories:split",
            Argument(
                "story", metavar="STORY", help=f"id of a story, as in: {PROGRAM} articles stories --json"
            ),
            writes=True,
        ),
        Action(
            "index",
            "Update the search index of this machine, as each search does; with --anew, rebuild it from the "
            "articles, for example after a backup was restored or if the index takes too much space",
            "newsbot.apps.search.command:index",
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
