"""The Scrapy settings of newsbot.

The ``NEWSBOT_`` settings, REDIS_URL, MONGO_URI and some more are declared in :mod:`newsbot.config.settings`,
with their defaults, environment variables and meanings (docs/settings.md). Your own settings module gets all
of them by ``from newsbot.settings import *``. The spiders of newsbot add their components and limits
(:mod:`newsbot.crawl.components`). Other spiders run as in every project of Scrapy.
"""

import os
from typing import Any

from newsbot.config.apps import spider_packages
from newsbot.config.settings import defaults, user_agent

_TABLE = dict(defaults(os.environ))
globals().update(_TABLE)

BOT_NAME = "newsbot"
SPIDER_MODULES = ["newsbot.spiders", *spider_packages(_TABLE["NEWSBOT_APPS"])]
NEWSPIDER_MODULE = "newsbot.spiders"
COMMANDS_MODULE = "newsbot.commands"

# --- identity
USER_AGENT = user_agent(_TABLE["NEWSBOT_CONTACT"])
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "newsbot"

# --- names of hosts; Scrapy has one resolver for all spiders
TWISTED_DNS_RESOLVER = "newsbot.crawl.address_guard.GuardedResolver"
DNS_TIMEOUT = 10

# --- your own components, for all spiders; None removes a component of newsbot
DOWNLOADER_MIDDLEWARES: dict[str, Any] = {}
SPIDER_MIDDLEWARES: dict[str, Any] = {}
ITEM_PIPELINES: dict[str, Any] = {}
EXTENSIONS: dict[str, Any] = {}

# --- logging
LOG_VERSIONS: list[str] = []  # `scrapy version -v` prints them
FEED_EXPORT_ENCODING = "utf-8"

# --- disabled services
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
