"""The commands that newsbot adds to ``scrapy``.

Scrapy imports all modules of this package at each start, and takes the name of a command from its module.
``crawl`` is Scrapy's own command, with checks before it starts. All other commands belong to apps. Their
modules are not files: :class:`AppCommands` makes them from what the apps declare, so no part of an app is
imported before one of its commands runs.

Scrapy's ``shell``, ``fetch``, ``view`` and ``parse`` get the setting that makes them store nothing.
"""

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from types import ModuleType

from scrapy import cmdline
from scrapy import commands as scrapys
from scrapy.commands import fetch, parse, shell
from scrapy.settings import BaseSettings

from newsbot.cli.command import NewsbotCommand
from newsbot.cli.program import PROGRAM
from newsbot.config.apps import known_apps
from newsbot.config.settings import ONE_PAGE
from newsbot.errors import ArgumentError, did_you_mean

PLACE = "<commands of apps>"
"""The part of this package's search path where the commands of apps are."""
try:
    APPS = {name: app for app in known_apps().values() for name in app.commands}
except ArgumentError as error:
    sys.exit(f"{PROGRAM}: {error}")


class AppCommands:
    """Finds and makes the modules of the commands of apps, each with a class for Scrapy.

    It is a path entry finder and a loader (https://docs.python.org/3/reference/import.html#path-entry-finders).
    """

    def __init__(self, path: str) -> None:
        if path != PLACE:
            raise ImportError  # says that another finder has to be used

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield the name of each command, for :func:`pkgutil.iter_modules`."""
        yield from ((prefix + name, False) for name in sorted(APPS))

    def find_spec(self, fullname: str, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how the module of a command is made; None if no app has the command."""
        known = fullname.rpartition(".")[2] in APPS
        return ModuleSpec(fullname, self) if known else None  # type: ignore[arg-type]  # it has no base class

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the class of the command into its module."""
        name = module.__name__.rpartition(".")[2]
        _group, summary, place = APPS[name].commands[name]
        parts = {"__module__": module.__name__, "app": APPS[name], "summary": summary, "place": place}
        vars(module)["Command"] = type("Command", (NewsbotCommand,), parts)


def _unknown(settings: BaseSettings, cmdname: str, inproject: bool) -> None:  # noqa: ARG001
    """Report an unknown command in one line, with the most similar name.

    Afterwards Scrapy ends with exit code 2.
    """
    known = [module.name for module in iter_modules([*__path__, *scrapys.__path__])]
    hint = did_you_mean(cmdname, known)
    sys.stderr.write(f"{PROGRAM}: unknown command {cmdname!r}{hint}; run {PROGRAM} to see all commands\n")


sys.path_hooks.append(AppCommands)
__path__.append(PLACE)
cmdline._print_unknown_command = _unknown  # noqa: SLF001  (there is no public hook)

for _command in (fetch.Command, parse.Command, shell.Command):
    _command.default_settings = {**_command.default_settings, ONE_PAGE: True}
