"""The components and limits of newsbot, as settings of Scrapy, for the spiders that use them.

A spider uses them if it has the base class :class:`NewsbotSpider`. All other spiders run as in every project
of Scrapy. docs/extend.md describes how a spider of your own uses newsbot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from newsbot.config.apps import active_apps
from newsbot.config.contact import user_agent
from newsbot.config.table import ONE_PAGE, defaults

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
    "LOG_FORMATTER": "newsbot.cli.log_formatter.QuietLogFormatter",
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
    """Yield the settings in :data:`REPLACED` that the user has set: name, and what is used instead."""
    for name, instead in REPLACED.items():
        if str(settings.get(name)) != str(getattr(default_settings, name)):
            yield name, instead


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
            found[name] = {**found[name], **parts}
    return found


def _agent(settings: BaseSettings, known: Mapping[str, Any]) -> str:
    return user_agent(settings.get("NEWSBOT_CONTACT") or known["NEWSBOT_CONTACT"])
