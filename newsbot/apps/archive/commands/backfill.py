"""``scrapy backfill``: collects the older articles of a site, from the site itself and from archives."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, one_of, positive


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Collect the older articles of a site: from its sitemaps and archives, then from web archives",
            "newsbot.apps.archive.backfill:backfill",
            Argument("site", metavar="SITE", help="the domain of the site"),
            Argument(
                "--since", metavar="DATE", type=moment, required=True, help="published since DATE (2024-01)"
            ),
            Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
            Argument(
                "--from",
                dest="places",
                action="append",
                type=one_of("site", "wayback", "commoncrawl"),
                metavar="PLACE",
                help="site, wayback or commoncrawl; may be repeated (default: all, in this order)",
            ),
            Argument(
                "--max-pages",
                metavar="N",
                type=positive,
                help="request at most N pages from each place in this run (default: no limit)",
            ),
            Argument("--again", action="store_true", help="read the indexes from their beginning"),
            writes=True,
        ),
    )
