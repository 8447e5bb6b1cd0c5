"""Reads the table of all settings, and checks the settings of the user with it before a command begins.

The table is settings.yaml, which declares each setting: name, kind, default, environment variable and
meaning. It contains the defaults for :mod:`newsbot.settings`, and the environment variables from which
settings are read. With it, values are checked, and the right name is suggested for a wrong name.
docs/settings.md is made from it. A kind says how a value is parsed, and which
values are allowed.

The user agent is built from NEWSBOT_CONTACT, the contact of the person who runs the crawl.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

import yaml

from newsbot import __version__
from newsbot.clock import parse_duration
from newsbot.config.apps import fault_of, known_apps
from newsbot.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

HOUR = 3600.0
ONE_PAGE = "ONE_PAGE"
"""Setting of Scrapy's commands for one page: no component of newsbot is used, so nothing is stored."""

Read = Callable[[Any], Any]
"""A function that parses a value. The argument is a text or a Python object.

The function raises ``ValueError`` or ``TypeError`` for an invalid value.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value."""

    must: str
    """Text that says what a value must be. It is the end of the message "NAME=VALUE: must be …"."""
    read: Read
    least: float = -math.inf
    """Smallest allowed number."""
    greatest: float = math.inf
    """Largest allowed number."""


_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True)
_WORDS |= dict.fromkeys(("0", "false", "no", "off"), False)


def as_switch(raw: Any) -> bool:
    """Return the boolean for a word such as ``1`` or ``no``. Raises ``ValueError`` for other words."""
    try:
        return _WORDS[str(raw).strip().lower()]
    except KeyError:
        raise ValueError(raw) from None


def _switch(raw: Any) -> bool:
    # Environment variables allow more words (as_switch), and are converted before this check. All other
    # values are read by Scrapy's getbool, which accepts only the following words.
    if str(raw) not in {"0", "1", "true", "false", "True", "False"}:
        raise ValueError(raw)
    return as_switch(raw)


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError(raw)
    return raw


def _path(raw: Any) -> str:
    path = os.fspath(raw)
    if not isinstance(path, str) or "\0" in path:
        raise ValueError(raw)
    return path


def _words(raw: Any) -> list[str]:
    return [_text(word) for word in (raw.split(",") if isinstance(raw, str) else list(raw))]


def _url(raw: Any) -> str:
    url = _text(raw).strip()
    parts = urlsplit(url)
    fine = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1) > 0
    if url and (not fine or any(sign.isspace() for sign in url)):
        raise ValueError(raw)
    return url


def _level(raw: Any) -> int:
    level = logging.getLevelNamesMapping()[raw] if isinstance(raw, str) else raw
    if not isinstance(level, int):
        raise TypeError(raw)
    return level


def _age(raw: Any) -> float | None:
    """Return a duration such as ``90d`` in seconds; None for an empty value."""
    if raw == "":
        return None
    seconds = parse_duration(raw)
    if seconds < HOUR:
        raise ValueError(raw)
    return seconds


def _range(least: float, greatest: float) -> str:
    return f"{least:g} or more" if math.isinf(greatest) else f"{least:g} to {greatest:g}"


def _between(convert: Callable[[Any], float], least: float, greatest: float) -> Read:
    def read(raw: Any) -> float:
        value = convert(raw)
        if not least <= value <= greatest:
            raise ValueError(raw)
        return value

    return read


def number(least: float, greatest: float = math.inf) -> Kind:
    """Return the kind of numbers from ``least`` to ``greatest``."""
    read = _between(float, least, greatest)
    return Kind(f"a number, {_range(least, greatest)}", read, least, greatest)


def whole(least: int, greatest: int) -> Kind:
    """Return the kind of whole numbers from ``least`` to ``greatest``."""
    read = _between(int, least, greatest)
    return Kind(f"a whole number, {least} to {greatest}", read, least, greatest)


def one_of(*words: str) -> Kind:
    """Return the kind whose only values are these words."""

    def read(raw: Any) -> str:
        if raw not in words:
            raise ValueError(raw)
        return str(raw)

    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", read)


