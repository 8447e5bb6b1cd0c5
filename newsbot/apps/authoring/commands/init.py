"""``newsbot init``: makes a project: a folder with rules, settings and ``scrapy.cfg``."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Make a project: a folder with rules, settings and scrapy.cfg. Existing files are kept.",
            "newsbot.apps.authoring.project:init",
            Argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="default: ."),
            Argument(
                "--sites",
                type=Path,
                metavar="FILE",
                help="an OPML file, a file with one address of a site or feed per line (- is stdin), or "
                "starter: the news sites that newsbot brings along",
            ),
        ),
    )
