"""Parts that a crawl shares: scope, counters, backends; and the results of a dry run."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from weakref import ref

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from newsbot.clock import utc
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.scope import Arguments, check_scope
from newsbot.dedup.index import signature
from newsbot.errors import ArgumentError
from newsbot.items import Kind
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.spiders.news import NewsSpider
from newsbot.storage.base import SourceRecord
from tests.builders import START, make_article, prose

TWO = {
    "a.test": "domain: a.test\nfeeds: https://a.test/feed\n",
    "b.test": "domain: b.test\n",
    "xn--80aafi6cg.xn--p1ai": "domain: правда.рф\n",
}

SETTINGS = Settings({"NEWSBOT_RULES": "/rules"})


def scope(**arguments):
    rules = RuleSet([Rule(domain="a.test"), Rule(domain="b.test")])
    return check_scope(SETTINGS, rules, Arguments(**arguments))


def test_the_crawler_has_one_crawl(desk):
    assert Crawl.of(desk.crawler) is desk.crawl


def test_a_crawl_is_freed_together_with_its_crawler(tmp_path):
    (tmp_path / "a.test.yaml").write_text("domain: a.test\n")
    crawler = Crawler(NewsSpider, {"NEWSBOT_DATA": str(tmp_path / "data"), "NEWSBOT_RULES": str(tmp_path)})
    crawler.stats = MemoryStatsCollector(crawler)
    crawl = ref(Crawl.of(crawler))
    assert crawl() is not None
    del crawler
    gc.collect()
    assert crawl() is None


def test_without_arguments_all_sites_are_crawled(make_desk):
    assert scope() is None
    desk = make_desk(TWO)
    assert [rule.domain for rule in desk.crawl.scope.selected_rules()] == [
        "a.test",
        "b.test",
        "xn--80aafi6cg.xn--p1ai",
    ]
    assert desk.crawl.scope.accepts("anything.test")


def test_sites_limit_the_crawl_with_their_subdomains(make_desk):
    assert scope(sites=("b.test",)) == {"b.test"}
    desk = make_desk(TWO, sites=("b.test",))
    assert [rule.domain for rule in desk.crawl.scope.selected_rules()] == ["b.test"]
    assert desk.crawl.scope.accepts("www.b.test")
    assert not desk.crawl.scope.accepts("a.test")


def test_a_site_may_be_an_internationalised_name(make_desk):
    desk = make_desk(TWO, sites=("правда.рф",))
    assert [rule.domain for rule in desk.crawl.scope.selected_rules()] == ["xn--80aafi6cg.xn--p1ai"]
    assert desk.crawl.scope.accepts("xn--80aafi6cg.xn--p1ai")


def test_urls_limit_the_crawl_to_their_sites(make_desk):
    named = {"urls": ("https://www.a.test/1",), "feeds": ("https://news.c.co.uk/feed",)}
    assert scope(**named) == {"a.test", "c.co.uk"}
    desk = make_desk(TWO, **named)
    assert desk.crawl.scope.selected_rules() == []
    assert [desk.crawl.scope.accepts(host) for host in ("a.test", "c.co.uk", "b.test")] == [True, True, False]


def test_a_site_without_a_rule_is_reported_with_a_similar_name():
    with pytest.raises(
        ArgumentError, match=r"sites=a\.tst: no rule for it in /rules \(did you mean 'a\.test'\?\)"
    ):
        scope(sites=("a.tst",))
    with pytest.raises(ArgumentError, match=r"add zzz\.yaml there"):
        scope(sites=("zzz",))


def test_a_crawl_without_rules_is_reported():
    with pytest.raises(ArgumentError, match="there are no rules in /rules"):
        check_scope(SETTINGS, RuleSet(()), Arguments())
    arguments = Arguments(urls=("https://a.test/",))
    assert check_scope(SETTINGS, RuleSet(()), arguments) == frozenset({"a.test"})


def test_a_named_host_is_accepted_and_a_site_at_its_limit_is_not(make_desk):
    desk = make_desk(TWO, sites=("b.test",))
    desk.crawl.scope.named_hosts.add("cdn.test")
    assert desk.crawl.scope.accepts("cdn.test")
    desk.crawl.scope.limited.add("b.test")
    assert not desk.crawl.scope.accepts("www.b.test")


def test_sites_with_known_sources_come_from_rules_and_storage(make_desk):
    desk = make_desk(TWO)
    assert desk.crawl.sources.of("a.test").any
    assert not desk.crawl.sources.of("c.test").any
    kinds = (("b.test", Kind.SECTION), ("c.test", Kind.SITEMAP))
    records = [SourceRecord(url=f"https://{site}/x", source=site, kind=kind) for site, kind in kinds]
    desk.context.storage.sources.save(records)
    sources = make_desk(TWO).crawl.sources
    assert [sources.of(f"{site}.test").any for site in "abc"] == [True, False, True]


def test_a_dry_run_stores_nothing(make_desk, tmp_path):
    desk = make_desk(dry_run=True)
    desk.context.storage.articles.store(make_article())
    throwaway = desk.crawl._throwaway.name
    assert desk.context.storage.articles.count() == 1
    assert not (tmp_path / "data").exists()
    desk.crawl.close()
    assert not Path(throwaway).exists()
    desk.crawl.open()  # the fixture closes it again
    assert desk.context.storage.articles.count() == 0


def test_counters_have_the_names_that_are_documented(desk):
    desk.context.count("links/new", 2)
    desk.context.count_error("news.test", "timeout")
    with desk.context.timed("store"):
        pass
    stats = desk.crawler.stats.get_stats()
    assert stats.pop("newsbot/time/store") >= 0
    assert stats == {
        "newsbot/links/new": 2,
        "newsbot/errors/timeout": 1,
        "newsbot/site/news.test/errors": 1,
        "newsbot/site/news.test/errors/timeout": 1,
    }
    assert desk.context.books.last_error == {"news.test": ("timeout", START)}


def test_time_is_counted_even_if_a_step_fails(desk):
    with pytest.raises(KeyError), desk.context.timed("store"):
        raise KeyError
    assert desk.crawler.stats.get_value("newsbot/time/store") is not None


def test_counters_are_written_with_the_size_of_the_queue(desk):
    desk.queue("https://news.test/1")
    desk.context.count_error("news.test", "dns")
    desk.crawl.write_sites()
    assert desk.stat("queue/pending") == 1
    assert desk.context.storage.sites.all()["news.test"].last_error == "dns"


def test_a_crawl_reports_that_the_near_duplicate_index_was_lost(make_desk, caplog):
    desk = make_desk()
    for number in range(5):
        desk.context.storage.articles.store(make_article(number, fetched_at=utc(START - 60)))
    desk.context.index.check_and_insert("1", "a.org", signature(prose(1, 60)), START)  # a new index
    desk.crawl.close()
    with caplog.at_level(logging.WARNING):
        desk.crawl.open()
        (record,) = [one for one in caplog.records if one.name == "newsbot.crawl.assembly"]
        assert "texts=1 articles=5; near-duplicates of articles of the last 30 days" in record.getMessage()
        assert "scrapy articles reindex" in record.getMessage()
        caplog.clear()
        desk.context.index.check_and_insert("2", "a.org", signature(prose(2, 60)), START)
        desk.crawl.close()
        desk.crawl.open()
        assert [one for one in caplog.records if one.name == "newsbot.crawl.assembly"] == []