SWITCH = Kind("1 (on) or 0 (off)", _switch)
TEXT = Kind("text", _text)
PATH = Kind("a path", _path)
WORDS = Kind("a list, or words separated by commas", _words)
COMMAND = Kind("a list, or a command line", _words)
URL = Kind("a URL that begins with http:// or https://", _url)
LEVEL = Kind("DEBUG, INFO, WARNING, ERROR or CRITICAL", _level)
ANY = Kind("anything", lambda raw: raw)
"""The kind of settings whose value is parsed and checked by the code that uses it."""
AGE = Kind("a duration of at least one hour, such as 36h, 90d or 4w", _age, HOUR)
"""The kind of settings that say how long data are kept.

The minimum of one hour protects against typing errors such as ``1s``.
"""
KINDS = {
    "switch": SWITCH,
    "text": TEXT,
    "path": PATH,
    "words": WORDS,
    "command": COMMAND,
    "url": URL,
    "level": LEVEL,
    "any": ANY,
    "age": AGE,
}
_MAKERS: Mapping[str, Callable[..., Kind]] = {"number": number, "whole": whole, "one_of": one_of}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. In settings.yaml, fields that have the default values of this class may be left out."""

    name: str
    kind: Kind
    """In settings.yaml: a key of :data:`KINDS`, or a list such as ``[number, 0, 9]`` or ``[one_of, a]``."""
    default: Any = None
    """The default value.

    None means that :mod:`newsbot.settings` does not contain the setting. Scrapy's default applies, if there
    is one.
    """
    meaning: str
    """Text for docs/settings.md, in Markdown."""
    environment: str = ""
    """The environment variable from which the setting is read; empty if there is none.

    In settings.yaml, ``true`` means the name of the setting.
    """
    secret: bool = False
    """True if messages must not show the value."""
    listed: str = ""
    """The text for the default in docs/settings.md, if the value itself would not be clear."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of docs/settings.md with its settings."""

    title: str
    settings: tuple[Setting, ...]
    text: str = ""
    app: str = ""
    """The name of the app that uses the settings; empty for the core."""


def _setting(name: str, kind: Any, environment: str | bool = "", **fields: Any) -> Setting:
    """Return a setting from its fields in settings.yaml."""
    maker, *arguments = kind if isinstance(kind, list) else [kind]
    return Setting(
        name=name,
        kind=_MAKERS[maker](*arguments) if arguments else KINDS[maker],
        environment=name if environment is True else str(environment),
        **fields,
    )


def _sections() -> Iterator[Section]:
    """Yield the sections of the core and of all apps."""
    # CSafeLoader is missing if PyYAML was built without libyaml.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for app, package in (("", "newsbot.config"), *_packages_with_settings()):
        try:
            text = files(package).joinpath("settings.yaml").read_text(encoding="utf-8")
            for one in yaml.load(text, loader):  # noqa: S506  (both loaders are safe)
                own = tuple(_setting(**each) for each in one["settings"])
                yield Section(one["title"], own, one.get("text", ""), app)
        except Exception as error:
            if not app:
                raise
            FAULTS.append(fault_of(app, f"the file settings.yaml of the app {app}", error))


def _packages_with_settings() -> list[tuple[str, str]]:
    try:
        return [(app.name, app.package) for app in known_apps().values() if app.settings]
    except ArgumentError:  # Scrapy imports the settings first; the commands report the error
        return []


FAULTS: list[ArgumentError] = []
"""Why the settings of apps cannot be read. Scrapy imports the settings before an error can be reported."""
SECTIONS = tuple(_sections())
SETTINGS = {setting.name: setting for section in SECTIONS for setting in section.settings}
"""All settings by name."""


def defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each setting.

    The value comes from the environment variable of the setting. If the variable is not set or empty, the
    value is the default. An invalid value is yielded unchanged, so that an import of :mod:`newsbot.settings`
    never fails. The check before a command begins reports such a value.
    """
    for setting in SETTINGS.values():
        raw = environment.get(setting.environment, "") if setting.environment else ""
        if raw and setting.kind is SWITCH:
            try:
                yield setting.name, as_switch(raw)
            except ValueError:
                yield setting.name, raw
        elif raw or setting.default is not None:
            yield setting.name, raw or setting.default


# --- checks
PREFIX = "NEWSBOT_"
TESTS = f"{PREFIX}TEST_"
"""Prefix of the environment variables that newsbot's own tests read."""

PARTS = (
    *("SCHEDULER", "TWISTED_DNS_RESOLVER", "LOG_FORMATTER", "DUPEFILTER_CLASS", "STATS_CLASS"),
    *("DOWNLOADER", "SPIDER_LOADER_CLASS", "DOWNLOAD_HANDLERS", "DOWNLOADER_MIDDLEWARES"),
    *("SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS", "ADDONS", "FEED_EXPORTERS", "FEED_STORAGES"),
)
"""Names of Scrapy's settings whose values can contain dotted paths of newsbot's classes."""


class SettingsLike(Protocol):
    """The part of the interface of Scrapy's settings that newsbot uses. A dict provides it too."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, or ``default`` if it is not set."""


