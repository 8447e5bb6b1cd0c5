"""The Scrapy settings of newsbot.

The ``NEWSBOT_`` settings, REDIS_URL, MONGO_URI and some more are declared in :mod:`newsbot.config.table`,
with their defaults, environment variables and meanings (docs/settings.md). This module contains these
settings and the settings of Scrapy. Your own settings module gets all of them by ``from newsbot.settings
import *``.
"""

import os

from newsbot.config.contact import user_agent
from newsbot.config.table import defaults

_TABLE = dict(defaults(os.environ))
globals().update(_TABLE)

BOT_NAME = "newsbot"
SPIDER_MODULES = ["newsbot.spiders"]
NEWSPIDER_MODULE = "newsbot.spiders"
COMMANDS_MODULE = "newsbot.commands"

# --- identity
USER_AGENT = user_agent(_TABLE["NEWSBOT_CONTACT"])
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "newsbot"
COOKIES_ENABLED = False

# --- concurrency; the frontier limits each host (rule keys delay and concurrency)
CONCURRENT_REQUESTS_PER_DOMAIN = 32
CONCURRENT_ITEMS = 2  # Scrapy starts this number of tasks per page (100 take 1.5 ms); a page has one article
DOWNLOAD_DELAY = 0
DOWNLOAD_TIMEOUT = 30
DNS_TIMEOUT = 10

# --- limits on responses
DOWNLOAD_MAXSIZE = 10 * 2**20
DOWNLOAD_WARNSIZE = 0
REDIRECT_MAX_TIMES = 8
REDIRECT_PRIORITY_ADJUST = 0

# --- parts
SCHEDULER = "newsbot.crawl.scheduler.FrontierScheduler"
TWISTED_DNS_RESOLVER = "newsbot.crawl.address_guard.GuardedResolver"
DOWNLOAD_HANDLERS = dict.fromkeys(("http", "https"), "newsbot.crawl.certificates.HttpHandler")
DOWNLOAD_VERIFY_CERTIFICATES = True  # the rule key tls makes exceptions for sites
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # links are judged before they are queued
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
    "newsbot.middlewares.rendering.RenderingMiddleware": 540,
    "newsbot.middlewares.politeness.PolitenessMiddleware": 550,
    "newsbot.middlewares.redirects.RefreshMiddleware": 580,
    "newsbot.middlewares.compression.CompressionMiddleware": 590,
    "newsbot.middlewares.redirects.RedirectMiddleware": 600,
    "newsbot.middlewares.cookies.CookiesMiddleware": 700,
    "newsbot.middlewares.archive.WireMiddleware": 900,  # nearest to the network, so it gets raw bodies
}
SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # the spider records every status
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # sites need not know where a link was found
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # newsbot.urls limits the length
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # the depth is in the frontier's entry
    "newsbot.middlewares.archive.ArchiveMiddleware": 400,
    "newsbot.middlewares.links.LinksMiddleware": 500,
}
ITEM_PIPELINES = {
    "newsbot.pipelines.validate.ValidatePipeline": 100,
    "newsbot.pipelines.limits.LimitsPipeline": 150,
    "newsbot.pipelines.exact.ExactDuplicatePipeline": 200,
    "newsbot.pipelines.near.NearDuplicatePipeline": 300,
    "newsbot.pipelines.store.StorePipeline": 400,
}
EXTENSIONS = {
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.logstats.LogStats": None,  # newsbot.extensions.progress reports more
    "newsbot.extensions.pauses.Pauses": 480,
    "newsbot.extensions.logs.Logs": 0,
    "newsbot.extensions.rulesreload.RulesReload": 490,
    "newsbot.extensions.progress.Progress": 500,
    "newsbot.extensions.summary.Summary": 510,
    "newsbot.extensions.statsfile.StatsFile": 520,
    "newsbot.extensions.samples.Samples": 530,
    "newsbot.extensions.alerts.Alerts": 540,
}

# --- logging
LOG_FORMATTER = "newsbot.cli.log_formatter.QuietLogFormatter"
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"
STATS_DUMP = False
LOG_VERSIONS: list[str] = []  # `scrapy version -v` prints them
FEED_EXPORT_ENCODING = "utf-8"

# --- disabled services
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
