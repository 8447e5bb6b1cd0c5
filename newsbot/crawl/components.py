"""The components and limits of newsbot, as settings of Scrapy; the checks before a crawl with them starts.

A spider uses them if it has the base class :class:`NewsbotSpider`. All other spiders run as in every project
of Scrapy. docs/extend.md describes how a spider of your own uses newsbot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.spiderloader import get_spider_loader

from newsbot import backends
from newsbot.clock import system_clock, utc
from newsbot.config.apps import active_apps, load, open_readers
from newsbot.config.settings import ONE_PAGE, SECTIONS, check_parts, defaults, user_agent
from newsbot.crawl.credentials import credentials_of
from newsbot.crawl.scope import Arguments, arguments_for, check_scope
from newsbot.errors import ArgumentError, did_you_mean

COMPONENTS: Mapping[str, Any] = {
    # --- identity
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_USER_AGENT": "newsbot",
    "COOKIES_ENABLED": False,  # each chain of redirects has cookies of its own
    # --- concurrency; the frontier limits each host (rule keys delay and concurrency)
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    # Scrapy starts this number of tasks per page (100 take 1.5 ms); a page has one article
    "CONCURRENT_ITEMS": 2,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 30,
    # --- limits on responses
    "DOWNLOAD_MAXSIZE": 10 * 2**20,
    "DOWNLOAD_WARNSIZE": 0,
    "REDIRECT_MAX_TIMES": 8,
    "REDIRECT_PRIORITY_ADJUST": 0,
    # --- parts
    "SCHEDULER": "newsbot.crawl.scheduler.FrontierScheduler",
    "DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), "newsbot.crawl.http_client.HttpHandler"),
    "DOWNLOAD_VERIFY_CERTIFICATES": True,  # the rule key tls makes exceptions for sites
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # links are judged
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,  # the frontier plans further attempts
        "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
        "newsbot.middlewares.reprocessing.ReprocessingMiddleware": 60,
        "newsbot.middlewares.addresses.AddressGuardMiddleware": 80,
        "newsbot.middlewares.robots.RobotsMiddleware": 100,
        "newsbot.middlewares.tdmrep.TdmRepMiddleware": 110,
        "newsbot.middlewares.site_access.SiteAccessMiddleware": 390,  # before the defaults for headers
        "newsbot.middlewares.politeness.PolitenessMiddleware": 550,
        "newsbot.middlewares.redirects.RefreshMiddleware": 580,
        "newsbot.middlewares.compression.CompressionMiddleware": 590,
        "newsbot.middlewares.redirects.RedirectMiddleware": 600,
        "newsbot.middlewares.cookies.CookiesMiddleware": 700,
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # the spider records every status
        "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # sites need not know it
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # newsbot.urls limits the length
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # the depth is in the frontier's entry
        "newsbot.middlewares.links.LinksMiddleware": 500,
    },
    "ITEM_PIPELINES": {
        "newsbot.pipelines.validate.ValidatePipeline": 100,
        "newsbot.pipelines.limits.LimitsPipeline": 150,
        "newsbot.pipelines.exact.ExactDuplicatePipeline": 200,
        "newsbot.pipelines.near.NearDuplicatePipeline": 300,
        "newsbot.pipelines.store.StorePipeline": 400,
    },
    "EXTENSIONS": {
        "scrapy.extensions.telnet.TelnetConsole": None,
        "scrapy.extensions.remote_control.RemoteControl": None,
        "scrapy.extensions.throttle.AutoThrottle": None,
        "scrapy.extensions.logstats.LogStats": None,  # the app progress reports more
        "newsbot.extensions.pauses.Pauses": 480,
        "newsbot.extensions.logs.Logs": 0,
        "newsbot.extensions.rulesreload.RulesReload": 490,
    },
    # --- logging
    "LOG_FORMATTER": "newsbot.extensions.logs.QuietLogFormatter",
    "DEFAULT_DROPITEM_LOG_LEVEL": "DEBUG",
    "STATS_DUMP": False,
}
"""Name of a setting of Scrapy -> its value. Dictionaries are joined with the user's."""

REPLACED: Mapping[str, str] = {
    "AUTOTHROTTLE_ENABLED": "the rule key delay",
    "DEPTH_LIMIT": "the rule key max_depth",
    "DUPEFILTER_CLASS": "the queue, which knows all URLs",
    "JOBDIR": "the queue, which is always kept",
    "METAREFRESH_ENABLED": "pages that only forward are always followed",
    "REFERER_ENABLED": "no Referer is sent",
    "RETRY_ENABLED": "NEWSBOT_RETRY_SCALE",
    "RETRY_TIMES": "NEWSBOT_RETRY_SCALE",
    "URLLENGTH_LIMIT": "a limit of 8192 characters",
}
"""Name of a setting of Scrapy that newsbot's spiders do not use -> what they use instead."""


