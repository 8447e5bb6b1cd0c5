"""robots.txt: when it is requested, how long it is cached, and its effects."""

from __future__ import annotations

import asyncio
import gzip
from types import SimpleNamespace

import pytest
from protego import Protego
from scrapy import Request
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError, NotConfigured
from scrapy.http import Response
from twisted.python.failure import Failure
from twisted.web.client import ResponseFailed

from newsbot.crawl.failures import HeadFault, Ignored
from newsbot.crawl.visit import Found
from newsbot.errors import DataUnavailable
from newsbot.items import Kind, Link, Where
from newsbot.middlewares import robots
from newsbot.middlewares.robots import KEEP_FAILED_SECONDS, RobotsMiddleware
from newsbot.pages.rights import for_protego
from newsbot.sites.rights import KEEP_SECONDS, NOTE_KIND
from tests.builders import make_request

STORY = "https://news.test/story/1"


class Site:
    """Serves robots.txt and records the requests for it."""

    def __init__(self, desk, body="", status=200):
        self.body, self.status = body, status
        self.requests = []
        self.no_tls = False
        self.flags, self.headers = [], {}
        desk.crawler.engine = SimpleNamespace(download_async=self.download)
        self.middleware = RobotsMiddleware.from_crawler(desk.crawler)

    async def download(self, request):
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.no_tls and request.url.startswith("https"):
            raise DownloadTimeoutError("no TLS")
        if isinstance(self.status, Exception):
            raise self.status
        body = self.body if isinstance(self.body, bytes) else self.body.encode()
        return Response(request.url, status=self.status, body=body, flags=self.flags, headers=self.headers)

    def cause(self, request):
        """Return why a request is refused, None if it is allowed."""
        return self.causes(request)[0]

    def causes(self, *requests):
        results = self.refusals(*requests)
        assert all(one is None or isinstance(one, Ignored) for one in results), results
        return [one and one.cause for one in results]

    def refusals(self, *requests):
        async def all_of_them():
            calls = (self.middleware.process_request(request) for request in requests)
            return await asyncio.gather(*calls, return_exceptions=True)

        return asyncio.run(all_of_them())


def test_forbidden_urls_are_not_fetched(desk):
    site = Site(desk, "User-agent: newsbot\nDisallow: /private/\n\nUser-agent: *\nDisallow: /\n")
    assert site.cause(Request("https://news.test/private/1")) == "robots"
    assert site.cause(Request(STORY)) is None
    [question] = site.requests
    assert question.url == "https://news.test/robots.txt"
    assert question.meta["dont_obey_robotstxt"]


def test_robots_txt_is_requested_once_per_host(desk):
    site = Site(desk, "User-agent: *\nDisallow: /private/\n")
    requests = [Request(f"https://news.test/private/{number}") for number in range(20)]
    assert site.causes(*requests) == ["robots"] * 20
    assert len(site.requests) == 1
    site.causes(Request("http://news.test/a"), Request("https://news.test:8443/a"))
    assert [question.url for question in site.requests[1:]] == ["https://news.test:8443/robots.txt"]


def test_robots_txt_is_requested_over_http_if_https_fails(desk):
    site = Site(desk, "User-agent: *\nDisallow: /private/\n")
    site.no_tls = True
    secure, plain = Request("https://news.test/private/1"), Request("http://news.test/private/1")
    assert site.cause(secure) == "robots_unreachable"
    assert site.cause(plain) == "robots"
    assert site.causes(secure, plain) == ["robots", "robots"], "the rules of one scheme apply to both"
    assert [question.url for question in site.requests] == [
        "https://news.test/robots.txt",
        "http://news.test/robots.txt",
    ]


@pytest.mark.parametrize(
    ("body", "status"), [("User-agent: *\nDisallow: /story/\nCrawl-delay: 7\n", 200), ("", 404)]
)
def test_workers_share_robots_txt_for_a_day(desk, body, status):
    first = Site(desk, body, status)
    verdict = first.cause(Request(STORY))
    second = Site(desk, "User-agent: *\nDisallow: /other\n")
    assert second.cause(Request(STORY)) == verdict
    assert second.cause(Request(STORY.replace("https", "http"))) == verdict
    assert second.requests == []
    assert desk.crawl.politeness.delay_of("news.test") == (7 if body else 0)
    desk.clock.now += KEEP_SECONDS
    third = Site(desk, "")
    assert third.cause(Request(STORY)) is None
    assert len(third.requests) == 1


