"""The base class of newsbot's ``scrapy`` commands.

A command declares its actions as data. The app names them in :attr:`newsbot.config.apps.App.commands`::

    ACTIONS = (
        Action("search", "Find articles", search, Argument("query"), Argument("--limit", type=positive)),
    )

A command without subcommands has one action with an empty name. An action is a function that takes a
:class:`Call` and returns the exit code; None counts as 0. Exit codes: 0 success, 1 an error that the user can
fix (:class:`newsbot.errors.UserError`), 2 wrong usage, 130 interrupted. Each error is one line on stderr,
without a traceback. With ``--json`` stdout contains only JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NoReturn, cast

from scrapy.commands import ScrapyCommand
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.log import configure_logging

from newsbot.cli.log_lines import shape_logs
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import (
    Column,
    clean,
    is_pipe,
    make_console,
    plain_table,
    print_table,
    printable,
)
from newsbot.clock import iso, parse_moment
from newsbot.config.apps import App, active_apps, load, unmet_needs
from newsbot.config.settings import check_settings, unknown_names
from newsbot.errors import ArgumentError, UserError, did_you_mean

FAULT = 1
USAGE = 2
INTERRUPTED = 130


class Argument:
    """One argument of an action. It takes the same arguments as ``ArgumentParser.add_argument``."""

    def __init__(self, *flags: str, **keywords: Any) -> None:
        self.flags = flags
        self.keywords = keywords


class Action:
    """One action (subcommand) of a command.

    ``name`` is the subcommand. It may have two words (``import ftr``). It is empty if the command has no
    subcommands. ``help_text`` says in one line what the action does. ``run`` is the function of the action,
    or its import path such as ``newsbot.apps.operations.add:add``. A module is imported from its path only
    when the action runs, so other actions of the command do not spend time on the import.
    """

    def __init__(
        self,
        name: str,
        help_text: str,
        run: str | Callable[[Call], int | None],
        *arguments: Argument,
        writes: bool = False,
    ) -> None:
        self.name, self.help, self.run, self.arguments = name, help_text, run, arguments
        self.writes = writes
        """True if the action changes the data. Their place is then printed on stderr."""


class Call:
    """What an action receives: its options, the settings, and methods for its output."""

    def __init__(self, options: argparse.Namespace, settings: Settings, *, as_json: bool) -> None:
        self.options = options
        self.settings = settings
        self.json = as_json
        """True if the output is for a program. The action then uses :meth:`document` or :meth:`record`."""
        self._console = None if is_pipe(sys.stdout) else make_console(sys.stdout)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
        """Print a table on stdout: drawn on a terminal, plain in a pipe."""
        if self._console is not None:
            print_table(self._console, columns, rows)
        else:
            sys.stdout.writelines(f"{line}\n" for line in plain_table(columns, list(rows)))

    def text(self, text: str = "", *, whole: bool = False) -> None:
        """Print text on stdout, wrapped on a terminal. Control characters are removed and secrets are masked.

        If ``whole`` is true, the text is the content of a file, for example a rule. In this case, secrets in
        URLs are not masked.
        """
        shown = printable(text) if whole else clean(text)
        if self._console is not None and self._console.is_terminal:
            self._console.print(shown, overflow="fold")
        else:
            sys.stdout.write(shown + "\n")

    def listing(
        self, document: Any, columns: Sequence[Column], rows: Iterable[Sequence[object]], empty: str = ""
    ) -> None:
        """Print results: ``document`` as JSON with ``--json``, otherwise ``rows`` as a table.

        If there are no rows, the note ``empty`` is printed instead of the table, unless it is an empty
        string.
        """
        shown = list(rows)
        if self.json:
            self.document(document)
        elif shown or not empty:
            self.table(columns, shown)
        else:
            self.note(empty)

    def document(self, value: Any) -> None:
        """Print the whole output on stdout as one JSON document. See :func:`plain`."""
        sys.stdout.write(_to_json(value, indent=2) + "\n")

    def record(self, value: Any) -> None:
        """Print one line of an output in the JSON Lines format on stdout."""
        sys.stdout.write(_to_json(value) + "\n")

    def note(self, text: str) -> None:
        """Print a line on stderr, for example a count or a hint. The line is not part of the output."""
        sys.stderr.write(clean(text) + "\n")


class NewsbotCommand(ScrapyCommand):
    """Base class of the commands of apps. :mod:`newsbot.commands` makes a class for each of them."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_LEVEL": "WARNING"}
    app: ClassVar[App]
    summary: ClassVar[str]
    """What the command does, in one line."""
    place: ClassVar[str]
    """The import path of the actions."""

    @property
    def name(self) -> str:
        """The name of the command: the name of its module, as in Scrapy."""
        return type(self).__module__.rpartition(".")[2]

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the command. The code of the app is imported when they are used."""
        try:
            return cast("tuple[Action, ...]", load(self.place))
        except ArgumentError as error:  # Scrapy asks for the actions outside of run()
            self._fail(str(error))

    def short_desc(self) -> str:
        """Return what the command does, in one line."""
        return self.summary

    def syntax(self) -> str:
        """Return the subcommands for Scrapy's help."""
        names = [action.name for action in self.actions]
        return "|".join(names) + " [options]" if any(names) else "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that all commands have. :meth:`run` parses the options of the action."""
        super().add_options(parser)
        parser.allow_abbrev = False
        parser.error = self._fail  # type: ignore[method-assign]  # one line instead of Scrapy's usage text
        parser.add_argument("--json", action="store_true", dest="as_json", help="answer in JSON")
        parser.add_argument("-h", "--help", action="store_true", dest="wants_help", help="show this help")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's own options. Default settings of the command replace those of the project."""
        settings = cast("Settings", self.settings)  # set by Scrapy before this call
        # In Scrapy, settings.py overrides the default_settings of a command, so all commands would have the
        # log level of crawls. Therefore the default settings get a higher priority here.
        settings.setdict(self.default_settings, priority=SETTINGS_PRIORITIES["project"] + 1)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the action that is named in ``args``, print its errors, and set the exit code."""
        settings = cast("Settings", self.settings)  # set by Scrapy before this call
        _make_stdout_safe()
        for line in unknown_names(settings, os.environ):
            complain(line, FAULT)
        try:
            check_settings(settings)
            self._check_app(settings)
            configure_logging(settings)
            shape_logs(settings)
            self.exitcode = self._run(args, opts, settings) or 0
            sys.stdout.flush()
        except ArgumentError as error:
            text = "\n".join(f"{PROGRAM} {self.name}: {line}" for line in str(error).splitlines())
            self.exitcode = complain(text, USAGE)
        except UserError as error:
            self.exitcode = complain(str(error), FAULT)
        except KeyboardInterrupt:
            self.exitcode = complain("interrupted", INTERRUPTED)
        except BrokenPipeError:  # the reader has closed the pipe (| head), which is not an error
            # Python flushes stdout when it exits. The flush would fail too and print a traceback.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _check_app(self, settings: Settings) -> None:
        """Raise :class:`ArgumentError` if NEWSBOT_APPS leaves out the app of this command."""
        wanted = settings.get("NEWSBOT_APPS")
        if self.app not in active_apps(wanted):
            needs = unmet_needs(wanted).get(self.app.name)
            why = f", which needs {needs}" if needs else ""
            raise ArgumentError(f"NEWSBOT_APPS leaves out the app {self.app.name}{why}")

    def _fail(self, message: str) -> NoReturn:
        """Print an error of Scrapy's own options and exit."""
        sys.exit(complain(f"{PROGRAM} {self.name}: {message.removeprefix('argument ')}", USAGE))

    def _run(self, args: list[str], opts: argparse.Namespace, settings: Settings) -> int | None:
        if opts.wants_help:
            self._print_help(args)
            return 0
        action, rest = choose(self.actions, args)
        options = make_parser(self.name, action).parse(rest)
        run: Callable[[Call], int | None] = action.run if callable(action.run) else load(action.run, self.app)
        call = Call(options, settings, as_json=opts.as_json)
        code = run(call)
        if action.writes and not code:
            call.note(load("newsbot.backends:place_of_data")(settings))
        return code

    def _print_help(self, args: list[str]) -> None:
        try:
            chosen = [choose(self.actions, args)[0]]
        except ArgumentError:
            chosen = list(self.actions)
        if len(chosen) > 1:
            sys.stdout.write(f"{self.summary}\n\n")
        for action in chosen:
            sys.stdout.write(make_parser(self.name, action).format_help() + "\n")
        sys.stdout.write("all actions accept --json, -s NAME=VALUE, -L LEVEL, --logfile FILE, --nolog\n")


