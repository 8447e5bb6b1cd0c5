"""Gate, redirects, politeness and links: each middleware separately, on real data files."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.http import Response

from newsbot.crawl.failures import Ignored
from newsbot.crawl.politeness import MOST_TURNS
from newsbot.crawl.visit import META_KEY, TURN_KEY, Due, Found, Hop
from newsbot.items import EventKind, Kind, Link, Where
from newsbot.middlewares import MAX_RETRY_AFTER
from newsbot.middlewares.links import LinksMiddleware
from newsbot.middlewares.politeness import FIRST_PAUSE, LONGEST_PAUSE, PolitenessMiddleware
from newsbot.middlewares.redirects import RedirectMiddleware
from newsbot.middlewares.reprocessing import ReprocessingMiddleware
from newsbot.urls import fingerprint
from tests.builders import START, fill, make_article, make_request, make_response

STORY = "https://news.test/story/1"
OTHER = "https://news.test/story/2"
NUMBERS = count()


def fetched(desk, url, status=200, **page):
    """Make one successful visit of a URL."""
    visit = desk.visit(url)
    fill(visit, status=status)
    fill(visit, content_hash="h", **page)
    desk.settle(visit)


# --- reprocessing
def gate_of(desk):
    return ReprocessingMiddleware.from_crawler(desk.crawler)


def test_a_new_page_is_requested_without_conditions(desk):
    visit = desk.visit(STORY)
    request = make_request(visit)
    asyncio.run(gate_of(desk).process_request(request))
    assert not request.headers
    assert visit.check.anew


def test_a_page_within_its_interval_is_not_fetched(desk):
    fetched(desk, STORY)
    desk.clock.now += 1000
    visit = desk.visit(STORY)
    with pytest.raises(Ignored) as caught:
        asyncio.run(gate_of(desk).process_request(make_request(visit)))
    assert caught.value.cause == "too_young"
    assert visit.due == Due(START + 86400)
    assert desk.stat("gated") == 1


def test_a_conditional_request_is_sent_after_the_interval(desk):
    fetched(desk, STORY, etag='"e1"', last_modified="Wed, 18 Nov 2026 10:00:00 GMT")
    desk.clock.now += 86400 - 0.5  # a full fetch is due in half a second
    request = make_request(desk.visit(STORY))
    asyncio.run(gate_of(desk).process_request(request))
    assert request.headers["If-None-Match"] == b'"e1"'
    assert request.headers["If-Modified-Since"] == b"Wed, 18 Nov 2026 10:00:00 GMT"


def test_a_page_requested_by_a_user_is_fetched_immediately(desk):
    fetched(desk, STORY)
    visit = desk.visit(STORY, force=True)
    asyncio.run(gate_of(desk).process_request(make_request(visit)))
    assert visit.due is None


def test_retries_and_redirects_pass_the_gate(desk):
    fetched(desk, STORY)
    visit = desk.visit(STORY)
    visit.hops = (Hop("https://news.test/short", b""),)
    asyncio.run(gate_of(desk).process_request(make_request(visit)))
    desk.context.frontier.nack(visit.lease, delay=0)
    again = desk.visit(STORY)
    assert again.lease.attempts == 1
    asyncio.run(gate_of(desk).process_request(make_request(again)))
    assert desk.stat("gated") == 0


def test_robots_txt_is_not_gated(desk):
    asyncio.run(gate_of(desk).process_request(Request("https://news.test/robots.txt")))
    gate_of(desk).process_response(Request("https://news.test/robots.txt"), Response("https://news.test/"))
    assert desk.stat("bytes") == 0


def test_the_response_is_recorded_in_the_visit(desk):
    visit = desk.visit(STORY)
    request = make_request(visit)
    headers = {
        "ETag": '"e"',
        "Last-Modified": "then",
        "Server": "s" * 600,
        "Content-Type": "text/html",
        "Cache-Control": "public, max-age=77",
    }
    response = make_response(request, "12345", headers=headers)
    assert gate_of(desk).process_response(request, response) is response
    assert visit.answer.fields == {
        "etag": '"e"',
        "last_modified": "then",
        "server": "s" * 500,
        "content_type": "text/html",
        "content_length": 5,
    }
    assert (visit.outcome.status, visit.outcome.max_age) == (200, 77.0)
    assert visit.outcome.not_modified is False
    assert visit.outcome.retry_after is None
    assert desk.stat("bytes") == 5


@pytest.mark.parametrize(("header", "seconds"), [("120", 120), ("99999999", MAX_RETRY_AFTER), ("soon", None)])
def test_the_pause_that_a_host_asks_for_is_part_of_the_answer(desk, header, seconds):
    visit = desk.visit(STORY)
    request = make_request(visit)
    response = make_response(request, status=503, headers={"Retry-After": header})
    gate_of(desk).process_response(request, response)
    assert visit.outcome.retry_after == visit.answer.retry_after == seconds


def test_validators_are_removed_by_a_response_without_them_and_kept_by_304(desk):
    visit = desk.visit(STORY)
    request = make_request(visit)
    with pytest.raises(Ignored, match="had no condition"):
        gate_of(desk).process_response(request, make_response(request, status=304))
    request.headers["If-None-Match"] = '"a"'
    gate_of(desk).process_response(request, make_response(request, status=304))
    assert visit.outcome.not_modified
    assert "etag" not in visit.answer.fields
    assert "content_length" not in visit.answer.fields
    gate_of(desk).process_response(request, make_response(request, "x"))
    assert visit.answer.fields["etag"] is visit.answer.fields["last_modified"] is None


# --- redirects
def redirected(desk, visit, to, status=302, request=None):
    middleware = RedirectMiddleware.from_crawler(desk.crawler)
    request = request or make_request(visit, Referer="https://elsewhere.test/")
    return asyncio.run(
        middleware.process_response(request, make_response(request, status=status, headers={"Location": to}))
    )


def state_of(desk, url):
    known = desk.context.frontier.known([fingerprint(url)]).get(fingerprint(url))
    return known and known.state


def test_a_redirect_continues_the_visit(desk):
    visit = desk.visit(STORY)
    hop = redirected(desk, visit, "/story/2?utm_source=feed")
    assert hop.url == "https://news.test/story/2?utm_source=feed"
    assert hop.meta[META_KEY] is visit
    assert "Referer" not in hop.headers
    assert visit.hops == (Hop(STORY, b""),)
    assert visit.redirected_to == OTHER
    assert visit.events[-1] == {"at": START, "event": "redirect", "status": 302, "to": hop.url}
    assert state_of(desk, OTHER) is None  # it has not been fetched successfully yet


def test_other_responses_pass(desk):
    visit = desk.visit(STORY)
    request = make_request(visit)
    response = make_response(request, "x")
    assert (
        asyncio.run(RedirectMiddleware.from_crawler(desk.crawler).process_response(request, response))
        is response
    )
    assert visit.hops == ()


@pytest.mark.parametrize("taken", ["fetched", "leased"])
def test_a_redirect_to_a_taken_page_ends_the_visit(desk, taken):
    if taken == "fetched":
        fetched(desk, OTHER)
    else:
        desk.visit(OTHER)
    visit = desk.visit(STORY)
    with pytest.raises(Ignored) as caught:
        redirected(desk, visit, OTHER)
    assert caught.value.cause == "redirect_known"
    assert visit.redirected_to == OTHER


def test_a_pending_target_is_fetched_by_this_visit(desk):
    desk.queue(OTHER)
    assert redirected(desk, desk.visit(STORY), OTHER).url == OTHER


@pytest.mark.parametrize(("kind", "force"), [(Kind.FEED, False), (Kind.SECTION, False), (Kind.ARTICLE, True)])
def test_sources_and_requested_pages_follow_redirects_to_known_pages(desk, kind, force):
    fetched(desk, OTHER)
    assert redirected(desk, desk.visit(STORY, kind, force=force), OTHER).url == OTHER


def test_a_variant_of_the_same_url_is_not_another_page(desk):
    visit = desk.visit("http://news.test/story/1")
    hop = redirected(desk, visit, "https://news.test/story/1?utm_medium=x")
    assert hop.url.startswith("https://")
    assert state_of(desk, "http://news.test/story/1") == "leased"


def test_redirect_loops_end_the_visit(desk):
    visit = desk.visit(STORY, Kind.FEED)
    hop = redirected(desk, visit, OTHER)
    with pytest.raises(Ignored) as caught:
        redirected(desk, visit, STORY, request=hop)
    assert caught.value.cause == "redirects"
    with pytest.raises(Ignored, match="circle"):
        redirected(desk, visit, OTHER, request=hop)


def test_too_many_redirects_end_the_visit(make_desk):
    desk = make_desk(settings={"REDIRECT_MAX_TIMES": 2})
    visit = desk.visit(STORY)
    hop = None
    for number in range(2):
        hop = redirected(desk, visit, f"https://news.test/hop/{number}", request=hop)
    with pytest.raises(Ignored, match="too many") as caught:
        redirected(desk, visit, "https://news.test/hop/9", request=hop)
    assert caught.value.cause == "redirects"


def test_an_invalid_target_ends_the_visit(desk):
    with pytest.raises(Ignored) as caught:
        redirected(desk, desk.visit(STORY), "https://a b.test/")
    assert caught.value.cause == "bad_url"


def test_a_redirect_of_robots_txt_is_followed(desk):
    request = Request("https://news.test/robots.txt")
    response = make_response(request, status=301, headers={"Location": "/robots2.txt"})
    hop = asyncio.run(RedirectMiddleware.from_crawler(desk.crawler).process_response(request, response))
    assert hop.url == "https://news.test/robots2.txt"
    assert state_of(desk, hop.url) is None


# --- politeness
def answer(middleware, desk, visit, status, **headers):
    request = make_request(visit)
    return asyncio.run(
        middleware.process_response(request, make_response(request, status=status, headers=headers))
    )


def rest_of(desk):
    """Return the seconds until the next request to the host of the stories."""
    desk.queue("https://news.test/waiting")
    return desk.context.frontier.outlook(horizon=desk.clock() + 1).next_at - desk.clock()


def rests(visit):
    return [event["seconds"] for event in visit.events if event["event"] == "host_rests"]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_pauses_the_host(desk, status):
    visit = desk.visit(STORY)
    answer(PolitenessMiddleware.from_crawler(desk.crawler), desk, visit, status, **{"Retry-After": "120"})
    assert rest_of(desk) == 120
    assert rests(visit) == [120]
    assert desk.stat("backed_off") == 1


def test_retry_after_is_capped(desk):
    visit = desk.visit(STORY)
    answer(PolitenessMiddleware.from_crawler(desk.crawler), desk, visit, 503, **{"Retry-After": "99999999"})
    assert rests(visit) == [MAX_RETRY_AFTER]


def test_without_retry_after_pauses_double_until_another_status_is_returned(desk):
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    visit = desk.visit(STORY)
    for _ in range(3):
        answer(middleware, desk, visit, 503, **{"Retry-After": "soon"})
    answer(middleware, desk, visit, 200)
    answer(middleware, desk, visit, 429)
    assert rests(visit) == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, FIRST_PAUSE]


def test_pauses_have_an_upper_limit(desk):
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    visit = desk.visit(STORY)
    middleware._faults[visit.lease.entry.host] = 5000
    asyncio.run(middleware.process_exception(make_request(visit), DownloadTimeoutError()))
    assert rests(visit) == [LONGEST_PAUSE]


@pytest.mark.parametrize(
    ("error", "number"),
    [(DownloadTimeoutError(), 1), (CannotResolveHostError(), 1), (Ignored("too_young"), 0), (KeyError(), 0)],
)
def test_only_errors_of_the_host_pause_it(desk, error, number):
    visit = desk.visit(STORY)
    asyncio.run(PolitenessMiddleware.from_crawler(desk.crawler).process_exception(make_request(visit), error))
    assert len(rests(visit)) == number
    assert desk.stat("backed_off") == number


def test_hosts_are_paused_independently(desk):
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    other = desk.visit("https://www.news.test/story/5")
    answer(middleware, desk, other, 503)
    visit = desk.visit(STORY)
    answer(middleware, desk, visit, 503)
    assert rests(visit) == rests(other) == [FIRST_PAUSE]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from((200, 404, 429, 503)), st.text("0123456789 -.a", max_size=12))))
def test_no_response_pauses_a_host_longer_than_the_limit(desk, answers):
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    visit = desk.visit(f"https://h{next(NUMBERS)}.test/")
    for status, retry_after in answers:
        answer(middleware, desk, visit, status, **{"Retry-After": retry_after})
    assert len(rests(visit)) == sum(status in (429, 503) for status, _ in answers)
    assert all(0 <= seconds <= MAX_RETRY_AFTER for seconds in rests(visit))


def test_a_page_of_a_host_with_a_long_pause_waits_in_the_scheduler(make_desk):
    desk = make_desk({"news.test": "domain: news.test\ndelay: 1\n"})
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    visit = desk.visit(STORY)
    desk.context.frontier.back_off("news.test", 3600)
    waiting = asyncio.run(middleware.process_request(make_request(visit)))
    assert waiting is not None
    assert waiting.meta[META_KEY] is visit
    assert waiting.meta[TURN_KEY].at == desk.clock() + 3600
    desk.clock.now += 3600
    assert asyncio.run(middleware.process_request(waiting)) is None
    assert TURN_KEY not in waiting.meta, "a redirect needs its own turn"


def waits_with(monkeypatch, desk, *stalls):
    """Make waits of the middleware longer by ``stalls``, as on a busy machine; return the planned waits."""
    waits, busy = [], iter(stalls)

    async def sleep(seconds):
        waits.append(round(seconds, 6))
        desk.clock.now += seconds + next(busy, 0.0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


def test_a_request_that_is_late_takes_another_turn(make_desk, monkeypatch):
    """The next turn is .7 s after a request that is .3 s late. It may belong to a worker that is on time."""
    desk = make_desk({"news.test": "domain: news.test\ndelay: 1\n"})
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    desk.crawl.politeness.take_turn("news.test")
    waits = waits_with(monkeypatch, desk, 0.3)
    began = desk.clock()
    assert asyncio.run(middleware.process_request(Request("https://news.test/robots.txt"))) is None
    assert waits == [1, 0.7]
    assert desk.clock() - began == pytest.approx(2)
    assert desk.crawl.politeness.take_turn("news.test") == pytest.approx(1)


def test_requests_are_sent_even_if_all_are_late(make_desk, monkeypatch):
    desk = make_desk({"news.test": "domain: news.test\ndelay: 1\n"})
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    desk.crawl.politeness.take_turn("news.test")
    waits = waits_with(monkeypatch, desk, *[0.3] * 99)
    assert asyncio.run(middleware.process_request(Request("https://news.test/robots.txt"))) is None
    assert len(waits) == MOST_TURNS


def test_requests_without_a_visit_pause_no_host(desk):
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)
    request = Request("https://news.test/robots.txt")
    response = make_response(request, status=503)
    assert asyncio.run(middleware.process_response(request, response)) is response
    asyncio.run(middleware.process_exception(request, DownloadTimeoutError()))
    assert desk.stat("backed_off") == 0


# --- links
async def collected(results):
    return [result async for result in results]


async def stream(*results):
    for result in results:
        yield result


FOUND = Found(
    links=(Link(url=OTHER, where=Where.FEED, text="A headline of six words here"),), referrer=STORY, depth=1
)


def test_links_are_kept_in_the_visit_and_items_pass(desk):
    visit = desk.visit(STORY)
    response = make_response(make_request(visit), "x")
    item = make_article()
    middleware = LinksMiddleware.from_crawler(desk.crawler)
    passed = asyncio.run(collected(middleware.process_spider_output(response, stream(FOUND, item))))
    assert passed == [item]
    assert visit.found == [FOUND]
    assert state_of(desk, OTHER) is None


def test_start_urls_are_queued_immediately(desk):
    named = Found(links=(Link(url=OTHER, where=Where.ARGUMENT),), referrer=None, depth=0, force=True)
    request = Request(STORY)
    passed = asyncio.run(collected(LinksMiddleware(desk.crawler).process_start(stream(named, request))))
    assert passed == [request]
    assert state_of(desk, OTHER) == "pending"


def test_missing_tls_does_not_pause_a_host_that_responds_over_http(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    middleware = PolitenessMiddleware.from_crawler(desk.crawler)

    visit = desk.visit("https://news.test/1")

    def rests():
        before = len(visit.events)
        asyncio.run(middleware.process_exception(make_request(visit, visit.url), ConnectionRefusedError()))
        return any(event["event"] == EventKind.HOST_RESTS for event in visit.events[before:])

    def answer(status):
        url = "http://news.test/0"
        asyncio.run(middleware.process_response(make_request(visit, url), Response(url, status=status)))

    assert rests()
    answer(301)
    assert rests(), "a redirect over http is not a sign of recovery"
    answer(200)
    assert not rests()
