"""``scrapy categories``: learns categories of articles and shows what was learned."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand

_NAME = Argument("name", help="name of the category")


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "learn",
            "Learn a category from stored articles; without a name, learn all categories again",
            "newsbot.apps.topics.command:learn",
            Argument("name", nargs="?", help="name of the category: letters, digits and -"),
            Argument("url", nargs="*", help="URLs of stored articles that belong to it"),
            Argument(
                "--from", dest="file", type=Path, metavar="FILE", help="a file with such URLs, one a line"
            ),
            Argument(
                "--section",
                metavar="NAME,…",
                help="articles that a site files under these sections: field section, or a part of the URL",
            ),
            Argument("--tag", metavar="NAME,…", help="articles with these tags of their sites"),
            Argument("--query", help="articles that match this query"),
            writes=True,
        ),
        Action(
            "test",
            "Print precision, recall and F1 of a category by site, learned without the articles of that site",
            "newsbot.apps.topics.command:test",
            _NAME,
        ),
        Action("list", "List the categories", "newsbot.apps.topics.command:listing"),
        Action(
            "show",
            "Print the probability of each category for an article",
            "newsbot.apps.topics.command:show",
            Argument("url", help="any URL of the article"),
        ),
        Action("forget", "Delete a category", "newsbot.apps.topics.command:forget", _NAME, writes=True),
    )
