"""Declares each setting: name, kind of value, default, environment variable and meaning.

This table is used for the defaults in :mod:`newsbot.settings`, for reading environment variables, for the
checks and the hints for misspelt names (:mod:`newsbot.config.check`), and for docs/settings.md, which
``python -m newsbot.config`` prints. A kind says how a value is parsed, and which values are allowed.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from newsbot.clock import DAY, parse_duration

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


def as_switch(given: Any) -> bool:
    """Return the boolean for a word such as ``1`` or ``no``. Raises ``ValueError`` for other words."""
    try:
        return _WORDS[str(given).strip().lower()]
    except KeyError:
        raise ValueError(given) from None


def _switch(given: Any) -> bool:
    # Environment variables allow more words (as_switch), and are converted before this check. All other
    # values are read by Scrapy's getbool, which accepts only the following words.
    if str(given) not in {"0", "1", "true", "false", "True", "False"}:
        raise ValueError(given)
    return as_switch(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(given)
    return given


def _path(given: Any) -> str:
    path = os.fspath(given)
    if not isinstance(path, str) or "\0" in path:
        raise ValueError(given)
    return path


def _words(given: Any) -> list[str]:
    return [_text(word) for word in (given.split(",") if isinstance(given, str) else list(given))]


def _url(given: Any) -> str:
    url = _text(given).strip()
    parts = urlsplit(url)
    fine = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1) > 0
    if url and (not fine or any(sign.isspace() for sign in url)):
        raise ValueError(given)
    return url


def _level(given: Any) -> int:
    level = logging.getLevelNamesMapping()[given] if isinstance(given, str) else given
    if not isinstance(level, int):
        raise TypeError(given)
    return level


def _range(least: float, greatest: float) -> str:
    return f"{least:g} or more" if math.isinf(greatest) else f"{least:g} to {greatest:g}"


def _between(convert: Callable[[Any], float], least: float, greatest: float) -> Read:
    def read(given: Any) -> float:
        value = convert(given)
        if not least <= value <= greatest:
            raise ValueError(given)
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


def duration(least: float) -> Kind:
    """Return the kind of durations of at least ``least`` seconds, such as ``90d``. An empty value is None."""

    def read(given: Any) -> float | None:
        if given == "":
            return None
        seconds = parse_duration(given)
        if seconds < least:
            raise ValueError(given)
        return seconds

    return Kind("a duration of at least one hour, such as 36h, 90d or 4w", read, least)


def one_of(*words: str) -> Kind:
    """Return the kind whose only values are these words."""

    def read(given: Any) -> str:
        if given not in words:
            raise ValueError(given)
        return str(given)

    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", read)


SWITCH = Kind("1 (on) or 0 (off)", _switch)
TEXT = Kind("text", _text)
PATH = Kind("a path", _path)
WORDS = Kind("a list, or words separated by commas", _words)
URL = Kind("a URL that begins with http:// or https://", _url)
LEVEL = Kind("DEBUG, INFO, WARNING, ERROR or CRITICAL", _level)
ANY = Kind("anything", lambda given: given)
"""The kind of settings whose value is parsed and checked by the code that uses it."""


MIB = 2**20
HOUR = 3600.0
AGE = duration(HOUR)
"""The kind of settings that say how long data are kept.

The minimum of one hour protects against typing errors such as ``1s``.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    name: str
    kind: Kind
    default: Any
    """The default value.

    None means that the setting is not in :mod:`newsbot.settings`. It has Scrapy's default, or no default.
    """
    meaning: str
    """Text for docs/settings.md, in Markdown."""
    environment: str = ""
    """The environment variable from which the setting is read; empty if there is none."""
    secret: bool = False
    """True if messages must not show the value."""
    listed: str = field(default="", kw_only=True)
    """The text for the default in docs/settings.md, if the value itself would not be clear."""


