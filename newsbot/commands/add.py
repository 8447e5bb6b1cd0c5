"""``scrapy add``: queue URLs to be fetched now, also while a crawl runs."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Queue URLs to be fetched now, also while a crawl runs"
    actions = (
        Action(
            "",
            "Queue URLs to be fetched now, also while a crawl runs and also if they are known",
            "newsbot.actions.add:add",
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
