"""If a crawl cannot reach any host, one line reports this within seconds, and no visit is postponed."""

from __future__ import annotations

import time

import pytest

from newsbot.backends import open_frontier
from newsbot.crawl.failures import ENOUGH, MANY, Reachability
from testbed.messages import Answer
from testbed.servers import free_port
from tests.crawls import World
from tests.newssite import serve

SITES = [f"site{number}.test" for number in range(6)]


@pytest.fixture
def alone(tmp_path):
    """A world without a web: its host names do not resolve."""
    world = World(tmp_path, None)
    for site in SITES:
        world.rule(site, f"domain: {site}\nfeeds: http://{site}/feed.xml\n")
    return world


def due_now(world) -> int:
    frontier = open_frontier({"NEWSBOT_DATA": str(world.data)})
    try:
        return frontier.outlook(horizon=time.time()).pending
    finally:
        frontier.close()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "check the network connection. Behind a proxy, set http_proxy and https_proxy."),
        (
            {"proxy": "http://secret:word@127.0.0.1:{port}"},
            "check the proxy 127.0.0.1 (http_proxy, https_proxy).",
        ),
    ],
)
def test_one_line_says_that_no_host_can_be_reached(alone, environment, message):
    proxy = environment.get("proxy", "").format(port=free_port())
    proxies = {"http_proxy": proxy, "https_proxy": proxy} if proxy else {}
    crawl = alone.crawl("-L", "ERROR", **proxies)
    assert crawl.code == 1
    (line,) = crawl.err.splitlines()
    assert line.startswith("no host could be reached: site0.test, site1.test, site2.test")
    assert message in line
    assert line.endswith("No page was postponed. To try newsbot without a network, run: scrapy demo")
    assert "word" not in line
    assert crawl.stats["finish_reason"] == "no_network"
    assert due_now(alone) == len(SITES)
    assert alone.page("http://site0.test/feed.xml").failures == 0


def test_private_addresses_name_the_setting(alone):
    urls = [f"http://127.0.0.{number}/feed.xml" for number in range(1, 5)]
    crawl = alone.crawl("-a", f"feeds={','.join(urls)}", "-L", "ERROR")
    assert crawl.code == 1
    (line,) = crawl.err.splitlines()
    assert "addresses of 127.0.0.1, 127.0.0.2, 127.0.0.3 and 1 more are private IP addresses" in line
    assert "to allow them, set NEWSBOT_ALLOW_PRIVATE=1" in line
    one = alone.crawl("-a", "url=http://localhost:8000/")
    assert one.code == 1
    assert "no host was contacted: the addresses of localhost are private IP addresses" in one.err
    assert "to read them" not in one.err


def test_a_name_that_leads_to_a_private_address_ends_the_crawl_whatever_its_port(alone):
    resolver = "TWISTED_DNS_RESOLVER=tests.named_addresses.NamedAddresses"
    for url in ("https://wiki.test/", "http://wiki.test:8080/news/1"):
        crawl = alone.crawl("-a", f"url={url}", "-s", resolver, "-L", "ERROR")
        assert crawl.code == 1
        assert crawl.stats["finish_reason"] == "no_network"
        assert "the addresses of wiki.test are private IP addresses" in crawl.err
        assert crawl.stat("frontier/nacked") == 0


def test_a_single_site_that_is_down_is_retried_and_recorded(alone):
    crawl = alone.crawl("-a", f"sites={SITES[0]}")
    assert crawl.code == 1
    assert crawl.stat("frontier/nacked") >= 1
    assert alone.page(f"http://{SITES[0]}/feed.xml").failures >= 1
    assert f"no host could be reached: {SITES[0]} (dns 1): check the address and the network" in crawl.err


def test_failures_count_for_the_sites_as_soon_as_another_site_answers(site, world):
    serve(site, world, 2)
    for name in SITES:
        site.page(f"http://{name}/robots.txt", lambda _: Answer(hang_up=True))
        world.rule(name, f"domain: {name}\nfeeds: http://{name}/feed.xml\n")
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    assert len(world.articles()) == 2


def test_the_network_is_not_suspected_after_an_answer_or_with_few_sites():
    reach = Reachability()
    assert not reach.in_doubt
    for number in range(MANY):
        assert (reach.is_ours, reach.enough_tried) == (number >= ENOUGH, False)
        reach.failed(f"a{number}.test", "dns")
        reach.failed(f"a{number}.test", "timeout")
    assert (reach.is_ours, reach.enough_tried) == (True, True)
    assert f"and {MANY - ENOUGH} more (timeout {MANY})" in (reach.fault or "")
    reach.believe()
    assert not reach.in_doubt
    reach.answered()
    reach.failed("b.test", "dns")
    assert (reach.in_doubt, reach.fault) == (False, None)


def test_many_dead_sites_before_a_working_one_do_not_end_the_crawl(site, world):
    """All sites are queued, in the order of their names, before the crawl decides about the network."""
    serve(site, world, 2)
    for number in range(ENOUGH + 2):
        name = f"a{number}.test"
        world.rule(name, f"domain: {name}\nfeeds: http://{name}/feed.xml\n")
        site.page(f"http://{name}/robots.txt", lambda _: Answer(hang_up=True))
    crawl = world.crawl("-s", "CONCURRENT_REQUESTS=1")
    assert crawl.code == 0, crawl.err
    assert len(world.articles()) == 2
