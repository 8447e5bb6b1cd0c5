"""``scrapy move``: copies a crawl from the data file to servers, or back."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from newsbot.apps.transfer.copies import Choice, Side
from newsbot.apps.transfer.copying import (
    Compared,
    Journal,
    bars,
    compare_all,
    copy_all,
)
from newsbot.backends import DATA_FILE, data_file, data_folder
from newsbot.cli.command import FAULT, Action, Argument, Call, moment, positive
from newsbot.cli.terminal import Report, Totals, columns, lines, make_console
from newsbot.clock import iso, system_clock, utc
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, DataError, did_you_mean
from newsbot.storage.base import site_names

SAMPLE = ("sites", "since", "until", "max_articles")
"""Options that choose a part of the data."""


def move(call: Call) -> int:
    """Copy all data or a part, compare both sides, and print the result.

    The exit code is 1 if the sides differ.
    """
    if call.options.to_file is not None:
        return _to_file(call)
    return _to_servers(call)


def _to_servers(call: Call) -> int:
    redis, mongo = _server(call, "REDIS_URL", "to_redis"), _server(call, "MONGO_URI", "to_mongo")
    if not redis and not mongo:
        raise ArgumentError("name the target: --to-redis URL, --to-mongo URI (or both), or --to-file FOLDER")
    if any(getattr(call.options, name) for name in SAMPLE):
        raise ArgumentError("--sites, --since, --until and --max-articles work only with --to-file")
    path = data_file(call.settings)
    if not path.exists():
        raise DataError(f"{path}: does not exist; set NEWSBOT_DATA to the folder of the data file")
    # Data to move are read from the data file, even if a setting names a server. For all other data the
    # settings are kept, because these data may already be on a server.
    moved = {name: "" for name, to in (("REDIS_URL", redis), ("MONGO_URI", mongo)) if to}
    embedded = ChainMap[str, Any](moved, _mapping(call.settings))
    servers = ChainMap[str, Any]({"REDIS_URL": redis, "MONGO_URI": mongo}, _mapping(call.settings))
    what = {"from": str(path.resolve()), "to_redis": _place(redis), "to_mongo": _place(mongo)}
    with (
        closing(Side.open(embedded)) as source,
        closing(Side.open(servers, storage=bool(mongo), frontier=bool(redis))) as target,
    ):
        return _move(call, source, target, Choice(), Journal(data_folder(call.settings), what))


def _to_file(call: Call) -> int:
    if call.options.to_redis is not None or call.options.to_mongo is not None:
        raise ArgumentError("--to-file cannot be combined with --to-redis or --to-mongo")
    settings = call.settings
    if not settings.get("REDIS_URL") and not settings.get("MONGO_URI"):
        raise ArgumentError("--to-file copies from servers: set REDIS_URL and MONGO_URI to their addresses")
    folder: Path = call.options.to_file
    if folder.name == DATA_FILE:
        folder = folder.parent
    if (folder / DATA_FILE).resolve() == data_file(settings).resolve():
        raise ArgumentError(f"--to-file {folder}: is the data folder of this crawl; name another folder")
    home = ChainMap[str, Any](
        {"REDIS_URL": "", "MONGO_URI": "", "NEWSBOT_DATA": str(folder)}, _mapping(settings)
    )
    options = call.options
    what = {
        "from_redis": _place(settings.get("REDIS_URL")),
        "from_mongo": _place(settings.get("MONGO_URI")),
        "sites": options.sites and list(options.sites),
        "since": options.since and options.since[0],
        "until": options.until and options.until[0],
        "max_articles": options.max_articles,
    }
    journal = Journal(folder, what)
    choice = Choice(
        sites=options.sites or None,
        since=_fixed(journal, "since", options.since),
        until=_fixed(journal, "until", options.until),
        max_articles=options.max_articles,
    )
    with closing(Side.open(settings)) as source:
        _check_sites(source, choice)  # this comes before the target creates a file
        with closing(Side.open(home)) as target:
            return _move(call, source, target, choice, journal)


def _fixed(journal: Journal, name: str, given: tuple[str, datetime] | None) -> datetime | None:
    """Return the time that was computed when the move started, or None if the option is missing.

    A relative time such as ``7d`` would give a different time in each run of the command.
    """
    return given and datetime.fromisoformat(journal.fixed(name, given[1].isoformat()))


def _check_sites(source: Side, choice: Choice) -> None:
    """Raise :class:`ArgumentError` if a chosen site has no pages."""
    assert source.storage is not None
    for site in choice.sites or ():
        if next(source.storage.pages.iter(site=site), None) is None:
            hint = did_you_mean(site, site_names(source.storage.sites))
            raise ArgumentError(f"--sites {site}: has no stored pages{hint}")


def _move(call: Call, source: Side, target: Side, choice: Choice, journal: Journal) -> int:
    source.check_idle()
    target.check_idle()
    holds = target.holds_something()
    if journal.finished and holds:
        _moved_already(call, journal.finished)
        return 0
    if holds and not journal.found:
        raise DataError(
            "the target already contains data, which would be mixed with the moved data; move to an empty "
            "target (another database in MONGO_URI or REDIS_URL, or another folder)"
        )
    if journal.found and not holds:  # the target was emptied after the move was interrupted
        journal.forget()
    # The journal is written before the first data are copied. Otherwise a move that was interrupted early
    # could not continue, because a target that has data but no journal is refused.
    journal.begin()
    with _progress(call, source.totals() if choice.everything else {}) as report:
        copy_all(source, target, choice, journal, report)
        compared = compare_all(source, target, choice, report)
    if all(one.same for one in compared):
        journal.finish(iso(utc(system_clock())) or "")
    return _answer(call, compared)


def _moved_already(call: Call, moment: str) -> None:
    if call.json:
        call.document({"same": True, "finished": moment, "kinds": []})
    call.note(f"was already moved on {moment}; to move again, empty the target or name another target")


def _answer(call: Call, compared: list[Compared]) -> int:
    wrong = [one.kind for one in compared if not one.same]
    if call.json:
        rows = [
            {
                "kind": one.kind,
                "source": {"count": one.source.count, "checksum": one.source.checksum},
                "target": {"count": one.target.count, "checksum": one.target.checksum},
                "same": one.same,
            }
            for one in compared
        ]
        call.document({"same": not wrong, "kinds": rows})
    else:
        call.table(
            columns("kind | here > | there > | checksum"),
            (
                (one.kind, one.source.count, one.target.count, one.source.checksum if one.same else "differs")
                for one in compared
            ),
        )
    if wrong:
        call.note(
            f"source and target differ in: {', '.join(wrong)}. Stop all programs that write to them, "
            "empty the target, and move again"
        )
        return FAULT
    return 0


def _progress(call: Call, totals: Totals) -> AbstractContextManager[Report]:
    """Yield a function that shows the progress of each kind: as bars on a terminal, otherwise as lines.

    With ``--json`` the function does nothing.
    """
    console = make_console(sys.stderr)
    if call.json:
        return nullcontext(lambda _kind, _number: None)
    return bars(console, totals) if console.is_terminal else nullcontext(lines(call.note, totals))


def _server(call: Call, setting: str, option: str) -> str:
    """Return the address in an option, or an empty string if the option is missing.

    If the option has no value, the address in ``setting`` is returned.
    """
    given: str | None = getattr(call.options, option)
    if given is None:
        return ""
    address = given or str(call.settings.get(setting) or "")
    if not address:
        flag = "--" + option.replace("_", "-")
        raise ArgumentError(f"{flag}: give an address, or set {setting}")
    return address


def _place(address: str | None) -> str | None:
    """Return an address without credentials.

    The part before the host and the options after the path are left out.
    """
    if not address:
        return None
    scheme, _, rest = address.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _mapping(settings: SettingsLike) -> Any:
    """Return the settings unchanged. Scrapy's settings are a mapping, but are not typed as a mapping."""
    assert isinstance(settings, Mapping)
    return settings