class ActionParser(argparse.ArgumentParser):
    """Parses the arguments of one action. Raises :class:`ArgumentError` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise :class:`ArgumentError` with argparse's message and the usage, as one line."""
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        raise ArgumentError(f"{message.removeprefix('argument ')}; usage: {usage}")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options of the action. Raises :class:`ArgumentError` for wrong or unknown arguments."""
        options, rest = self.parse_known_args(words)
        if rest:
            known = [flag for action in self._actions for flag in action.option_strings]
            if rest[0].startswith("-") and rest[0] != "-":
                flag = rest[0].partition("=")[0]
                self.error(f"unknown option {flag}{did_you_mean(flag, known)}")
            self.error(f"unexpected argument {rest[0]!r} (put an argument with spaces in quotes)")
        return options


def make_parser(command: str, action: Action) -> ActionParser:
    """Return the parser of one action of ``scrapy <command>``."""
    parser = ActionParser(
        prog=f"{PROGRAM} {command} {action.name}".rstrip(),
        description=action.help,
        add_help=False,
        allow_abbrev=False,
    )
    for argument in action.arguments:
        parser.add_argument(*argument.flags, **argument.keywords)
    return parser


def choose(actions: Sequence[Action], words: Sequence[str]) -> tuple[Action, list[str]]:
    """Return the action that is named by the first words, and the remaining words.

    Raises :class:`ArgumentError` with the list of actions if no action has this name.
    """
    by_name = {action.name: action for action in actions}
    for count in (2, 1, 0):  # the longest matching name is used
        action = by_name.get(" ".join(words[:count])) if len(words) >= count else None
        if action is not None:
            return action, list(words[count:])
    allowed = ", ".join(by_name)
    if not words or words[0].startswith("-"):
        raise ArgumentError(f"a subcommand is needed: {allowed}")
    raise ArgumentError(
        f"unknown subcommand {words[0]!r}{did_you_mean(words[0], by_name)}; allowed: {allowed}"
    )


def positive(text: str) -> int:
    """Return a whole number above 0 and below 2**53 from a text, as the ``type`` of an argument."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**53:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a function that accepts only these words, for the ``type`` of an argument.

    Unlike ``choices``, its error suggests the nearest word.
    """

    def check(text: str) -> str:
        if text not in allowed:
            hint = did_you_mean(text, allowed)
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed{hint}; allowed: {', '.join(allowed)}")
        return text

    return check


def moment(text: str) -> datetime:
    """Parse a date or an age (``type`` of an argument). See :func:`newsbot.clock.parse_moment`."""
    try:
        return parse_moment(text, datetime.now(UTC))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def complain(text: str, code: int) -> int:
    """Print a line on stderr and return ``code``."""
    sys.stderr.write(clean(text) + "\n")
    return code


def plain(value: Any) -> Any:
    """Return a result as values of JSON.

    A dataclass becomes an object with its fields and properties, a time becomes text (RFC 3339), and a member
    of an enum becomes its value.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [*(field.name for field in fields(value)), *properties_of(type(value))]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


@lru_cache(256)
def properties_of(kind: type) -> tuple[str, ...]:
    """Return the names of the properties that a class itself defines, without those of its base classes."""
    return tuple(name for name, member in vars(kind).items() if isinstance(member, property))


def _to_json(value: Any, indent: int | None = None) -> str:
    # Encodings such as latin-1 lack most letters, so letters are escaped (\u0434) for them.
    unicode = (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"
    return json.dumps(plain(value), ensure_ascii=not unicode, indent=indent)


def _make_stdout_safe() -> None:
    """Let stdout escape characters that its encoding does not have, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
