"""``scrapy move``: copies a crawl from the data file to servers, or back.

A batch is recorded in the journal once the target has stored it. If a move is interrupted, the same command
continues it. Source and target are compared by counts and by checksums that do not depend on the order.
"""

from __future__ import annotations

import json
import sys
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from newsbot.apps.transfer.copies import KINDS, Choice, Side, WholeFrontier, copies_of, of_apps
from newsbot.backends import DATA_FILE, data_file, data_folder
from newsbot.cli.command import FAULT, Action, Argument, Call, moment, positive
from newsbot.cli.terminal import Report, Totals, columns, lines, make_console
from newsbot.clock import iso, stamp, system_clock, utc
from newsbot.config.settings import SettingsLike
from newsbot.crawl.entries import entry_again
from newsbot.crawl.recovery import PENDING, RIGHT_SECONDS
from newsbot.dedup.story_merge import rebuild
from newsbot.errors import ArgumentError, DataError, DataUnavailable, did_you_mean
from newsbot.frontier.base import FETCH_STEP, EntryCopy, Known, LeanFrontier, known_of
from newsbot.items import PageRecord, batched
from newsbot.storage.base import Storage, site_names

NAME = "move.json"


class Journal:
    """The journal of a move, stored as ``move.json`` in ``folder``.

    ``what`` describes the move (JSON-serializable). Raises :class:`DataError` if the file cannot be read, or
    belongs to another move that is not finished.
    """

    def __init__(self, folder: Path, what: dict[str, Any]) -> None:
        self.path = folder / NAME
        self._what = what
        self._kept: dict[str, Any] = {"what": what, "fixed": {}, **_new()}
        self.found = self.path.exists()
        """True if an earlier command started this move."""
        if self.found:
            self._read()

    def forget(self) -> None:
        """Start again from the beginning."""
        self._kept |= _new()
        self.found = False

    def begin(self) -> None:
        """Write the file if the move starts now. All data that the target has later belong to this move."""
        if not self.found:
            self._write()

    def fixed(self, name: str, value: str) -> str:
        """Return the value that ``name`` had at the start of the move.

        If the move starts now, store ``value``.
        """
        return str(self._kept["fixed"].setdefault(name, value))

    @property
    def finished(self) -> str | None:
        """Time at which the move was completed (ISO 8601); None if it is not complete."""
        moment: str | None = self._kept["finished"]
        return moment

    def after(self, kind: str) -> str:
        """Return the key after which the copying of a kind continues, or an empty string at the start."""
        return str(self._kept["after"].get(kind, ""))

    def moved(self, kind: str) -> int:
        """Return how many items of a kind were moved, including those of earlier commands."""
        return int(self._kept["done"].get(kind, 0))

    def note(self, kind: str, after: str, moved: int) -> None:
        """Record that the target has stored ``moved`` more items; ``after`` is the key of the last one."""
        self._kept["after"][kind] = after
        self._kept["done"][kind] = self.moved(kind) + moved
        self._write()

    @property
    def filled_until(self) -> float | None:
        """The time (POSIX seconds) up to which the target queue has all due entries after the copying.

        None if it is not set.
        """
        until: float | None = self._kept.get("filled_until")
        return until

    def note_filled_until(self, moment: float) -> None:
        """Store the time that :attr:`filled_until` returns."""
        self._kept["filled_until"] = moment
        self._write()

    def finish(self, moment: str) -> None:
        """Record that the move is complete."""
        self._kept["finished"] = moment
        self._write()

    def _read(self) -> None:
        try:
            kept = json.loads(self.path.read_text(encoding="utf8"))
            known = kept["what"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}: cannot be read ({error}); delete it to start again") from error
        if known != self._what and kept.get("finished"):
            self.found = False  # that move is complete, so its journal is overwritten
            return
        if known != self._what:
            raise DataError(
                f"{self.path}: another move was started here ({_text(known)}; this move: "
                f"{_text(self._what)}); finish the other move, or delete the file to start a new one"
            )
        self._kept = kept

    def _write(self) -> None:
        """Replace the file atomically. Raises :class:`DataUnavailable`."""
        new = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.write_text(json.dumps(self._kept), encoding="utf8")
            # The rename is atomic, so after a crash the file is either the old file or the whole new file.
            new.replace(self.path)
        except OSError as error:
            raise DataUnavailable(f"{self.path}: cannot be written ({error.strerror})") from error