def not_used(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting that the user has set and that has no effect: name and reason.

    These are the settings in :data:`REPLACED`, and those of apps that NEWSBOT_APPS leaves out.
    """
    for name, instead in REPLACED.items():
        if str(settings.get(name)) != str(getattr(default_settings, name)):
            yield name, f"newsbot uses {instead}"
    active = {app.name for app in active_apps(settings.get("NEWSBOT_APPS"))}
    for section in SECTIONS:
        for setting in section.settings if section.app and section.app not in active else ():
            if str(settings.get(setting.name, setting.default)) != str(setting.default):
                yield setting.name, f"NEWSBOT_APPS leaves out the app {section.app}"


class NewsbotSpider(Spider):
    """The base of spiders that use the components of newsbot. Your own settings have precedence."""

    components: ClassVar[Mapping[str, Any]] = COMPONENTS

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Add the components to the settings of a crawler."""
        super().update_settings(settings)
        if settings.getbool(ONE_PAGE):
            return
        known = dict(defaults(os.environ))
        parts = _with_apps(cls.components, settings.get("NEWSBOT_APPS"))
        for name, value in {**known, **parts, "USER_AGENT": _agent(settings, known)}.items():
            priority = settings.getpriority(name) or 0
            if isinstance(value, Mapping):
                joined = {**value, **settings.getdict(name)}
                # Scrapy later adds the process's settings again, with their priorities.
                priority = max(priority + 1, SETTINGS_PRIORITIES["spider"])
                settings.set(name, _without_removed(joined, settings, name, priority), priority)
            elif priority == SETTINGS_PRIORITIES["default"]:
                settings.set(name, value, "project")

    @classmethod
    def handles_request(cls, request: Request) -> bool:  # noqa: ARG003
        """Return False: Scrapy would take the spider's name for the domain of a site."""
        return False


def _without_removed(
    joined: Mapping[str, Any], settings: BaseSettings, name: str, priority: int
) -> dict[str, Any]:
    """Remove the components with the value None from ``joined``, and from Scrapy's own components.

    Scrapy imports all components that a setting names, even those with None. A crawl would start a tenth
    slower.
    """
    base = settings.getdict(f"{name}_BASE")
    removed = {key for key, order in joined.items() if order is None and key in base}
    kept = {key: order for key, order in base.items() if key not in removed}
    settings.set(f"{name}_BASE", kept, priority)
    return {key: order for key, order in joined.items() if key not in removed}


def _with_apps(components: Mapping[str, Any], wanted: Any) -> dict[str, Any]:
    """Return the components with those of the active apps. ``wanted`` is the value of NEWSBOT_APPS."""
    found = dict(components)
    for app in active_apps(wanted):
        for name, parts in app.components.items():
            found[name] = {**found.get(name, {}), **parts}
    return found


def _agent(settings: BaseSettings, known: Mapping[str, Any]) -> str:
    return user_agent(settings.get("NEWSBOT_CONTACT") or known["NEWSBOT_CONTACT"])


# --- checks before the start
def fill_in(settings: BaseSettings, words: list[str], spider_arguments: dict[str, Any]) -> None:
    """Add what may be left out: the spider ``news``, and the names of the arguments that are sites.

    ``newsbot crawl example.org`` means ``newsbot crawl news -a url=https://example.org/``, or, if the site
    has a rule, ``-a sites=example.org``. Both objects are changed. The words after a spider that is not one
    of newsbot's stay unchanged.
    """
    spiders = get_spider_loader(settings)
    if not words or ("." in words[0] and words[0] not in spiders.list()):
        words.insert(0, "news")
    if words[0] in spiders.list() and not issubclass(spiders.load(words[0]), NewsbotSpider):
        return
    sites = [word for word in words[1:] if "." in word or "://" in word]
    if not sites:
        return
    if given := [name for name in ("sites", "url", "urls") if name in spider_arguments]:
        raise ArgumentError(f"{sites[0]}: give sites either as words or with -a {given[0]}=…")
    words[1:] = [word for word in words[1:] if word not in sites]
    found = arguments_for(backends.open_rules(settings, needed=False), sites)
    spider_arguments |= {name: " ".join(names) for name, names in found.items()}


def check(settings: BaseSettings, words: list[str], spider_arguments: dict[str, Any]) -> None:
    """Check everything that a crawl needs: settings, arguments, rules, browser, and access to the data.

    ``words`` are the arguments of the command that are not options: the name of a spider. Raises subclasses
    of :class:`newsbot.errors.UserError`.
    """
    check_parts(settings)
    apps = active_apps(settings.get("NEWSBOT_APPS"))
    open_readers(settings.get("NEWSBOT_APPS"))
    spider: Any = get_spider_loader(settings).load(words[0])
    read = getattr(spider, "read_arguments", None)
    arguments = Arguments() if read is None else read(spider_arguments, utc(system_clock()))
    rules = backends.open_rules(settings, needed=arguments.needs_rules)
    domains = check_scope(settings, rules, arguments)
    used = [rule for rule in rules if domains is None or rule.domain in domains]
    for rule in used:
        credentials_of(rule)
    # The data are opened and closed here, so that an unreachable server is reported in one line. The crawl
    # itself would print a traceback.
    if not arguments.dry_run:
        backends.open_frontier(settings).close()
        backends.open_storage(settings).close()
    for app in apps:
        for place in (*app.documents, *app.followers):
            load(place)  # the crawl loads them later, where an error would be a traceback
        for place in app.checks:
            load(place)(settings, used)


def uses_newsbot(settings: BaseSettings, words: list[str]) -> bool:
    """Return True if the spider uses the components of newsbot.

    ``words`` are the arguments of the command that are not options. The only one must be the name of a
    spider. Raises :class:`ArgumentError`.
    """
    spiders = get_spider_loader(settings)
    _check_words(words, sorted(spiders.list()))
    return issubclass(spiders.load(words[0]), NewsbotSpider)


def _check_words(words: list[str], spiders: list[str]) -> None:
    """Raise :class:`ArgumentError` unless ``words`` is the name of one spider."""
    there_is = f"(spiders: {', '.join(spiders)})"
    if not words:
        raise ArgumentError(f"name a spider {there_is}")
    if words[0] not in spiders:
        hint = did_you_mean(words[0], spiders)
        raise ArgumentError(f"'{words[0]}' is not a spider{hint} {there_is}")
    if "--json" in words:
        raise ArgumentError("has no --json; use -O -:jsonl for items, -s NEWSBOT_STATS_FILE=FILE for stats")
    if len(words) > 1:
        raise ArgumentError(f"'{words[1]}' is not expected here; give arguments as -a NAME=VALUE")
