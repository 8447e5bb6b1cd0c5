"""``scrapy articles``."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, one_of, positive

_WHICH = (
    Argument("--source", metavar="DOMAIN", help="only of this site"),
    Argument("--language", metavar="CODE", help="only in this language, e.g. ru"),
    Argument("--since", metavar="DATE", type=moment, help="published at or after: 2024-05-31, or 7d (ago)"),
    Argument("--until", metavar="DATE", type=moment, help="published before"),
)


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Find, read, export and import articles"
    actions = (
        Action(
            "search",
            "Find articles by words, in all their forms; best first",
            "newsbot.actions.articles:search",
            (
                Argument(
                    "query",
                    help='words; "a phrase", -without, title: author: site: lang: since: until: (in quotes)',
                ),
                *_WHICH,
                Argument("--limit", type=positive, default=20, help="at most so many (20)"),
                Argument("--by-time", action="store_true", help="newest first"),
            ),
        ),
        Action(
            "show",
            "Show all that is stored of an article, and which method gave what",
            "newsbot.actions.articles:show",
            (
                Argument("url", help="any address under which the article was seen"),
                Argument("--versions", action="store_true", help="earlier versions too, and what changed"),
            ),
        ),
        Action(
            "export",
            "Write articles to a file or to stdout",
            "newsbot.actions.articles_export:export",
            (
                Argument(
                    "--format",
                    type=one_of("jsonl", "csv", "parquet", "warc"),
                    metavar="FORMAT",
                    help="jsonl, csv, parquet, warc; else by the file's name; else jsonl",
                ),
                Argument("-o", "--output", type=Path, metavar="FILE", help="replaced when all is written"),
                *_WHICH,
                Argument(
                    "--without-ai-opt-outs",
                    action="store_true",
                    help="leave out articles whose site reserves them against use by AI",
                ),
                Argument("--new", metavar="NAME", help="what is new since the last export called NAME"),
            ),
        ),
        Action(
            "import",
            "Take articles out of WARC files (CC-NEWS, archives of other crawlers, our own)",
            "newsbot.actions.articles_import:import_files",
            (
                Argument("file", nargs="+", type=Path, metavar="FILE", help=".warc or .warc.gz"),
                Argument("--source", metavar="DOMAIN", help="only of this site"),
                Argument(
                    "--again", action="store_true", help="from the beginning, also if it was imported before"
                ),
            ),
        ),
        Action(
            "feed",
            "Write the newest articles that a query finds as an Atom or RSS feed",
            "newsbot.actions.articles_export:feed",
            (
                Argument("query", nargs="?", default="", help="as in search; without one all articles"),
                Argument(
                    "--format", type=one_of("atom", "rss"), metavar="KIND", default="atom", help="atom or rss"
                ),
                Argument("-o", "--output", type=Path, metavar="FILE", help="replaced when all is written"),
                *_WHICH,
                Argument("--limit", type=positive, default=50, help="at most so many (50)"),
                Argument("--address", metavar="URL", default="", help="where the feed can be had"),
            ),
        ),
        Action(
            "stories",
            "List stories: groups of articles that tell the same thing, the most recent first",
            "newsbot.actions.articles:stories",
            (
                Argument("--since", metavar="DATE", type=moment, help="stories with articles since then"),
                Argument("--min-members", metavar="N", type=positive, default=2, help="at least so many (2)"),
                Argument("--min-sources", metavar="N", type=positive, default=1, help="of so many sites (1)"),
                Argument("--limit", type=positive, default=50, help="at most so many (50)"),
            ),
        ),
        Action(
            "index",
            "Bring the word index up to date, as crawls do in the background: after an upgrade that makes it "
            "anew, or to take out the words of removed articles at once",
            "newsbot.actions.articles:index",
        ),
        Action(
            "reindex",
            "Put the texts of the last 30 days (NEWSBOT_NEAR_DAYS) into the near-duplicate index again: "
            "after Redis lost its data; with --anew also after a newsbot that makes it another way",
            "newsbot.actions.articles:reindex",
            (Argument("--anew", action="store_true", help="empty the index first; no crawl may run"),),
        ),
    )