def _new() -> dict[str, Any]:
    return {"after": {}, "done": {}, "filled_until": None, "finished": None}


def _text(what: Any) -> str:
    items = what.items() if isinstance(what, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in items if value is not None)


@contextmanager
def bars(console: Console, totals: Totals) -> Iterator[Report]:
    """Yield a function that shows a progress bar for each kind."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as drawn:
        tasks: dict[str, TaskID] = {}

        def show(kind: str, number: int) -> None:
            if kind not in tasks:
                _close(drawn, tasks.values())
                tasks[kind] = drawn.add_task(kind, total=totals.get(kind))
            drawn.update(tasks[kind], completed=number)

        yield show
        _close(drawn, tasks.values())


def _close(drawn: Progress, tasks: Iterable[TaskID]) -> None:
    """Set the total of each bar to the number of moved items, because the totals were estimates."""
    for task in tasks:
        drawn.update(task, total=drawn.tasks[task].completed)


BATCH = 500
"""Number of copies that are read and written together."""
OWNER = "move"
"""The owner of the right to fill the target's queue."""


def copy_all(source: Side, target: Side, choice: Choice, journal: Journal, report: Report) -> None:
    """Copy the chosen data. Data that the journal has recorded are not copied again.

    Raises subclasses of :class:`newsbot.errors.DataError`. Afterwards a call with the same journal continues
    the move.
    """
    assert source.storage is not None
    choice.prepare(source.storage)
    if target.storage is not None:
        _check_repositories(source.storage, target.storage)
        for kind in KINDS:
            left = choice.copies(source.storage, kind, journal.after(kind))
            _copy_kind(left, target.storage, kind, journal, report)
        copy_books(source.storage, target.storage, choice, report)
    if target.frontier is not None:
        assert source.frontier is not None
        _copy_frontier(source, target.frontier, choice, journal, report)
    if target.index is not None:
        # The near-duplicate index is not copied, but built again from the texts. If only a part of the data
        # is moved, the texts are read from the target, because it has fewer texts than the source.
        texts = source.storage if choice.everything else target.storage or source.storage
        rebuild(texts, target.index, time.time(), partial(report, "near"), choice.has_article)


def _copy_kind(copies: Iterable[Any], target: Storage, kind: str, journal: Journal, report: Report) -> None:
    copier = copies_of(target)
    # The target stores a batch before the journal records it. After a crash between the two steps, the batch
    # is copied again, which changes nothing.
    for some in batched(copies, BATCH):
        copier.write(kind, some)
        journal.note(kind, some[-1].key, len(some))
        report(kind, journal.moved(kind))


def _check_repositories(source: Storage, target: Storage) -> None:
    """Raise :class:`DataUnavailable` if the target has no place for data of an app."""
    there = {name for name, _ in of_apps(target)}
    for name, repository in of_apps(source):
        if name not in there and next(iter(repository.records()), None) is not None:
            raise DataUnavailable(
                f"{target.place}: its app has no place for {name!r} there; nothing was moved"
            )


def copy_books(source: Storage, target: Storage, choice: Choice, report: Report) -> None:
    """Copy the small kinds of data.

    The journal does not record these kinds, so a continued move copies them again.
    """
    writers: Mapping[str, Callable[[Any], object]] = {
        "sources": target.sources.save,
        "sites": copies_of(target).put_sites,
        **{name: repository.save for name, repository in of_apps(target)},
        "notes and polls": partial(copies_of(target).write, "books"),
    }
    for kind, things in choice.small(source):
        number = 0
        for some in batched(things, BATCH):  # a kind without a place in the target is empty
            writers[kind](some)
            number += len(some)
            report(kind, number)