@pytest.mark.parametrize(
    "note", [{}, {"at": 1}, {"at": "x", "body": None}, {"at": None, "body": "%%"}, {"body": "~"}]
)
def test_robots_txt_is_requested_again_if_its_note_is_damaged(desk, note):
    if "body" in note:
        note = {"at": desk.clock.now, **note}
    desk.context.notes.save(NOTE_KIND + "news.test", "robots.txt", {**note, "body": note.get("body", "!")})
    site = Site(desk, "User-agent: *\nDisallow: /\n")
    assert site.cause(Request(STORY)) == "robots"


def test_a_cancelled_request_does_not_affect_other_waiting_requests(desk):
    site = Site(desk, "User-agent: *\nDisallow: /\n")

    async def run():
        waiting = [asyncio.ensure_future(site.middleware.process_request(Request(STORY))) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, second = asyncio.run(run())
    assert isinstance(first, asyncio.CancelledError)
    assert isinstance(second, Ignored)


def test_responses_are_kept_for_a_day_and_errors_for_some_minutes(desk):
    site = Site(desk)
    site.cause(Request(STORY))
    desk.clock.now += KEEP_SECONDS
    site.cause(Request(STORY))
    assert len(site.requests) == 1
    desk.clock.now += 1
    site.status = 500
    assert site.cause(Request(STORY)) == "robots_failing"
    desk.clock.now += KEEP_FAILED_SECONDS
    assert site.cause(Request(STORY)) == "robots_failing"
    assert len(site.requests) == 2
    desk.clock.now += 1
    site.status = 200
    assert site.cause(Request(STORY)) is None


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (404, None),
        (403, None),
        (301, None),
        (429, "robots_failing"),
        (500, "robots_failing"),
        (503, "robots_failing"),
        (DownloadTimeoutError("slow"), "robots_unreachable"),
    ],
)
def test_a_missing_robots_txt_allows_all_urls_and_a_server_error_none(desk, status, cause):
    site = Site(desk, "User-agent: *\nDisallow: /\n", status)
    assert site.cause(Request(STORY)) == cause
    assert desk.stat("robots/unreachable") == (cause is not None)
    assert desk.stat("robots/asked") == 1


@pytest.mark.parametrize(
    "path",
    [
        "/story/../private/a",
        "/./private/a",
        "//private//a",
        "/story/%2E./private/a",
        "/%70rivate/a",
        "/private/index.html",
        "/private;jsessionid=7/",
    ],
)
def test_the_url_of_a_stored_page_must_be_allowed(desk, path):
    site = Site(desk, "User-agent: *\nDisallow: /private/\n")
    assert site.cause(Request(f"https://news.test{path}")) == "robots"


@pytest.mark.parametrize(
    "name",
    ["newsbot/0.1.0", "Newsbot/2", "newsbot 1.0", "newsbot (+https://a.test/)", "newsbot, other", "NEWSBOT*"],
)
def test_a_group_with_a_version_in_its_name_applies(desk, name):
    site = Site(desk, f"User-agent: {name}\nDisallow: /a/\n\nUser-agent: *\nDisallow: /b/\n")
    assert site.causes(Request("https://news.test/a/1"), Request("https://news.test/b/1")) == ["robots", None]


@pytest.mark.parametrize("name", ["news", "n", "NewsBo", "newsbot-images", "newsbots", "bot", "new s bot"])
def test_a_group_of_another_crawler_does_not_apply(desk, name):
    """RFC 9309, 2.2.1: the whole product token is compared, without case."""
    site = Site(desk, f"User-agent: {name}\nDisallow: /a/\n\nUser-agent: *\nDisallow: /b/\n")
    assert site.causes(Request("https://news.test/a/1"), Request("https://news.test/b/1")) == [None, "robots"]


