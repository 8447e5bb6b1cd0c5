"""Scrapy settings of newsbot.

The ``NEWSBOT_`` settings, REDIS_URL, MONGO_URI and some more are in the table of :mod:`newsbot.config.table`,
with their defaults, environment variables and meanings (docs/settings.md). This module names them
beside Scrapy's own settings: ``from newsbot.settings import *`` in your own settings module takes them all.
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

# --- who we are
USER_AGENT = user_agent(_TABLE["NEWSBOT_CONTACT"])
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "newsbot"
COOKIES_ENABLED = False

# --- how much at once; politeness per host is the frontier's (rules: delay, concurrency)
CONCURRENT_REQUESTS_PER_DOMAIN = 32
CONCURRENT_ITEMS = 2  # a page has one article; Scrapy starts so many tasks for each page (100: 1.5 ms)
DOWNLOAD_DELAY = 0
DOWNLOAD_TIMEOUT = 30
DNS_TIMEOUT = 10

# --- bounds on what comes from outside
DOWNLOAD_MAXSIZE = 10 * 2**20
DOWNLOAD_WARNSIZE = 0
REDIRECT_MAX_TIMES = 8
REDIRECT_PRIORITY_ADJUST = 0

# --- parts
SCHEDULER = "newsbot.crawl.scheduler.FrontierScheduler"
TWISTED_DNS_RESOLVER = "newsbot.crawl.address_guard.GuardedResolver"
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # judged before a link is queued
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,  # the frontier retries
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,  # would decode every page for it
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "newsbot.middlewares.reprocessing.ReprocessingMiddleware": 60,
    "newsbot.middlewares.addresses.AddressGuardMiddleware": 80,
    "newsbot.middlewares.robots.RobotsMiddleware": 100,
    "newsbot.middlewares.tdmrep.TdmRepMiddleware": 110,
    "newsbot.middlewares.politeness.PolitenessMiddleware": 550,
    "newsbot.middlewares.compression.CompressionMiddleware": 590,
    "newsbot.middlewares.redirects.RedirectMiddleware": 600,
    "newsbot.middlewares.archive.WireMiddleware": 900,  # next to the wire: bodies as they came
}
SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # the spider records every status
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,  # a news site need not know where we found it
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # newsbot.urls bounds the length
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # depth travels with the frontier's entry
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
    "scrapy.extensions.logstats.LogStats": None,  # newsbot.extensions.progress says more
    "newsbot.extensions.pauses.Pauses": 480,
    "newsbot.extensions.logs.Logs": 0,
    "newsbot.extensions.rulesreload.RulesReload": 490,
    "newsbot.extensions.progress.Progress": 500,
    "newsbot.extensions.summary.Summary": 510,
    "newsbot.extensions.statsfile.StatsFile": 520,
    "newsbot.extensions.samples.Samples": 530,
    "newsbot.extensions.alerts.Alerts": 540,
}

# --- what is said
LOG_FORMATTER = "newsbot.cli.log_formatter.QuietLogFormatter"
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"
STATS_DUMP = False
LOG_VERSIONS: list[str] = []  # `scrapy version -v` tells them
FEED_EXPORT_ENCODING = "utf-8"

# --- doors that stay shut
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
