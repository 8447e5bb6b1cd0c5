"""``scrapy article``: read one page."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Read the article of one page, and store nothing"
    actions = (
        Action(
            "",
            "Read the article of one page, and store nothing",
            "newsbot.actions.article:article",
            (
                Argument("page", metavar="URL|FILE", help="an address, or a file with HTML; - is stdin"),
                Argument(
                    "--format",
                    type=one_of("json", "md", "txt"),
                    default="txt",
                    metavar="FORMAT",
                    help="json, md (Markdown) or txt (the default)",
                ),
                Argument(
                    "--url",
                    metavar="URL",
                    help="the address of the page in FILE; it resolves links and chooses the rule",
                ),
            ),
        ),
    )
