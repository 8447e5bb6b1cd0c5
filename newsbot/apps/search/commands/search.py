"""``newsbot search``: finds articles. The same as ``newsbot articles search``."""

from __future__ import annotations

from newsbot.apps.search.commands import articles
from newsbot.cli.command import Action, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = tuple(
        Action("", action.help, action.run, *action.arguments)
        for action in articles.Command.actions
        if action.name == "search"
    )