def _sites(text: str) -> tuple[str, ...]:
    """Parse a list of domains, separated by commas (``type`` of an argument)."""
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _when(text: str) -> tuple[str, datetime]:
    """Parse a date. Return the text and the time. The text is the same when a move is continued later."""
    return text, moment(text)


ACTIONS = (
    Action(
        "",
        "Copy a crawl from the data file to servers, or (--to-file) from servers to a file. Stop "
        "all crawls first. If the command was killed, run it again to continue. The source is kept.",
        move,
        Argument("--to-redis", nargs="?", const="", metavar="URL", help="target (default: REDIS_URL)"),
        Argument("--to-mongo", nargs="?", const="", metavar="URI", help="target (default: MONGO_URI)"),
        Argument(
            "--to-file",
            type=Path,
            metavar="FOLDER",
            help="copy from REDIS_URL and MONGO_URI into this folder, for use as NEWSBOT_DATA",
        ),
        Argument("--sites", type=_sites, metavar="A,B", help="only these sites (with --to-file)"),
        Argument(
            "--since",
            type=_when,
            metavar="DATE",
            help="only articles published since DATE, with their pages: 2024-05, 7d, yesterday",
        ),
        Argument("--until", type=_when, metavar="DATE", help="only articles published before DATE"),
        Argument(
            "--max-articles",
            type=positive,
            metavar="N",
            help="maximum number of articles, chosen at random, with their pages",
        ),
    ),
)
