"""Scrapy settings of newsbot. What each ``NEWSBOT_`` setting means is in docs/settings.md.

Settings that differ from machine to machine can also be given as environment variables of the same name.
"""

import os

from newsbot.contact import user_agent

BOT_NAME = "newsbot"
SPIDER_MODULES = ["newsbot.spiders"]
NEWSPIDER_MODULE = "newsbot.spiders"
COMMANDS_MODULE = "newsbot.commands"

# --- where things are kept
NEWSBOT_DATA = os.environ.get("NEWSBOT_DATA", "data")
NEWSBOT_RULES = os.environ.get("NEWSBOT_RULES", "")
REDIS_URL = os.environ.get("REDIS_URL", "")
MONGO_URI = os.environ.get("MONGO_URI", "")
NEWSBOT_WARC_DIR = os.environ.get("NEWSBOT_WARC_DIR", "")
NEWSBOT_WARC_SIZE = 10**9
NEWSBOT_KEEP_RAW = os.environ.get("NEWSBOT_KEEP_RAW", "")
NEWSBOT_KEEP_VERSIONS = os.environ.get("NEWSBOT_KEEP_VERSIONS", "")
NEWSBOT_KEEP_PAGES = os.environ.get("NEWSBOT_KEEP_PAGES", "")

# --- who we are
NEWSBOT_CONTACT = os.environ.get("NEWSBOT_CONTACT", "")
USER_AGENT = user_agent(NEWSBOT_CONTACT)
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "newsbot"
NEWSBOT_OBEY_NOINDEX = True
NEWSBOT_TDMREP = os.environ.get("NEWSBOT_TDMREP", "1") in ("1", "true", "yes")
NEWSBOT_CRAWL_DELAY_CAP = 30.0
COOKIES_ENABLED = False

# --- how much at once; politeness per host is the frontier's (rules: delay, concurrency)
CONCURRENT_REQUESTS = 32
CONCURRENT_REQUESTS_PER_DOMAIN = 32
CONCURRENT_ITEMS = 2  # a page has one article; Scrapy starts so many tasks for each page (100: 1.5 ms)
DOWNLOAD_DELAY = 0
DOWNLOAD_TIMEOUT = 30
DNS_TIMEOUT = 10

# --- bounds on what comes from outside
DOWNLOAD_MAXSIZE = 10 * 2**20
DOWNLOAD_WARNSIZE = 0
NEWSBOT_SOURCE_MAXSIZE = 50 * 2**20
REDIRECT_MAX_TIMES = 8
REDIRECT_PRIORITY_ADJUST = 0
NEWSBOT_ALLOW_PRIVATE = os.environ.get("NEWSBOT_ALLOW_PRIVATE", "") in ("1", "true", "yes")
TWISTED_DNS_RESOLVER = "newsbot.resolver.GuardedResolver"

# --- frontier
SCHEDULER = "newsbot.scheduler.FrontierScheduler"
NEWSBOT_LEASE_SECONDS = 60.0
NEWSBOT_RETRY_SCALE = os.environ.get("NEWSBOT_RETRY_SCALE", "1")
NEWSBOT_PATIENCE = 120.0
NEWSBOT_MAX_AGE_DAYS = 30
NEWSBOT_NEAR_DAYS = os.environ.get("NEWSBOT_NEAR_DAYS", "30")
NEWSBOT_EXPLORE = 0.03
NEWSBOT_RANKING = True
NEWSBOT_RULES_RELOAD = 10.0
NEWSBOT_PAGE_VISITS = os.environ.get("NEWSBOT_PAGE_VISITS", "0.14")
NEWSBOT_POLL_BUDGET = os.environ.get("NEWSBOT_POLL_BUDGET", "0")

# --- being told of changes (scrapy serve)
NEWSBOT_PUBLIC_URL = os.environ.get("NEWSBOT_PUBLIC_URL", "")
NEWSBOT_WEB_TOKEN = os.environ.get("NEWSBOT_WEB_TOKEN", "")
NEWSBOT_REPORTS = os.environ.get("NEWSBOT_REPORTS", "simulation")
NEWSBOT_SENSOR_SECRET = os.environ.get("NEWSBOT_SENSOR_SECRET", "")
NEWSBOT_PUSH_PER_HOST = 600
NEWSBOT_PUSH_PER_SENDER = 1200

# --- alerts (docs/monitoring.md); the mail server is named by Scrapy's MAIL_ settings
NEWSBOT_ALERT_WEBHOOK = os.environ.get("NEWSBOT_ALERT_WEBHOOK", "")
NEWSBOT_ALERT_MAIL = os.environ.get("NEWSBOT_ALERT_MAIL", "")
NEWSBOT_ALERT_COMMAND = os.environ.get("NEWSBOT_ALERT_COMMAND", "")
NEWSBOT_ALERT_EVERY = 300.0
NEWSBOT_ALERT_LAG = 6 * 3600.0
NEWSBOT_ALERT_DISK = 1024.0
NEWSBOT_ALERTS_OFF = ""

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
LOG_LEVEL = os.environ.get("NEWSBOT_LOG_LEVEL", "INFO")
NEWSBOT_LOG_JSON = os.environ.get("NEWSBOT_LOG_JSON", "") in ("1", "true", "yes")
LOG_FORMATTER = "newsbot.logformatter.QuietLogFormatter"
DEFAULT_DROPITEM_LOG_LEVEL = "DEBUG"
STATS_DUMP = False
LOG_VERSIONS: list[str] = []  # `scrapy version -v` tells them
NEWSBOT_PROGRESS = True
NEWSBOT_STATS_FILE = ""
NEWSBOT_SAMPLES = ""
NEWSBOT_TRIAL = False
NEWSBOT_PROGRESS_INTERVAL = os.environ.get("NEWSBOT_PROGRESS_INTERVAL", "10")
FEED_EXPORT_ENCODING = "utf-8"

# --- doors that stay shut
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