def test_all_groups_for_newsbot_count(desk):
    names = "User-agent: newsbot\n\nUser-agent: other\n\n# both\nDisallow: /a/\n\n"
    site = Site(desk, names + "User-agent: *\nDisallow: /\n\nUser-Agent:NEWSBOT/1\nDisallow: /b/\n")
    urls = [f"https://news.test/{name}/1" for name in "abc"]
    assert site.causes(*map(Request, urls)) == ["robots", "robots", None]


@pytest.mark.parametrize(
    ("status", "flags", "headers", "cause"),
    [
        (200, ["dataloss"], {}, "robots_unreadable"),
        (200, [], {"Content-Encoding": "gzip"}, "robots_unreadable"),
        (404, ["dataloss"], {}, None),
        (403, [], {"Content-Encoding": "gzip"}, None),
    ],
)
def test_a_damaged_body_matters_only_if_there_is_a_file(desk, status, flags, headers, cause):
    site = Site(desk, "User-agent: *\nDisallow: /\n", status)
    site.flags, site.headers = flags, headers
    assert site.cause(Request(STORY)) == cause


@pytest.mark.parametrize(("status", "cause"), [(404, None), (403, None), (200, "robots_unreadable")])
def test_a_damaged_head_of_a_missing_robots_txt_is_ignored(desk, status, cause):
    error = DownloadFailedError("failed")
    error.__cause__ = ResponseFailed([Failure(HeadFault(status, "two lengths"))])
    assert Site(desk, "", error).cause(Request(STORY)) == cause


def test_the_reason_says_why_robots_txt_cannot_be_read(desk):
    site = Site(desk, "", Ignored("too_large", "more than 16 MB"))
    [refused] = site.refusals(Request(STORY))
    assert refused.cause == "robots_unreadable"
    assert "too_large: more than 16 MB" in str(refused)


def test_an_outage_of_our_data_is_not_a_fault_of_robots_txt(desk):
    site = Site(desk, "", DataUnavailable("locked"))
    [error] = site.refusals(Request(STORY))
    assert isinstance(error, DataUnavailable)
    site.status = 200
    assert site.cause(Request(STORY)) is None


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "robots"),
        (b"User-agent: *\r\nDisallow: /\r\n\xff\xfe", "robots"),
        ("User-agent: *\nDisallow: /\n".encode("utf-16"), "robots"),
        (gzip.compress(b"User-agent: *\nDisallow: /\n", mtime=0), "robots"),
        (b"<html>User-agent</html>", None),
        (b"\x00" * 100, None),
        (b"User-agent: *\n" + b"Disallow: /a\n" * 60_000 + b"Disallow: /\n", None),  # beyond the size limit
    ],
)
def test_malformed_files_are_read_as_far_as_possible(desk, body, cause):
    assert Site(desk, body).cause(Request(STORY)) == cause


def test_known_origins_are_bounded(desk, monkeypatch):
    monkeypatch.setattr(robots, "MAX_KNOWN", 3)
    site = Site(desk)
    for number in range(10):
        site.cause(Request(f"https://h{number}.test/"))
        assert len(site.middleware._known) <= 3
    assert not site.middleware._asked


def test_robots_txt_is_disabled_by_the_setting(make_desk):
    desk = make_desk(settings={"ROBOTSTXT_OBEY": False})
    with pytest.raises(NotConfigured):
        RobotsMiddleware.from_crawler(desk.crawler)


def test_the_request_for_robots_txt_is_not_checked(desk):
    site = Site(desk)
    assert site.cause(Request("https://news.test/robots.txt", meta={"dont_obey_robotstxt": True})) is None
    assert site.requests == []


