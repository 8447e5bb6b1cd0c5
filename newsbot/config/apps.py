"""Finds the apps: packages that add commands, settings, parts of a crawl, followers and more to newsbot.

An app registers with one object, :class:`App`. Apps of newsbot are the packages of :mod:`newsbot.apps`, each
with its object ``APP``. Other packages name their object in an entry point of the group ``newsbot.apps``.
Both have the same possibilities (docs/extend.md). The object contains import paths, so that the modules of an
app are imported only when they are used. Import paths have the form ``package.module:name``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from itertools import product
from pkgutil import iter_modules
from typing import Any, get_args, get_origin, get_type_hints

from newsbot.errors import MAX_QUOTE, ArgumentError, UserError, did_you_mean

ENTRY_POINTS = "newsbot.apps"
"""The group of entry points in which other packages name their apps, and the package with newsbot's own."""
SETTING = "NEWSBOT_APPS"
UNIQUE = ("commands", "storages", "frontiers", "indexes", "labels", "alert_rules", "repositories", "notes")
"""Fields of :class:`App` in which no two apps can have the same key."""


class Owner(Enum):
    """What a note is about, and where its name has it."""

    SITE = auto()
    """The key is the domain of a site."""
    SITE_IN_KIND = auto()
    """The kind ends with the domain of a site."""
    HOST_IN_KIND = auto()
    """The kind ends with a host key."""
    PAGE = auto()
    """The key is the URL of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An app and what it adds. All fields but ``name`` and ``package`` may be left out."""

    name: str
    package: str
    """Import path of the package."""
    needs: tuple[str, ...] = ()
    """Names of apps that this app imports. They are used together with it, and it is left out together with
    them. An app with followers needs the app ``followers`` without naming it."""
    commands: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Name of a command -> group in the help of ``newsbot``, what the command does, in one line, and the
    import path of its actions, a tuple of :class:`newsbot.cli.command.Action`."""
    settings: bool = False
    """True if the package has a file ``settings.yaml``, of the form of newsbot/config/settings.yaml."""
    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parts for the spiders of newsbot: name of a setting of Scrapy -> import path of a class -> order."""
    spiders: str = ""
    """Import path of a package with spiders."""
    storages: Mapping[str, str] = field(default_factory=dict)
    """Scheme of MONGO_URI -> a function that takes the address and the keywords ``hurried`` and ``stale`` of
    :func:`newsbot.backends.open_storage`, and returns a :class:`newsbot.storage.base.Storage`."""
    frontiers: Mapping[str, str] = field(default_factory=dict)
    """Scheme of REDIS_URL -> a function that takes the settings and the keywords ``keep_within`` and
    ``clock``, and returns a :class:`newsbot.frontier.base.Frontier`."""
    indexes: Mapping[str, str] = field(default_factory=dict)
    """Scheme of REDIS_URL -> a class that takes the settings and the keyword ``keep``, and is a
    :class:`newsbot.dedup.index.NearIndex`. Its static method ``empty`` takes the settings, and deletes the
    index, whatever its version is."""
    checks: tuple[str, ...] = ()
    """Functions that are called before a crawl starts, with the settings and a list of rules.

    They raise :class:`newsbot.errors.UserError` if the crawl cannot run.
    """
    followers: tuple[str, ...] = ()
    """Functions that take the settings and return followers by name
    (:class:`newsbot.apps.followers.following.Follower`). News crawls and ``scrapy serve`` run them."""
    machine_followers: tuple[str, ...] = ()
    """The same, for followers that belong to one machine. Only ``scrapy serve`` runs them."""
    readers: tuple[str, ...] = ()
    """Readers of kinds of sources (:class:`newsbot.pages.discovery.reader.SourceReader`)."""
    documents: tuple[str, ...] = ()
    """Readers of files that are articles (:class:`newsbot.pages.discovery.reader.DocumentReader`)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Field of searches -> a function that takes the settings and returns what finds the labels of articles
    (:class:`newsbot.apps.search.query.LabelField`)."""
    alert_rules: Mapping[str, str] = field(default_factory=dict)
    """Name of an alert rule -> a function that takes :class:`newsbot.apps.alerts.rules.Measured` and
    :class:`newsbot.apps.alerts.rules.Limits`, and yields alerts."""
    signs: tuple[str, ...] = ()
    """Functions that take the settings and a :class:`newsbot.storage.base.Storage`, and yield what the app
    adds to the verdict on the crawl (:class:`newsbot.apps.operations.verdict.Sign`)."""
    pages: tuple[str, ...] = ()
    """Functions that add pages to the dashboard. They take the
    :class:`newsbot.apps.web.dashboard.service.Dashboard` and its ``aiohttp.web.Application``."""
    repositories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name of a repository of the app -> its classes (:meth:`newsbot.storage.base.Storage.repository`).

    ``scrapy move`` copies it under this name: ``records()`` yields all records, ``save(records)`` stores
    some, and the attribute ``source`` of a record is its site.
    """
    notes: Mapping[str, Owner] = field(default_factory=dict)
    """Kind of the notes that the app stores about a site or a page -> what their names contain."""
    removal: tuple[str, ...] = ()
    """Functions that delete what the app stores otherwise about a URL or a domain.

    They take a :class:`newsbot.apps.operations.remove.Found` and the storage.
    """
    pruning: Mapping[str, str] = field(default_factory=dict)
    """Kind of data that can get old -> a function that takes the settings, a moment in POSIX seconds, and
    ``delete=True`` or ``False``, and returns the number of older items."""

    @property
    def required(self) -> set[str]:
        """The names of the apps without which this app does nothing."""
        return {*self.needs, *(("followers",) if self.followers else ())}


def load(place: str, app: App | None = None) -> Any:
    """Import and return the object at an import path of the form ``package.module:name``.

    ``app`` is the app that names it, if it is not in a field of its :class:`App`. Raises
    :class:`ArgumentError` if an app names it and it cannot be imported.
    """
    try:
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)
    except Exception as error:
        # The text of an App contains all its import paths.
        owner = app or next((one for one in known_apps().values() if repr(place) in repr(one)), None)
        if owner is None or isinstance(error, UserError):
            raise
        raise fault_of(owner.name, f"{place} of the app {owner.name}", error) from error


def fault_of(app: str, part: str, error: Exception) -> ArgumentError:
    """Return the error that says why a part of an app cannot be loaded, and what to do."""
    why = f"{part} cannot be loaded ({type(error).__name__}: {error})"
    return ArgumentError(f"{why}; correct or uninstall its package, or set {SETTING}=-{app}")


@cache
def _others() -> Sequence[EntryPoint]:
    """Return the entry points of the apps of other packages. Each search reads files of all packages."""
    return tuple(entry_points(group=ENTRY_POINTS))


@cache
def known_apps() -> Mapping[str, App]:
    """Return all apps by name, those of newsbot first.

    An app of another package that the environment variable NEWSBOT_APPS leaves out is not imported. Raises
    :class:`ArgumentError` if an app cannot be imported, needs an app that does not exist, or has a name of
    another app (:data:`UNIQUE`).
    """
    # The modules that are not packages are code that several apps share.
    own = [one.name for one in iter_modules(import_module(ENTRY_POINTS).__path__) if one.ispkg]
    found: dict[str, App] = {name: import_module(f"{ENTRY_POINTS}.{name}").APP for name in own}
    for one in _others():
        package = one.dist.name if one.dist else one.value
        if f"-{one.name}" in _words(os.environ.get(SETTING)):
            continue
        try:
            app = one.load()
            _check(app, one, found)
        except Exception as error:
            raise fault_of(one.name, f"the app {one.name} of the package {package}", error) from error
        found[app.name] = app
    return found


def _check(app: Any, point: EntryPoint, found: Mapping[str, App]) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless the object at an entry point is an app that can be used
    together with those in ``found``."""
    if not isinstance(app, App):
        raise TypeError(f"{point.value} is not a newsbot.config.apps.App")
    for name, hint in get_type_hints(App).items():
        if not _fits(value := getattr(app, name), hint):
            comma = "; a tuple of one text has a comma: ('…',)" if isinstance(value, str) else ""
            raise TypeError(f"{name}={repr(value)[:MAX_QUOTE]}: must be {App.__annotations__[name]}{comma}")
    if app.name in found or app.name != point.name:
        raise ValueError(f"name={app.name!r}: must be the name of its entry point, and of no other app")
    parts = [path.rpartition(".")[0] for paths in app.components.values() for path in paths]
    for module in (*parts, app.spiders or ENTRY_POINTS):
        if find_spec(module) is None:
            raise ValueError(f"there is no module {module}")
    # Scrapy is not imported, which would take long.
    scrapys = iter_modules([f"{one}/commands" for one in find_spec("scrapy").submodule_search_locations])  # type: ignore[union-attr]
    scrapy = App(name="Scrapy", package="scrapy", commands={one.name: ("", "", "") for one in scrapys})
    for other, kind in product((scrapy, *found.values()), UNIQUE):
        for name in getattr(other, kind).keys() & getattr(app, kind).keys():
            raise ValueError(f"{kind}: {other.name} already has {name!r}")
    for name in set(app.needs) - (names := {*found, *(one.name for one in _others())}):
        raise ValueError(f"needs={name!r}: is not an app{did_you_mean(name, names)}")


