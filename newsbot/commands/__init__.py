"""The commands that newsbot adds to ``scrapy``.

Scrapy takes the name of a command from its module. Each start of ``scrapy`` imports all modules of this
package. So they contain only declarations, and import little more than :mod:`newsbot.cli.command`.
``crawl.py`` is Scrapy's own command, with checks before it starts. All other commands belong to apps: their
folders ``commands`` are parts of this package too.

Scrapy's ``shell``, ``fetch``, ``view`` and ``parse`` get the setting that makes them store nothing.
"""

import sys
from pkgutil import iter_modules

from scrapy import cmdline
from scrapy import commands as scrapys
from scrapy.commands import fetch, parse, shell
from scrapy.settings import BaseSettings

from newsbot.cli.program import PROGRAM
from newsbot.config.apps import command_folders
from newsbot.config.settings import ONE_PAGE
from newsbot.errors import ArgumentError, did_you_mean

try:
    __path__.extend(command_folders())
except ArgumentError as error:
    sys.exit(f"{PROGRAM}: {error}")


def _unknown(settings: BaseSettings, cmdname: str, inproject: bool) -> None:  # noqa: ARG001
    """Report an unknown command in one line, with the most similar name.

    Afterwards Scrapy ends with exit code 2.
    """
    known = [module.name for module in iter_modules([*__path__, *scrapys.__path__])]
    hint = did_you_mean(cmdname, known)
    sys.stderr.write(f"{PROGRAM}: unknown command {cmdname!r}{hint}; run {PROGRAM} to see all commands\n")


cmdline._print_unknown_command = _unknown  # noqa: SLF001  (there is no public hook)

for _command in (fetch.Command, parse.Command, shell.Command):
    _command.default_settings = {**_command.default_settings, ONE_PAGE: True}