def _copy_frontier(
    source: Side, target: WholeFrontier, choice: Choice, journal: Journal, report: Report
) -> None:
    assert source.frontier is not None
    assert source.storage is not None
    began = _begin_refill(target, journal)
    # The entries in the queue of the source are copied first. Then entries are made from the records of pages
    # that have no entry in this queue.
    moved = 0
    hosts: set[str] = set()
    for some in batched(_entries(source.frontier, choice), BATCH):
        hosts |= {copy.entry.host for copy in some}
        target.take_entries(some)
        moved += len(some)
        report("queue", moved)
    for pages in batched(choice.copies(source.storage, "pages"), BATCH):
        missing = _missing(source.frontier, target, [copy.page for copy in pages], choice)
        target.take_entries(missing)
        hosts |= {copy.entry.host for copy in missing}
        moved += len(missing)
        report("queue", moved)
    _copy_hosts(source.frontier, target, hosts, choice, report)
    if began is not None and isinstance(target, LeanFrontier):
        # Only the holder of the refill lock may report a refill, so the lock is acquired first.
        target.refill(OWNER, ttl=RIGHT_SECONDS)
        target.refill(OWNER, ttl=RIGHT_SECONDS, until=began)


def _begin_refill(target: WholeFrontier, journal: Journal) -> float | None:
    """Return the time up to which the target queue has all due entries after the copying.

    Returns None if the target queue keeps all entries.

    A :class:`LeanFrontier` keeps only entries that are due soon. All other entries are only in the storage.
    The time is computed at the start of the first run and stored in the journal. A continued move needs the
    same time, because it does not read again the entries that the first run left out.
    """
    if not isinstance(target, LeanFrontier):
        return None
    if journal.filled_until is None:
        journal.note_filled_until(target.refill(OWNER, ttl=RIGHT_SECONDS).now + target.keep_within)
    return journal.filled_until


def _entries(frontier: WholeFrontier, choice: Choice) -> Iterator[EntryCopy]:
    if choice.of_articles:
        return iter(())  # a copy of chosen articles is for reading: its pages are known, but not queued
    return (copy for copy in frontier.copy_entries() if choice.has_site(copy.entry.data.get("source", "")))


def _missing(
    source: WholeFrontier, target: WholeFrontier, pages: list[PageRecord], choice: Choice
) -> list[EntryCopy]:
    """Return entries for pages that the target frontier does not know, made from their page records."""
    known, here = known_of(target, pages), known_of(source, pages)
    return [
        _known_page(page, here.get(page.fingerprint), choice)
        for page in pages
        if page.fingerprint not in known
    ]


def _known_page(page: PageRecord, here: Known | None, choice: Choice) -> EntryCopy:
    # The state in the frontier is newer than the state in the page record.
    state = page.state if here is None else here.state
    waits = state in PENDING and not choice.of_articles
    entry = entry_again(page)
    return EntryCopy(
        entry=replace(entry, due=0.0) if waits else entry,
        state="pending" if waits else "done",
        at=None if waits else page.next_due,
        last_fetched=page.last_fetched if here is None else here.last_fetched,
    )


def _copy_hosts(
    source: WholeFrontier, target: WholeFrontier, wanted: set[str], choice: Choice, report: Report
) -> None:
    now = system_clock()
    number = 0
    for copy in source.copy_hosts():
        if not choice.everything and copy.host not in wanted:
            continue
        target.set_politeness(copy.host, delay=copy.delay, concurrency=copy.concurrency)
        if copy.next_turn > now:  # a pause that the host requested does not end with the move
            target.back_off(copy.host, copy.next_turn - now)
        number += 1
        report("hosts", number)


_MODULUS = 1 << 128