def _env(name: str, kind: Kind, default: Any, meaning: str, *, secret: bool = False) -> Setting:
    """Return a setting with an environment variable of the same name."""
    return Setting(name, kind, default, meaning, environment=name, secret=secret)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of docs/settings.md with its settings."""

    title: str
    settings: tuple[Setting, ...]
    text: str = ""


_DATA = (
    _env("NEWSBOT_DATA", PATH, "data", "folder of the data file `newsbot.db`; a crawl creates it"),
    _env(
        "NEWSBOT_RULES",
        PATH,
        "",
        "rules folder; empty: `rules/` beside `scrapy.cfg`, else the copy in the package",
    ),
    _env(
        "REDIS_URL",
        TEXT,
        "",
        "shared frontier and near-duplicate index: `redis://user:password@host:6379/0` (`rediss://` with "
        "TLS), Redis 7.0 or newer with `maxmemory-policy noeviction`, `appendonly yes` and `appendfsync "
        "always`. A Redis Cluster: some of its nodes, `redis://user:password@host1:6379,host2:6379`. Empty: "
        "the data file",
        secret=True,
    ),
    Setting(
        "REDIS_PARAMS",
        ANY,
        None,
        'more arguments for the client, as with scrapy-redis: `{"socket_timeout": 5, "redis_cls": '
        '"redis.cluster.RedisCluster"}`. `REDIS_DB` (a number) works too. They need `REDIS_URL`; '
        "`REDIS_HOST` is not used",
        listed="empty",
    ),
    Setting(
        "SCHEDULER_PERSIST",
        ANY,
        None,
        "has no effect: the queue is never deleted. To start with an empty queue, use another `REDIS_DB`. A "
        "crawl reports other settings of scrapy-redis's scheduler that have no effect",
        listed="always on",
    ),
    _env(
        "MONGO_URI",
        TEXT,
        "",
        "shared storage: `mongodb://user:password@host:27017/newsbot`, a replica set or sharded cluster "
        "of MongoDB 5.0 or newer ([scaling.md](scaling.md#mongodb)); default database: `newsbot`. Empty: "
        "the data file",
        secret=True,
    ),
    _env(
        "NEWSBOT_WARC_DIR",
        PATH,
        "",
        "folder for [WARC files](operations.md#archiving-pages). Empty: nothing is archived",
    ),
    Setting("NEWSBOT_WARC_SIZE", whole(10**6, 10**15), 10**9, "bytes after which the next WARC file begins"),
    _env(
        "NEWSBOT_CC_NEWS",
        URL,
        "https://data.commoncrawl.org/",
        "URL of Common Crawl's news files, or of a mirror, for `scrapy articles import --cc-news`",
    ),
    _env(
        "NEWSBOT_KEEP_RAW",
        AGE,
        "",
        "how long `scrapy prune` keeps WARC files; empty: for ever",
    ),
    _env(
        "NEWSBOT_KEEP_VERSIONS",
        AGE,
        "",
        "how long `scrapy prune` keeps earlier versions of articles; empty: for ever",
    ),
    _env(
        "NEWSBOT_KEEP_PAGES",
        AGE,
        "",
        "how long `scrapy prune` keeps history and referrers of pages that are never due again; empty: "
        "for ever",
    ),
)
_IDENTITY = (
    _env(
        "NEWSBOT_CONTACT",
        TEXT,
        "",
        "your e-mail address or web page, sent to sites in the user agent. Each crawl reminds you until it "
        "is set",
    ),
    Setting(
        "NEWSBOT_CRAWL_DELAY_CAP",
        number(0, DAY),
        30.0,
        "seconds; a longer Crawl-delay of a robots.txt is reduced to this",
    ),
    Setting(
        "NEWSBOT_OBEY_NOINDEX",
        SWITCH,
        True,
        "pages with `noindex` (X-Robots-Tag, meta robots) are not stored; only their links are read. "
        "`0`: they are stored, with `noindex` in their `rights`",
    ),
    _env(
        "NEWSBOT_TDMREP",
        SWITCH,
        True,
        "`/.well-known/tdmrep.json` is fetched once per site and day",
    ),
    _env(
        "NEWSBOT_ALLOW_PRIVATE",
        SWITCH,
        False,
        "`1`: requests to addresses that are not public (loopback, private networks) are allowed",
    ),
)
_BOUNDS = (
    Setting("CONCURRENT_REQUESTS", whole(1, 10_000), 32, "requests of one worker at the same time"),
    Setting(
        "NEWSBOT_SOURCE_MAXSIZE",
        whole(1024, 2**31),
        50 * MIB,
        "the largest feed or sitemap, in bytes (pages: `DOWNLOAD_MAXSIZE`, 10 MiB)",
        listed="50 MiB",
    ),
    Setting(
        "NEWSBOT_MAX_AGE_DAYS",
        number(0, 100_000),
        30,
        "age in days; older entries of sitemaps and older pages of lists are skipped, unless `since` "
        "includes them. `0`: no limit. With the default, lists of up to 500 articles are read completely",
    ),
    _env(
        "NEWSBOT_NEAR_DAYS",
        number(1, 3650),
        30,
        "how many days a text is compared with new ones; each text needs 262 to 289 bytes. If workers have "
        "different values, the smallest one counts. After an increase run `scrapy articles reindex`. Exact "
        "copies are recognised for ever",
    ),
    Setting(
        "NEWSBOT_EXPLORE",
        number(0, 1),
        0.03,
        "share of rejected links that are fetched as a check, to notice a redesign of the site. Checks are "
        "at most half this share of a site's page downloads",
    ),
    Setting(
        "NEWSBOT_RULES_RELOAD",
        number(0, DAY),
        10.0,
        "seconds between two checks of the rules folder for changes. `0`: never",
    ),
    Setting(
        "NEWSBOT_RANKING",
        SWITCH,
        True,
        "`0`: links are followed without ranking, unless rules, the depth limit or the detection of traps "
        "exclude them. For comparisons (`python -m benchmarks.useful`)",
    ),
)
_RENDERING = (
    _env(
        "NEWSBOT_RENDER",
        one_of("rules", "auto", "off"),
        "rules",
        "`rules`: pages of sites with `render: true`; `auto`: also pages with scripts and no text, "
        "unless `render: false`; `off`: none",
    ),
    _env(
        "NEWSBOT_BROWSER",
        PATH,
        "",
        "path of the Chromium that renders pages; empty: `chromium`, `chromium-browser` or `google-chrome` "
        "in the `PATH`",
    ),
    Setting(
        "NEWSBOT_RENDER_SECONDS",
        number(1, 600),
        60.0,
        "seconds that a page with its scripts may take, including the delays of their hosts",
    ),
)
_QUEUE = (
    Setting(
        "NEWSBOT_LEASE_SECONDS",
        number(1, DAY),
        60.0,
        "seconds without a sign of life from a worker, after which other workers take over its URLs",
    ),
    _env(
        "NEWSBOT_RETRY_SCALE",
        number(0, 1000),
        1,
        "factor for the waits between attempts at a URL that failed (10 s at first, then doubling, with a "
        "random spread)",
    ),
    _env(
        "NEWSBOT_PAGE_VISITS",
        number(0, 10**9),
        0.14,
        "average number of visits to a page per day, for sites whose rule says `optimum` under `recrawl`",
    ),
    _env(
        "NEWSBOT_POLL_BUDGET",
        number(0, 10**9),
        0,
        "requests per hour, of all workers together, for polls of feeds, sitemaps and sections; "
        "[recrawl](rules.md#recrawl) distributes them. `0`: two for each active source. Delays of hosts "
        "and `interval` still apply, and no source waits longer than 6 hours",
    ),
    Setting(
        "NEWSBOT_PATIENCE",
        number(0),
        120.0,
        "seconds that a crawl with `mode=once` waits for a URL that is held back (delay, Retry-After) "
        "before it ends",
    ),
)
_PUSH = (
    _env("NEWSBOT_PUBLIC_URL", URL, "", "URL at which hubs reach `scrapy serve`; empty: no subscriptions"),
    _env(
        "NEWSBOT_WEB_TOKEN",
        TEXT,
        "",
        "the [token](dashboard.md#access) of `scrapy serve`, 16 characters or more",
        secret=True,
    ),
    _env(
        "NEWSBOT_SCRAPYD",
        URL,
        "",
        "URL of a scrapyd whose jobs the dashboard lists, starts and stops, e.g. `http://NAME:PASSWORD@127.0.0.1:6800`",
        secret=True,
    ),
    _env(
        "NEWSBOT_REPORTS",
        PATH,
        "simulation",
        "folder with reports of the simulator (`*.html`, up to two folders deep), which the dashboard shows",
    ),
    _env(
        "NEWSBOT_SENSOR_SECRET",
        TEXT,
        "",
        "the secret with which sensors sign their notices; empty: no notices of sensors are accepted",
        secret=True,
    ),
    Setting(
        "NEWSBOT_PUSH_PER_HOST",
        number(0, 10**9),
        600,
        "fetches that notices may cause on one host per hour",
    ),
    Setting(
        "NEWSBOT_PUSH_PER_SENDER",
        number(0, 10**9),
        1200,
        "requests that one IP address may send to `scrapy serve` per hour",
    ),
)
_ALERTS = (
    _env(
        "NEWSBOT_ALERT_WEBHOOK",
        URL,
        "",
        "URL to which alerts are POSTed as JSON; it may be in a private network",
        secret=True,
    ),
    _env(
        "NEWSBOT_ALERT_MAIL",
        WORDS,
        "",
        "e-mail addresses that receive alerts (Scrapy's `MAIL_HOST`, `MAIL_PORT`, … name the server)",
    ),
    _env(
        "NEWSBOT_ALERT_COMMAND",
        WORDS,
        "",
        "a program, with its arguments, that reads alerts as JSON on stdin: a list, or one text. A text is "
        "split into words as a shell does it, not at commas. No shell is started",
    ),
    Setting("NEWSBOT_ALERT_EVERY", number(0, DAY), 300.0, "seconds between two checks; `0`: never"),
    Setting("NEWSBOT_ALERT_LAG", number(60), 6 * HOUR, "seconds that polls may be late without an alert"),
    Setting(
        "NEWSBOT_ALERT_DISK", number(0, 10**9), 1024.0, "MiB that must be free on the disk of the data folder"
    ),
    Setting("NEWSBOT_ALERTS_OFF", WORDS, "", "names of alert rules that are switched off"),
)
_OUTPUT = (
    Setting(
        "LOG_LEVEL",
        LEVEL,
        "INFO",
        "log level of crawls; other commands log warnings only. On the command line: `-L LEVEL`",
        environment="NEWSBOT_LOG_LEVEL",
    ),
    _env(
        "NEWSBOT_LOG_JSON",
        SWITCH,
        False,
        "`1`: each log line is one JSON object: `at`, `level`, `logger`, `event` (the same for all "
        "messages of a kind), `message`, and the `key=value` pairs of the message; the summary table is "
        "left out. Passwords and tokens are `***` in every log",
    ),
    Setting(
        "NEWSBOT_PROGRESS",
        SWITCH,
        True,
        "shows the progress of a crawl, and a summary at its end",
    ),
    _env(
        "NEWSBOT_PROGRESS_INTERVAL",
        number(0.1, DAY),
        10,
        "seconds between progress lines (not of the live display)",
    ),
    Setting(
        "NEWSBOT_SAMPLES",
        PATH,
        "",
        "folder for the first eight article pages of the crawl, each with the fields that were read from it",
    ),
    Setting(
        "NEWSBOT_TRIAL",
        SWITCH,
        False,
        "`1`: the summary does not name the data folder, because the program that started the crawl "
        "deletes it",
    ),
    Setting(
        "NEWSBOT_STATS_FILE",
        PATH,
        "",
        "file to which all stats of the crawl are written as JSON, at each progress line and at the end",
    ),
)

SECTIONS = (
    Section("Where data are kept", _DATA),
    Section("Identity and manners", _IDENTITY),
    Section("Bounds", _BOUNDS),
    Section("Pages that need JavaScript", _RENDERING, "See [render.md](render.md)."),
    Section("The queue", _QUEUE),
    Section("Dashboard and push notices", _PUSH, "See [dashboard.md](dashboard.md) and [push.md](push.md)."),
    Section("Alerts", _ALERTS, "See [monitoring.md](monitoring.md)."),
    Section("Output", _OUTPUT),
)

SETTINGS = {setting.name: setting for section in SECTIONS for setting in section.settings}
"""All settings by name."""


def defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each setting.

    The value comes from the environment variable of the setting. If the variable is not set or empty, the
    value is the default. An invalid value is yielded unchanged, so that an import of :mod:`newsbot.settings`
    never fails. The check before a command begins reports such a value.
    """
    for setting in SETTINGS.values():
        given = environment.get(setting.environment, "") if setting.environment else ""
        if given and setting.kind is SWITCH:
            try:
                yield setting.name, as_switch(given)
            except ValueError:
                yield setting.name, given
        elif given or setting.default is not None:
            yield setting.name, given or setting.default
