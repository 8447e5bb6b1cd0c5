"""A page that kills every worker that reads it, like a fault in a C library or a lack of memory."""

from __future__ import annotations

import json
import os
import signal

from scrapy.http import Response

from newsbot import settings

OPTION = "SPIDER_MIDDLEWARES=" + json.dumps({**settings.SPIDER_MIDDLEWARES, "tests.poison.Poison": 900})
"""For ``scrapy crawl news -s``."""


class Poison:
    """A spider middleware that kills the process without a log line."""

    def process_spider_input(self, response: Response) -> None:
        if response.url.endswith("/poison"):
            os.kill(os.getpid(), signal.SIGKILL)