@dataclass(slots=True)
class Sum:
    """The number of items, and the sum of their hashes modulo 2**128.

    Backends return items in different orders, but a sum is the same in any order. Unlike XOR, a sum also
    reveals items that occur twice.
    """

    count: int = 0
    value: int = 0

    def add(self, thing: object) -> None:
        """Add an item: a dataclass or a JSON-serializable value."""
        text = json.dumps(_normal(thing), sort_keys=True)
        digest = blake2b(text.encode("utf8", "replace"), digest_size=16).digest()
        self.count += 1
        self.value = (self.value + int.from_bytes(digest)) % _MODULUS

    @property
    def checksum(self) -> str:
        """The sum of the hashes in hexadecimal."""
        return f"{self.value:032x}"


@dataclass(frozen=True, slots=True)
class Compared:
    """The count and the checksum of one kind of data on both sides."""

    kind: str
    source: Sum
    target: Sum

    @property
    def same(self) -> bool:
        """True if no item is missing or different."""
        return self.source == self.target


def compare_all(
    source: Side, target: Side, choice: Choice, report: Callable[[str, int], None]
) -> list[Compared]:
    """Read the chosen data on both sides again and compare them. Return one result for each kind.

    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    assert source.storage is not None
    found = []
    if target.storage is not None:
        for kind in KINDS:
            ours = _summed(choice.copies(source.storage, kind), f"check {kind} here", report)
            theirs = _summed(copies_of(target.storage).read(kind), f"check {kind} there", report)
            found.append(Compared(kind, ours, theirs))
        found += _compare_books(source.storage, target.storage, choice)
    if source.frontier is not None and target.frontier is not None:
        found.append(_compare_frontiers(source.storage, source.frontier, target.frontier, choice, report))
    return found


def _summed(copies: Iterable[object], kind: str, report: Callable[[str, int], None]) -> Sum:
    total = Sum()
    for copy in copies:
        total.add(copy)
        if total.count % BATCH == 0:
            report(kind, total.count)
    report(kind, total.count)
    return total


def _compare_books(source: Storage, target: Storage, choice: Choice) -> Iterator[Compared]:
    for (kind, here), (_, there) in zip(choice.small(source), choice.small(target), strict=True):
        ours, theirs = Sum(), Sum()
        for total, things in ((ours, here), (theirs, there)):
            for thing in things:
                total.add(thing)
        yield Compared(kind, ours, theirs)


def _compare_frontiers(
    storage: Storage,
    source: WholeFrontier,
    target: WholeFrontier,
    choice: Choice,
    report: Callable[[str, int], None],
) -> Compared:
    """Compare the state and the last fetch of each page in both frontiers."""
    ours, theirs = Sum(), Sum()
    for copies in batched(choice.copies(storage, "pages"), BATCH):
        keys = [copy.page.fingerprint for copy in copies]
        at_source, at_target = source.known(keys), target.known(keys)
        for copy in copies:
            key = copy.page.fingerprint
            if key not in at_source or (choice.of_articles and key in at_target):
                # If only articles were chosen, the target never queues their pages, so the states of these
                # pages may differ. A page that the target does not know at all still counts as a difference.
                at_source[key] = at_target.get(key, Known(state="", last_fetched=None, next_due=None))
            ours.add(_state(key, at_source[key]))
            if key in at_target:
                theirs.add(_state(key, at_target[key]))
        report("check queue", ours.count)
    return Compared("queue", ours, theirs)


def _state(key: bytes, known: Known) -> tuple[str, str, int | None]:
    # A lease becomes a pending entry when it is copied. Backends keep the last fetch in steps of FETCH_STEP.
    state = "pending" if known.state == "leased" else known.state
    return key.hex(), state, None if known.last_fetched is None else ceil(known.last_fetched / FETCH_STEP)


def _normal(value: Any) -> Any:
    """Return a JSON-serializable value that is the same for all backends: numbers as float, times as text.

    A REAL column of SQLite, for example, returns an integer as a float.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return _normal(asdict(value))
    if isinstance(value, dict):
        return {str(name): _normal(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    # A larger integer has no exact float.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    if isinstance(value, datetime):
        return stamp(value)
    return value.hex() if isinstance(value, bytes) else value


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