def _fits(value: Any, hint: Any) -> bool:
    """Return True if a value has the type of a field of :class:`App`. A list may stand for a tuple."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Mapping:
        return isinstance(value, Mapping) and all(_fits(one, parts[1]) for one in value.values())
    if kind is tuple:  # of texts
        texts = isinstance(value, tuple | list) and all(isinstance(one, str) for one in value)
        return texts and (... in parts or len(value) == len(parts))
    return hint is Any or isinstance(value, hint)


def active_apps(wanted_apps: Any) -> list[App]:
    """Return the apps that NEWSBOT_APPS does not leave out; ``wanted_apps`` is its value.

    The apps that a named app needs are used too.
    Raises :class:`ArgumentError`.
    """
    return list(_choose(wanted_apps)[0].values())


def unmet_needs(wanted_apps: Any) -> dict[str, str]:
    """Return the apps that are left out because they need an app that is left out: name -> what it needs.

    Raises :class:`ArgumentError`.
    """
    return {name: " and ".join(sorted(needs)) for name, needs in _choose(wanted_apps)[1].items()}


def _choose(wanted_apps: Any) -> tuple[dict[str, App], dict[str, set[str]]]:
    """Return the active apps by name, and for :func:`unmet_needs` the names of apps."""
    known = known_apps()
    words = _words(wanted_apps)
    # An app that the environment variable leaves out is not among the known apps.
    names = dict.fromkeys([*known, *(one.name for one in _others())])
    for word in words:
        if (name := word.removeprefix("-")) not in names:
            hint = did_you_mean(name, names)
            raise ArgumentError(f"{SETTING}={word}: is not an app{hint} (apps: {', '.join(names)})")
    wanted = {word for word in words if not word.startswith("-")} or set(known)
    while more := {need for name in wanted & known.keys() for need in known[name].required} - wanted:
        wanted |= more
    left = {name: app for name, app in known.items() if name in wanted and f"-{name}" not in words}
    unmet: dict[str, set[str]] = {}
    while without := {name: needs for name, app in left.items() if (needs := app.required - left.keys())}:
        unmet |= without
        left = {name: app for name, app in left.items() if name not in without}
    return left, unmet


def open_readers(wanted_apps: Any) -> list[Any]:
    """Return the readers of sources (:class:`newsbot.pages.discovery.reader.SourceReader`).

    The readers of the active apps come before those of feeds and sitemaps. Raises :class:`ArgumentError`.
    """
    built_in, checked = (load(f"newsbot.pages.discovery.reader:{name}") for name in ("BUILT_IN", "checked"))
    named = [(place, app.name) for app in active_apps(wanted_apps) for place in app.readers]
    return [*(checked(load(place), f"the app {name}: {place}") for place, name in named), *built_in]


def open_documents(wanted_apps: Any) -> list[Any]:
    """Return the document readers of the active apps
    (:class:`newsbot.pages.discovery.reader.DocumentReader`)."""
    return [load(place) for app in active_apps(wanted_apps) for place in app.documents]


def backend(kind: str, address: str) -> Any:
    """Return what opens a server: the object that an app names for the scheme of an address.

    ``kind`` is ``storages``, ``frontiers`` or ``indexes``. NEWSBOT_APPS leaves out no backend, because the
    address has chosen it. The first app, which is newsbot's own, reports schemes that no app knows.
    """
    places = {key: place for app in known_apps().values() for key, place in getattr(app, kind).items()}
    return load(places.get(address.partition("://")[0], next(iter(places.values()))))


def spider_packages(wanted_apps: Any) -> list[str]:
    """Return the packages with the spiders of the active apps.

    If an app is not valid, the list is empty, because settings are imported before a command can report it.
    """
    try:
        return [app.spiders for app in active_apps(wanted_apps) if app.spiders]
    except ArgumentError:
        return []


def _words(value: Any) -> list[str]:
    """Return the words of the setting: a list, or names separated by commas."""
    words = value.split(",") if isinstance(value, str) else value or ()
    return [word for word in (str(one).strip() for one in words) if word]
