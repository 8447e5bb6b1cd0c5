"""Opens the rules, the frontier, the storage and the near-duplicate index that the settings name.

A backend is imported only when it is opened: a program without a server does not load pymongo, and a command
that only reads rules does not load numpy. In all functions, ``settings`` is any object with
``get(name, default)``, such as Scrapy's settings or a dict.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from newsbot.cli.log_lines import redacted
from newsbot.cli.program import PROGRAM
from newsbot.clock import DAY, Clock, system_clock
from newsbot.config.apps import backend
from newsbot.config.settings import SettingsLike, number_of
from newsbot.errors import DataUnavailable

if TYPE_CHECKING:
    from newsbot.dedup.index import NearIndex
    from newsbot.frontier.base import Frontier
    from newsbot.pages.rules import RuleSet
    from newsbot.pages.rules.load import PresentRules
    from newsbot.storage.base import Storage

DATA_FILE = "newsbot.db"
"""Name of the embedded data file in the data folder."""
_OF_THEIR_SCHEDULER = (
    "SCHEDULER_FLUSH_ON_START",
    "SCHEDULER_QUEUE_KEY",
    "SCHEDULER_QUEUE_CLASS",
    "SCHEDULER_DUPEFILTER_KEY",
    "SCHEDULER_SERIALIZER",
    "SCHEDULER_IDLE_BEFORE_CLOSE",
    "REDIS_START_URLS_KEY",
)
"""Settings of scrapy-redis that newsbot ignores."""
REDIS_KEEPS = 3600.0
"""Horizon of the frontier in Redis: it keeps pages that are due within this number of seconds.

Pages that are due later are only in the storage, see :mod:`newsbot.crawl.recovery`.
"""


def project_folder() -> Path | None:
    """Return the working folder or the nearest folder above it that contains ``scrapy.cfg``, else None."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "scrapy.cfg").is_file()), None)


def data_folder(settings: SettingsLike) -> Path:
    """Return the data folder: NEWSBOT_DATA, else ``data/`` in the project or in the working folder."""
    given = settings.get("NEWSBOT_DATA")
    return Path(given).expanduser() if given else (project_folder() or Path()) / "data"


def data_file(settings: SettingsLike) -> Path:
    """Return the path of the embedded data file. The file need not exist."""
    return data_folder(settings) / DATA_FILE


def rules_folder(settings: SettingsLike) -> Path | Traversable:
    """Return the rules folder: NEWSBOT_RULES, else ``rules/`` of the project, else the package's copy."""
    given = settings.get("NEWSBOT_RULES")
    if given:
        return Path(given).expanduser()
    project = project_folder()
    if project is not None and (project / "rules").is_dir():
        return project / "rules"
    from newsbot.pages.rules.load import shipped_folder

    return shipped_folder()


def place_of_data(settings: SettingsLike) -> str:
    """Return a line that says where the articles and the queue are. Passwords are masked."""
    folder = str(data_folder(settings).absolute())
    servers = (settings.get(name) for name in ("MONGO_URI", "REDIS_URL"))
    articles, queue = (redacted(server) if server else folder for server in servers)
    return f"data: {folder}" if articles == queue else f"articles: {articles}, queue: {queue}"


def open_rules(settings: SettingsLike, *, needed: bool = True) -> RuleSet:
    """Load all rules. Raises :class:`newsbot.errors.RulesError` with all problems at once.

    If ``needed`` is False, the folder may be missing. There are then only the defaults.
    """
    from newsbot.pages.rules import load_rules

    return load_rules(rules_folder(settings), needed=needed)


def present_rules(settings: SettingsLike) -> PresentRules:
    """Return an object whose ``get()`` returns the current rules. It reloads rule files that have changed."""
    from newsbot.pages.rules.load import PresentRules

    return PresentRules(rules_folder(settings))


