"""Names of the reasons for failed downloads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from newsbot.crawl.failures import DropItem, Ignored, cause_of, cause_of_status
from newsbot.items import Reason


class TunnelError(Exception):
    """Like Scrapy's exception, which is not public."""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Ignored("robots", "forbidden"), "robots"),
        (CannotResolveHostError("x"), "dns"),
        (DownloadTimeoutError("x"), "timeout"),
        (DownloadConnectionRefusedError("x"), "refused"),
        (ResponseDataLossError(), "truncated"),
        (UnsupportedURLSchemeError("x"), "scheme"),
        (DownloadCancelledError("x"), "too_large"),
        (TunnelError("407"), "proxy"),
        (DownloadFailedError("SSL routines: handshake failure"), "connection"),
        (DownloadFailedError("Certificate verify failed"), "tls"),
        (DownloadFailedError("ConnectionLost"), "connection"),
        (DownloadFailedError("whatever"), "connection"),
        (OSError(5, "i/o"), "connection"),
        (TimeoutError(), "timeout"),
        (IgnoreRequest("max redirections reached"), "redirects"),
        (IgnoreRequest("other"), "ignored"),
        (KeyError("x"), "unknown"),
    ],
)
def test_cause_of_an_exception(error, cause):
    assert cause_of(error) == cause


def test_ignored_responses_have_a_reason():
    assert str(Ignored("robots")) == "robots"
    assert str(Ignored("robots", "forbidden by robots.txt")) == "forbidden by robots.txt"


@given(st.integers(400, 999))
def test_client_errors_have_separate_names_and_server_errors_one(status):
    assert cause_of_status(status) == ("http_5xx" if status >= 500 else f"http_{status}")


def test_a_dropped_item_has_the_stats_name_of_scrapy_and_the_reason_of_newsbot():
    error = DropItem(Reason.SAME_TEXT, "as https://news.test/1")
    assert (type(error).__name__, str(error), error.reason) == (
        "DropItem",
        "same_text as https://news.test/1",
        "same_text",
    )
