"""The program ``newsbot``, also ``python -m newsbot``: runs the commands of ``scrapy`` in any folder.

In a folder of a Scrapy project whose settings use those of newsbot, the settings of the project apply.
Elsewhere, the settings of newsbot apply.
"""

from __future__ import annotations

import os
import sys

from newsbot import __version__
from newsbot.cli.program import help_text
from newsbot.errors import ArgumentError

SETTINGS = "newsbot.settings"
_VARIABLE = "SCRAPY_SETTINGS_MODULE"


def main() -> None:
    """Run the command that the arguments of the process name."""
    words = sys.argv[1:]
    if not words or words[0] in {"-h", "--help", "help"}:
        try:
            sys.stdout.write(f"{help_text()}\n")
        except ArgumentError as error:
            sys.exit(f"newsbot: {error}")
        return
    if words[0] == "--version":
        sys.stdout.write(f"{__version__}\n")
        return
    _choose_settings()
    from scrapy.cmdline import execute  # noqa: PLC0415  # its import takes ten times as long as the help

    execute(["newsbot", *words])


def _choose_settings() -> None:
    """Use newsbot's settings, unless the settings of the project have newsbot's commands."""
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    try:
        ours = get_project_settings().get("COMMANDS_MODULE") == "newsbot.commands"
    except ImportError as error:
        named = os.environ.get(_VARIABLE)
        sys.exit(f"scrapy.cfg or {_VARIABLE}: the settings {named} cannot be imported ({error})")
    if not ours:
        os.environ[_VARIABLE] = SETTINGS  # child processes use it too


if __name__ == "__main__":
    main()
