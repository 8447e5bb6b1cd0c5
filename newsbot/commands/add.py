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
                    help="feed, sitemap, section or article; default: by the rule, else article",
                ),
                Argument(
                    "--due",
                    action="append",
                    default=[],
                    metavar="SITE",
                    help="make all known feeds, sitemaps and sections of a site due now",
                ),
                Argument("--file", type=Path, metavar="FILE", help="one URL a line, # comments; - is stdin"),
            ),
        ),
    )
