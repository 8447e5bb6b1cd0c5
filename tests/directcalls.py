"""A Scrapy extension for tests: prints each call to a server that blocks the event loop."""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from scrapy.crawler import Crawler

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.crawl import backend_calls
from newsbot.crawl.backend_calls import ServerCalls

USED = json.dumps({"tests.directcalls.DirectCalls": 0})
"""The value of the setting EXTENSIONS that enables this extension."""
MARK = "DIRECT CALL"


class DirectCalls:
    """Watches the calls of one process. The direct calls that measure the speed of a server are disabled."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DirectCalls:
        backend_calls.PROBE = -1.0
        for kind, name in ((ServerCalls, "call"), (ServerCalls, "aside")):
            setattr(kind, name, _watched(getattr(kind, name)))
        MongoStorage.close = _printed(MongoStorage.close)  # type: ignore[method-assign]
        return cls()


def _watched(method: Callable[..., Any]) -> Callable[..., Any]:
    def watched(calls: ServerCalls, *arguments: Any, local: bool = False) -> Any:
        *place, work = arguments
        return method(calls, *place, work if local else _printed(work), **({"local": True} if local else {}))

    return watched


def _printed(work: Callable[..., Any]) -> Callable[..., Any]:
    def printed(*arguments: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            print(MARK, *traceback.format_stack(limit=12), file=sys.stderr)
        return work(*arguments)

    return printed