def open_frontier(settings: SettingsLike, clock: Clock = system_clock) -> Frontier:
    """Open the frontier. Raises :class:`newsbot.errors.DataError`."""
    address = settings.get("REDIS_URL")
    if not address:
        from newsbot.frontier.sqlite.frontier import SqliteFrontier

        return SqliteFrontier(data_file(settings), clock=clock)
    given = None if clock is system_clock else clock  # a server has a clock of its own
    frontier: Frontier = backend("frontiers", address)(settings, keep_within=REDIS_KEEPS, clock=given)
    return frontier


def open_storage(settings: SettingsLike, *, hurried: bool = False, stale: bool = False) -> Storage:
    """Open the storage. Raises :class:`newsbot.errors.DataError`.

    If ``hurried``, calls to a server time out after a few seconds. Crawls need these short timeouts.
    Otherwise, the timeouts are long enough for a slow search. With ``stale``, articles and figures are read
    by the read preference of MONGO_URI.
    """
    address = settings.get("MONGO_URI")
    if not address:
        from newsbot.storage.sqlite import SqliteStorage

        return SqliteStorage(data_file(settings))
    storage: Storage = backend("storages", address)(address, hurried=hurried, stale=stale)
    return storage


def open_index(settings: SettingsLike) -> NearIndex:
    """Open the near-duplicate index.

    Raises :class:`newsbot.errors.DataError`, and :class:`newsbot.errors.ArgumentError` if NEWSBOT_NEAR_DAYS
    is not a number of days.
    """
    keep = number_of(settings, "NEWSBOT_NEAR_DAYS") * DAY
    address = settings.get("REDIS_URL")
    if not address:
        from newsbot.dedup.sqlite import SqliteIndex

        return SqliteIndex(data_file(settings), keep=keep)
    index: NearIndex = backend("indexes", address)(settings, keep=keep)
    return index


@contextmanager
def stored(settings: SettingsLike, *, stale: bool = False) -> Iterator[Storage]:
    """Open the storage for a command that only reads. ``stale`` is as in :func:`open_storage`.

    Raises :class:`DataUnavailable` if nothing has been crawled yet. No file is created.
    """
    if not settings.get("MONGO_URI"):
        _must_exist(settings)  # otherwise SQLite would create an empty file
    with closing(open_storage(settings, stale=stale)) as storage:
        yield storage


@contextmanager
def queued(settings: SettingsLike) -> Iterator[Frontier]:
    """Open the frontier for a command that only reads. Raises the same errors as :func:`stored`."""
    if not settings.get("REDIS_URL"):
        _must_exist(settings)
    with closing(open_frontier(settings)) as frontier:
        yield frontier


def _must_exist(settings: SettingsLike) -> None:
    path = data_file(settings)
    try:
        exists = path.exists()
    except OSError as error:  # no permission for one of the folders in the path
        raise DataUnavailable(f"{path}: cannot be read ({error.strerror})") from error
    if not exists:
        raise DataUnavailable(not_crawled(settings))


def not_crawled(settings: SettingsLike) -> str:
    """Return a message with the first command to run: ``crawl``, or ``init`` if there are no rules."""
    folder = rules_folder(settings)
    names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    rules = any(name.endswith(".yaml") and name[0] not in "._" for name in names)
    first = "run:" if rules else f"{folder} has no sites; run: {PROGRAM} init --sites starter; then:"
    return f"{data_file(settings)}: no crawl has run yet; {first} {PROGRAM} crawl news (or set NEWSBOT_DATA)"


def ignored_settings(settings: SettingsLike) -> list[str]:
    """Return the settings of scrapy-redis that are set although newsbot ignores them or uses them in another
    way.

    newsbot never flushes the queue, stores entries as JSON, and has no dupefilter, because the frontier knows
    all URLs. Without REDIS_URL the crawl uses the data file, even if a Redis host is set.
    """
    if not settings.get("REDIS_URL"):
        return [name for name in ("REDIS_HOST", "REDIS_PORT", "REDIS_PARAMS") if settings.get(name)]
    ignored = [name for name in _OF_THEIR_SCHEDULER if settings.get(name)]
    persist = settings.get("SCHEDULER_PERSIST")
    if persist is not None and str(persist).lower() in ("", "0", "false"):
        ignored.insert(0, f"SCHEDULER_PERSIST={persist}")
    return ignored
