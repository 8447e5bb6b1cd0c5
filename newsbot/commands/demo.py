"""``scrapy demo``: crawls a small web served on loopback; it needs no network."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Crawl a bundled small web on loopback and check the result"
    actions = (
        Action(
            "",
            "Serve an invented web of six news hosts from loopback, crawl it with the real spider, and check "
            "that every article was stored exactly once.",
            "newsbot.actions.demo:demo",
            (
                Argument(
                    "--articles",
                    type=positive,
                    metavar="N",
                    help="size of the web (default 300, from 60)",
                ),
                Argument(
                    "--data",
                    metavar="DIR",
                    help="folder to keep or to continue (default: a new one in /tmp)",
                ),
                Argument(
                    "--keep-serving", action="store_true", help="keep serving after the crawl, until Ctrl-C"
                ),
            ),
        ),
    )
