"""The table of settings: name, kind, default, environment variable and meaning of each.

The defaults in :mod:`newsbot.settings`, the reading of environment variables, the checks
(:mod:`newsbot.config.check`), the hints for misspelt names and docs/settings.md come from here.
``python -m newsbot.config`` prints docs/settings.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.clock import DAY
from newsbot.config.kinds import (
    ANY,
    LEVEL,
    PATH,
    SWITCH,
    TEXT,
    URL,
    WORDS,
    Kind,
    as_switch,
    duration,
    number,
    whole,
)

MIB = 2**20
HOUR = 3600.0
AGE = duration(HOUR)
"""How long something is kept. At least an hour: a typing error such as ``1s`` must not take all there is."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting."""

    name: str
    kind: Kind
    default: Any
    """None: Scrapy's default, or none; :mod:`newsbot.settings` does not name the setting."""
    meaning: str
    """In Markdown; the first sentence says what it is."""
    environment: str = ""
    """The environment variable that it is read from; empty: none."""
    secret: bool = False
    """True: messages do not show the value."""
    listed: str = field(default="", kw_only=True)
    """What docs/settings.md shows as the default, where the value itself would not be clear."""


def _env(name: str, kind: Kind, default: Any, meaning: str, *, secret: bool = False) -> Setting:
    """Return a setting that is also read from an environment variable of the same name."""
    return Setting(name, kind, default, meaning, environment=name, secret=secret)


@dataclass(frozen=True, slots=True)
class Section:
    """Settings that belong together: a section of docs/settings.md."""

    title: str
    settings: tuple[Setting, ...]
    text: str = ""