# --- Crawl-delay
def gap(desk, visit):
    """Return the seconds between two turns of the host, after the visit."""
    desk.context.frontier.ack(visit.lease, next_due=None)
    desk.clock.now += 1000
    waiting = [desk.entry(f"{visit.lease.entry.url}/{number}") for number in range(2)]
    desk.context.frontier.add(waiting)
    [lease] = desk.context.frontier.lease("test", 1, horizon=desk.clock(), ttl=600)
    desk.context.frontier.ack(lease, next_due=None)
    return desk.context.frontier.outlook(horizon=desk.clock()).next_at - desk.clock()


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("Crawl-delay: 7", 7),
        ("Crawl-delay: 9999", 30),
        ("Crawl-delay: -3", 0),
        ("Crawl-delay: nan", 0),
        ("", 0),
    ],
)
def test_crawl_delay_increases_the_delay_up_to_a_limit(desk, line, delay):
    visit = desk.visit(STORY)
    Site(desk, f"User-agent: *\n{line}\n").cause(make_request(visit))
    assert gap(desk, visit) == delay


def test_a_crawl_delay_shorter_than_that_of_the_rule_is_ignored(make_desk):
    desk = make_desk({"news.test": "domain: news.test\ndelay: 4\nfeeds: https://news.test/f\n"})
    visit = desk.visit(STORY)
    Site(desk, "User-agent: *\nCrawl-delay: 2\n").cause(make_request(visit))
    assert gap(desk, visit) == 4


def test_links_to_a_host_do_not_reset_its_crawl_delay(desk):
    """A worker that continues an existing queue reads robots.txt before it finds a link to the host."""
    url = "https://www.news.test/story/1"
    visit = desk.visit(url)
    Site(desk, "User-agent: *\nCrawl-delay: 7\n").cause(make_request(visit))
    link = Link(url="https://www.news.test/story/2", where=Where.ARGUMENT)
    desk.crawl.links.queue(Found(links=(link,), referrer=None, depth=0))
    assert gap(desk, visit) == 7


# --- Sitemap lines
SITEMAPS = "User-agent: *\nSitemap: https://news.test/map.xml\nSitemap: /more.xml\n"


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("", True),
        ("feeds: https://news.test/f\n", False),
        ("feeds: https://news.test/f\nfollow: [feeds, sitemaps]\n", True),
    ],
)
def test_sitemaps_are_used_if_the_rule_has_none(make_desk, rule, found):
    desk = make_desk({"news.test": f"domain: news.test\n{rule}"})
    visit = desk.visit(STORY)
    Site(desk, SITEMAPS).cause(make_request(visit))
    if not found:
        assert visit.found == []
        return
    [links] = visit.found
    assert links.referrer == "https://news.test/robots.txt"
    assert [(link.url, link.kind) for link in links.links] == [
        ("https://news.test/map.xml", Kind.SITEMAP),
        ("https://news.test/more.xml", Kind.SITEMAP),
    ]


def test_sitemaps_in_an_error_page_are_ignored(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    visit = desk.visit(STORY)
    assert Site(desk, SITEMAPS, 404).cause(make_request(visit)) is None
    assert visit.found == []


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: newsbot\nCrawl-delay: 7\nUser-agent: other\nDisallow: /story/\n",
        "User-agent: newsbot\n\nCrawl-delay: 7\n# more\n\nUser-agent: other\nDisallow: /story/\n",
        "user-agent : newsbot\ncrawl-delay : 7\nrequest-rate: 1/5\nuser-agent: b\ndisallow: /story/\n",
        "User-agent: o\nDisallow: /\nUser-agent: newsbot\nCrawl-delay: 7\nUser-agent: b\nDisallow: /story",
    ],
)
def test_crawl_delay_does_not_end_the_list_of_user_agents(text: str) -> None:
    """RFC 9309, 2.2.4: other records must not terminate a group."""
    parser = Protego.parse(for_protego(text))
    assert not parser.can_fetch(STORY, "newsbot")
    assert parser.can_fetch("https://news.test/", "newsbot")
    assert parser.crawl_delay("newsbot") == 7


def test_a_crawl_delay_stays_in_its_group() -> None:
    text = "User-agent: newsbot\nDisallow: /a/\nCrawl-delay: 7\nUser-agent: other\nDisallow: /story/\n"
    parser = Protego.parse(for_protego(text))
    assert (parser.can_fetch(STORY, "newsbot"), parser.crawl_delay("other")) == (True, None)
