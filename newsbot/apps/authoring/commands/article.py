"""``scrapy article``: extracts the article of one page."""

from __future__ import annotations

from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Extract the article of one page without storing it",
            "newsbot.apps.authoring.article:article",
            Argument("page", metavar="URL|FILE", help="a URL, or a file with HTML; - is stdin"),
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
                help="the URL of the page in FILE, to resolve links and to choose the rule",
            ),
        ),
    )
