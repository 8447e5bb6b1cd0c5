"""``scrapy demo``: crawls demo sites that are served on loopback; it needs no network."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, positive


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Serve six invented news sites on loopback, crawl them with the real spider, and check that "
            "every article was stored exactly once.",
            "newsbot.apps.demo.check:demo",
            Argument(
                "--articles",
                type=positive,
                metavar="N",
                help="number of articles (default 300, from 60)",
            ),
            Argument(
                "--data",
                metavar="DIR",
                help="folder of the data, new or from an earlier demo (default: a new one in /tmp)",
            ),
            Argument(
                "--keep-serving", action="store_true", help="keep serving after the crawl, until Ctrl-C"
            ),
        ),
    )