_DATA = (
    _env(
        "NEWSBOT_DATA", PATH, "data", "folder of the data file `newsbot.db`; it is made when a crawl starts"
    ),
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
        "always`. Empty: the data file",
        secret=True,
    ),
    Setting(
        "REDIS_PARAMS",
        ANY,
        None,
        'more arguments for the client, as with scrapy-redis: `{"socket_timeout": 5, "redis_cls": '
        '"redis.cluster.RedisCluster"}`. `REDIS_DB` (a number) works too. Without `REDIS_URL` these '
        "settings and `REDIS_HOST` change nothing, and a crawl says so",
        listed="empty",
    ),
    Setting(
        "SCHEDULER_PERSIST",
        ANY,
        None,
        "the queue is never deleted. The other settings of scrapy-redis's scheduler "
        "(`SCHEDULER_FLUSH_ON_START`, `SCHEDULER_QUEUE_CLASS`, …) are not used either: a crawl that has "
        "them set says so at its start. To begin anew, name another `REDIS_DB`",
        listed="always on",
    ),
    _env(
        "MONGO_URI",
        TEXT,
        "",
        "shared storage: `mongodb://user:password@host:27017/newsbot`, a replica set or sharded cluster of "
        "MongoDB 5.0 or newer (docs/scaling.md); the database is `newsbot` if the address names none. "
        "Empty: the data file",
        secret=True,
    ),
    _env(
        "NEWSBOT_WARC_DIR",
        PATH,
        "",
        "folder that gets each request and answer of the news crawl as WARC 1.1 (gzip per record), except "
        "pages that say `noarchive`; see docs/operations.md. Empty: nothing is archived",
    ),
    Setting("NEWSBOT_WARC_SIZE", whole(10**6, 10**15), 10**9, "bytes after which the next WARC file begins"),
    _env(
        "NEWSBOT_KEEP_RAW",
        AGE,
        "",
        "how long `scrapy prune` keeps WARC files of `NEWSBOT_WARC_DIR`, e.g. `90d`; empty: for ever",
    ),
    _env(
        "NEWSBOT_KEEP_VERSIONS",
        AGE,
        "",
        "how long `scrapy prune` keeps earlier versions of articles; the present versions stay. Empty: for "
        "ever",
    ),
    _env(
        "NEWSBOT_KEEP_PAGES",
        AGE,
        "",
        "how long `scrapy prune` keeps history and referrers of pages that are never due again; the pages "
        "stay known. Empty: for ever",
    ),
)
_IDENTITY = (
    _env(
        "NEWSBOT_CONTACT",
        TEXT,
        "",
        "an address or page for owners of sites; it becomes part of the user agent. Until it is set, each "
        "crawl asks for it in one line at its start",
    ),
    Setting(
        "NEWSBOT_CRAWL_DELAY_CAP",
        number(0, DAY),
        30.0,
        "seconds; a longer Crawl-delay of a robots.txt counts as this",
    ),
    Setting(
        "NEWSBOT_OBEY_NOINDEX",
        SWITCH,
        True,
        "a page that says `noindex` (X-Robots-Tag, meta robots) is read for its links and not stored: a "
        "news archive is an index. `0`: it is stored, with `noindex` in its `rights`",
    ),
    _env(
        "NEWSBOT_TDMREP",
        SWITCH,
        True,
        "`/.well-known/tdmrep.json` is fetched, once per site and day. `0`: never",
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
        "older entries of sitemaps are skipped unless `since` asks for them. `0`: none are skipped",
    ),
    _env(
        "NEWSBOT_NEAR_DAYS",
        number(1, 3650),
        30,
        "for so many days a text is compared with new ones; each day takes 262 to 289 bytes for each of "
        "its texts. If workers differ, the smallest value counts; after the number was raised, `scrapy "
        "articles reindex` brings older texts back. Exact copies are recognised for ever",
    ),
    Setting(
        "NEWSBOT_EXPLORE",
        number(0, 1),
        0.03,
        "share of rejected links that are fetched nevertheless, to notice a redesign; never more than half "
        "this share of a site's page downloads. `0`: none",
    ),
    Setting(
        "NEWSBOT_RULES_RELOAD",
        number(0, DAY),
        10.0,
        "seconds between two checks of the rules folder while a crawl runs: changed rules are used from "
        "then on, wrong ones are reported and the old rules stay. `0`: never",
    ),
    Setting(
        "NEWSBOT_RANKING",
        SWITCH,
        True,
        "`0`: links are followed whatever they are likely to be; only rules, depth and traps bound the "
        "crawl. For comparison (`python -m benchmarks.useful`)",
    ),
)
_QUEUE = (
    Setting(
        "NEWSBOT_LEASE_SECONDS",
        number(1, DAY),
        60.0,
        "how long a worker may be silent before others take its URLs",
    ),
    _env(
        "NEWSBOT_RETRY_SCALE",
        number(0, 1000),
        1,
        "factor on the pauses between attempts at a URL that failed (10 s at first, doubling, spread at "
        "random)",
    ),
    _env(
        "NEWSBOT_PAGE_VISITS",
        number(0, 10**9),
        0.14,
        "visits of a page in a day, on average over a site, where a rule plans pages by `optimum`",
    ),
    _env(
        "NEWSBOT_POLL_BUDGET",
        number(0, 10**9),
        0,
        "requests an hour for polls of feeds, sitemaps and sections, of all workers together. How they are "
        "shared is learned: docs/rules.md, `recrawl`. `0`: two for each source that is alive. Delays of "
        "hosts and `interval` still apply, and no source waits longer than 6 hours, even if that takes "
        "more than the budget",
    ),
    Setting(
        "NEWSBOT_PATIENCE",
        number(0),
        120.0,
        "seconds; a crawl with `mode=once` waits so long for a URL that is held back (delay, Retry-After) "
        "before it ends",
    ),
)
_PUSH = (
    _env(
        "NEWSBOT_PUBLIC_URL", URL, "", "where hubs reach `scrapy serve`; empty: newsbot subscribes to nothing"
    ),
    _env(
        "NEWSBOT_WEB_TOKEN",
        TEXT,
        "",
        "the token that `scrapy serve` requires before it acts, and before it shows anything to clients "
        "outside this machine; 16 characters or more ([dashboard.md](dashboard.md))",
        secret=True,
    ),
    _env(
        "NEWSBOT_REPORTS",
        PATH,
        "simulation",
        "folder whose reports of the simulator (`*.html`, two folders deep) the dashboard shows",
    ),
    _env(
        "NEWSBOT_SENSOR_SECRET",
        TEXT,
        "",
        "the secret that sensors sign their notices with; empty: no notices are accepted",
        secret=True,
    ),
    Setting(
        "NEWSBOT_PUSH_PER_HOST",
        number(0, 10**9),
        600,
        "fetches that notices may cause on one host in an hour",
    ),
    Setting(
        "NEWSBOT_PUSH_PER_SENDER",
        number(0, 10**9),
        1200,
        "requests that one address may send to `scrapy serve` in an hour",
    ),
)
_ALERTS = (
    _env(
        "NEWSBOT_ALERT_WEBHOOK",
        URL,
        "",
        "address that alerts are POSTed to as JSON; a private address is allowed",
        secret=True,
    ),
    _env(
        "NEWSBOT_ALERT_MAIL",
        WORDS,
        "",
        "who gets alerts by e-mail; Scrapy's `MAIL_HOST`, `MAIL_PORT`, `MAIL_USER`, `MAIL_PASS`, "
        "`MAIL_FROM`, `MAIL_TLS` and `MAIL_SSL` name the server",
    ),
    _env(
        "NEWSBOT_ALERT_COMMAND",
        WORDS,
        "",
        "a program that reads alerts as JSON on stdin: a list of words, or one text that is split as a "
        "shell would (not at commas); no shell runs it",
    ),
    Setting("NEWSBOT_ALERT_EVERY", number(0, DAY), 300.0, "seconds between two checks; `0`: never"),
    Setting("NEWSBOT_ALERT_LAG", number(60), 6 * HOUR, "seconds that polls may be late"),
    Setting(
        "NEWSBOT_ALERT_DISK", number(0, 10**9), 1024.0, "MiB that must be free on the disk of the data folder"
    ),
    Setting("NEWSBOT_ALERTS_OFF", WORDS, "", "rules of alerts that are switched off"),
)
_OUTPUT = (
    Setting(
        "LOG_LEVEL",
        LEVEL,
        "INFO",
        "`LOG_LEVEL` of crawls; other commands log warnings only, unless `-L` says otherwise. On the "
        "command line: `-L LEVEL`",
        environment="NEWSBOT_LOG_LEVEL",
    ),
    _env(
        "NEWSBOT_LOG_JSON",
        SWITCH,
        False,
        "`1`: each log line is one JSON object: `at`, `level`, `logger`, `event` (the same for all "
        "messages of a kind), `message`, and the `key=value` pairs of the message as fields; the summary "
        "table is left out. With or without it, passwords and tokens are never logged: those of settings, "
        "of addresses (`user:password@`), of queries and headers are `***`",
    ),
    Setting(
        "NEWSBOT_PROGRESS",
        SWITCH,
        True,
        "progress while crawling and the summary at the end; `-s NEWSBOT_PROGRESS=0` is silent",
    ),
    _env(
        "NEWSBOT_PROGRESS_INTERVAL",
        number(0.1, DAY),
        10,
        "seconds between progress lines (the live display of a terminal moves twice a second)",
    ),
    Setting(
        "NEWSBOT_SAMPLES",
        PATH,
        "",
        "folder that gets the first eight article pages of the crawl, each with what was read from it",
    ),
    Setting(
        "NEWSBOT_TRIAL",
        SWITCH,
        False,
        "`1`: the program that started this crawl deletes its data afterwards (as `scrapy rules new` "
        "does): the summary does not say where they are",
    ),
    Setting("NEWSBOT_STATS_FILE", PATH, "", "file that gets all stats of the crawl as JSON when it ends"),
)

SECTIONS = (
    Section("Where data are kept", _DATA),
    Section("Identity and manners", _IDENTITY),
    Section("Bounds", _BOUNDS),
    Section("The queue", _QUEUE),
    Section("Dashboard and push notices", _PUSH, "See [dashboard.md](dashboard.md) and [push.md](push.md)."),
    Section("Alerts", _ALERTS, "See [monitoring.md](monitoring.md)."),
    Section("Output", _OUTPUT),
)

SETTINGS = {setting.name: setting for section in SECTIONS for setting in section.settings}
"""All settings by name."""


def defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each setting of newsbot: from its environment variable, else the default.

    An empty variable is one that is not set. A value that makes no sense is given as it is: the check
    before a command begins reports it, an import does not fail.
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