def value_of(settings: SettingsLike, name: str) -> Any:
    """Return the parsed value of a setting of the table, or its default if it is not set.

    Raises :class:`ArgumentError` if the value is not valid, and ``KeyError`` if ``name`` is not in the table.
    """
    setting = SETTINGS[name]
    raw = settings.get(name)
    if raw is None:
        raw = setting.default
    if raw is None:
        return None
    try:
        return setting.kind.read(raw)
    except (TypeError, ValueError, KeyError, OverflowError):
        raise ArgumentError(f"{name}={_shown(setting, raw)}: must be {setting.kind.must}") from None


def number_of(settings: SettingsLike, name: str) -> float:
    """Return the value of a setting that is a number. Raises the same errors as :func:`value_of`."""
    return cast("float", value_of(settings, name))


def check_settings(settings: SettingsLike) -> None:
    """Check all settings of the table, and check that the log file can be written.

    Raises :class:`ArgumentError` for the first fault.
    """
    if FAULTS:
        raise FAULTS[0]
    for name in SETTINGS:
        value_of(settings, name)
    if path := settings.get("LOG_FILE"):
        try:
            # Append mode does not change a log that exists.
            Path(path).open("ab").close()
        except OSError as error:
            raise ArgumentError(f"the log file {path} cannot be written ({error.strerror})") from error


def check_parts(settings: SettingsLike) -> None:
    """Raise :class:`ArgumentError` for the first setting that names a module of newsbot that does not exist.

    The class is not looked for, because this would import the module.
    """
    for name in PARTS:
        for path in _paths(settings.get(name)):
            module, _, _ = path.rpartition(".")
            if module.startswith("newsbot.") and not _exists(module):
                raise ArgumentError(f"{name}: {path}: there is no module {module}")


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # there is no package of this name
        return False


def unknown_names(settings: Mapping[Any, Any], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each setting or environment variable that has no effect, for example because of a
    spelling error.

    Only names that begin with :data:`PREFIX` are checked.
    """
    variables = {setting.environment for setting in SETTINGS.values()}
    known = {name for name in (*SETTINGS, *variables) if name.startswith(PREFIX)}
    for name in sorted(name for name in map(str, settings) if name.startswith(PREFIX)):
        if name not in known:
            yield f"{name}: {_unknown(name, known)}"
    # An empty environment variable counts as not set.
    for name in sorted(name for name, value in environment.items() if name.startswith(PREFIX) and value):
        if name in variables or name.startswith(TESTS):
            continue
        if name in known:
            yield f"{name}: is not read from the environment; set it with -s {name}=VALUE"
        else:
            yield f"{name} (environment): {_unknown(name, known)}"


def _unknown(name: str, known: set[str]) -> str:
    """Return why a name has no effect, and what to use instead."""
    hint = did_you_mean(name, sorted(known), similarity=0.8)
    return f"there is no such setting{hint}; see docs/settings.md"


def _shown(setting: Setting, raw: Any) -> str:
    """Return a value as text for a message.

    The text is one line of at most 200 characters without passwords.
    """
    if setting.secret:
        return "***"
    # e.g. redis://user:secret@host becomes redis://***@host
    return re.sub(r"://[^/@\s]*@", "://***@", " ".join(str(raw).split()))[:200]


def _paths(raw: Any) -> Iterator[str]:
    """Yield the dotted paths in a value: the value itself, or the keys and values of a dict."""
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, Mapping):
        for one in (*raw, *raw.values()):
            if isinstance(one, str):
                yield one


# --- contact
ASK_FOR_CONTACT = (
    "NEWSBOT_CONTACT is not set: site owners cannot reach you; set it to your e-mail address or web page"
)
_MAX = 200
"""Maximum number of characters of the contact."""


def user_agent(contact: str) -> str:
    """Return the user agent. A contact that is not empty is added to it as a comment (RFC 9110, 10.1.5).

    Characters that would break the header or end the comment are removed.
    """
    clean = "".join(sign for sign in contact if sign.isascii() and sign.isprintable() and sign not in "()\\")
    clean = clean.strip()[:_MAX]
    return f"newsbot/{__version__}" + (f" (+{clean})" if clean else "")


def introduce(settings: BaseSettings) -> None:
    """Put NEWSBOT_CONTACT into the user agent, unless the user agent was set explicitly.

    :mod:`newsbot.settings` does the same for the environment variable NEWSBOT_CONTACT. This function is for
    the option ``-s`` on the command line.
    """
    from scrapy.settings import SETTINGS_PRIORITIES  # noqa: PLC0415  (other commands run without Scrapy)

    # A higher priority than that of settings.py means the option -s, or custom_settings of a spider.
    by_hand = (settings.getpriority("USER_AGENT") or 0) > SETTINGS_PRIORITIES["project"]
    contact = settings.get("NEWSBOT_CONTACT")
    if contact and not by_hand:
        settings.set("USER_AGENT", user_agent(str(contact)), priority="cmdline")
