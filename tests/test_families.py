"""Families of addresses: names, states, samples and budgets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.authoring.learn import pattern_of
from newsbot.crawl.visit import Found
from newsbot.errors import DataUnavailable
from newsbot.items import Kind, Link, Reason, Where
from newsbot.pages.extraction.verdict import Evidence, Standing, Witnesses
from newsbot.ranking.families import (
    ENOUGH,
    FIRST_BUDGET,
    HEAL_AFTER,
    SAMPLES,
    Family,
    Result,
    SiteFamilies,
    State,
    family_of,
    list_family,
    rows_of,
    sentences,
)
from tests.builders import fill

SITE = "https://news.example"
NOW = 1_800_000_000.0
EXPLORE = 0.04


def site_with(*results: Result) -> SiteFamilies:
    site = SiteFamilies()
    for result in results:
        site.add(result)
    return site


def article(family: str, number: int = 1, *, named: bool = False) -> list[Result]:
    return [Result(family=family, named=named)] * number


def refused(family: str, number: int = 1, *, why: str = "no_evidence") -> list[Result]:
    return [Result(family=family, named=False, refusal=why)] * number


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/posts/novost-10/", "/posts/*#/"),
        ("/posts/vtoraya-novost/", "/posts/*/"),
        ("/posts/hello/", "/posts/@/"),
        ("/about", "/@"),
        ("/2024/05/03/a-town-and-its-river", "/#/#/#/*"),
        ("/sport/the-cup-goes-north-48213.html", "/sport/*#.html"),
        ("/news/48213", "/news/#"),
        ("/?p=77", "/?p"),
        ("/story.php?id=7&view=print", "/story.php?id&view=print"),
    ],
)
def test_the_family_of_an_address_is_its_shape(path: str, family: str) -> None:
    assert family_of(SITE + path) == family


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_addresses_that_differ_in_a_number_are_of_one_family(one: int, other: int) -> None:
    assert family_of(f"{SITE}/posts/story-{one}/") == family_of(f"{SITE}/posts/story-{other}/")


def test_a_family_is_open_if_a_feed_names_members() -> None:
    site = site_with(Result(family="/p/*", is_named=True))
    assert site.state("/p/*") is State.OPEN
    assert site.state("/q/*") is State.UNKNOWN


def test_members_that_differ_only_in_numbers_from_named_ones_are_fetched() -> None:
    site = site_with(Result(family="/posts/*/", is_named=True), *article("/posts/*/", 34, named=True))
    assert site.state("/posts/*#/") is State.OPEN
    assert site.state("/posts/@/") is State.UNKNOWN, "a single word is often the front of a section"
    assert site.state("/pages/*/") is State.UNKNOWN


def test_a_family_with_refused_samples_is_closed_and_heals_later() -> None:
    site = site_with(Result(family="/jobs/*", sampled_at=NOW), *refused("/jobs/*", ENOUGH))
    assert site.state("/jobs/*") is State.CLOSED
    assert not site.may_fetch("/jobs/*", NOW + 60, EXPLORE)
    assert site.may_fetch("/jobs/*", NOW + HEAL_AFTER + 1, EXPLORE), "one more page is tried after a day"
    for _ in range(ENOUGH):
        site.add(Result(family="/jobs/*", named=False))
    assert site.state("/jobs/*") is State.OPEN


def test_unlisted_pages_of_a_named_family_can_close_it_for_other_unlisted_pages() -> None:
    site = site_with(Result(family="/n/*", is_named=True), *article("/n/*", 20, named=True))
    for result in refused("/n/*", ENOUGH):
        site.add(result)
    assert site.state("/n/*") is State.CLOSED


def test_a_feed_whose_items_are_no_articles_opens_nothing() -> None:
    bad = [Result(family="/t/*", named=True, refusal="no_text")] * 3
    site = site_with(Result(family="/t/*", is_named=True), *bad)
    assert site.state("/t/*") is State.UNKNOWN


def test_a_site_that_names_few_articles_wastes_no_request() -> None:
    site = site_with(Result(family="/n/*", is_named=True), *article("/n/*", 20, named=True))
    assert not site.may_fetch("/jobs/*", NOW, EXPLORE)
    for result in article("/n/*", 5, named=True):
        site.add(result)
    assert site.may_fetch("/jobs/*", NOW, EXPLORE), "one sample for 25 articles"
    site.add(Result(family="/jobs/*", sampled_at=NOW))
    assert not site.may_fetch("/polls/*", NOW, EXPLORE), "samples in flight count"


def test_addresses_of_a_sitemap_are_tried_on_a_small_site_too() -> None:
    site = site_with(Result(family="/n/*", is_named=True), *article("/n/*", 3, named=True))
    assert not site.may_fetch("/posts/@/", NOW, EXPLORE)
    site.add(Result(family="/posts/@/", is_listed=True))
    assert site.may_fetch("/posts/@/", NOW, EXPLORE)


def test_a_sitemap_names_the_articles_if_it_lists_members_of_their_families() -> None:
    named = article("/posts/*", 3, named=True)  # a rule or a person named them
    about, posts = Result(family="/about", is_listed=True), Result(family="/posts/*", is_listed=True)
    assert not site_with(*named, about).lists_articles
    assert site_with(*named, about, posts).lists_articles
    assert site_with(Result(family="/posts/*", is_listed=True)).lists_articles, "nothing is known yet"
    assert not SiteFamilies().lists_articles


def test_a_site_without_feeds_begins_with_a_few_samples() -> None:
    site, taken = SiteFamilies(), 0
    for number in range(20):
        while taken < 100 and site.may_fetch(f"/x{number}/*", NOW, EXPLORE):
            site.add(Result(family=f"/x{number}/*", sampled_at=NOW))
            taken += 1
    assert taken == FIRST_BUDGET
    assert all(family.sampled <= SAMPLES for family in site.families.values())


def test_the_first_samples_are_not_added_to_the_budget_of_a_site_with_articles() -> None:
    """A site of 20 articles with look-alikes then needs at most 1.3 pages for each article."""
    site = site_with(*article("/n/*", 20), *refused("/jobs/*", 3), *refused("/polls/*", 3))
    assert not site.may_fetch("/quiz/*", NOW, EXPLORE)
    for result in article("/n/*", 50):
        site.add(result)
    assert site.may_fetch("/quiz/*", NOW, EXPLORE)


def test_a_sample_needs_no_more_evidence_than_other_members_once_its_family_is_open(desk) -> None:
    visit = desk.visit("https://news.test/short/413", why=Reason.SAMPLE.value)
    assert desk.crawl.families.standing(visit) is Standing.SAMPLE
    desk.crawl.families._add("news.test", Result(family="/short/#", named=False))
    assert desk.crawl.families.standing(visit) is Standing.MEMBER


def test_a_sample_with_too_little_evidence_is_read_again_when_its_family_opens(desk) -> None:
    families = desk.crawl.families
    visit = desk.visit("https://news.test/short/413", why=Reason.SAMPLE.value, where=Where.BODY)
    families.fetched(visit, "no_evidence")
    assert families.end(visit, has_sitemap=False).entries == {}
    families._add("news.test", Result(family="/short/#", named=False))
    batch = families.end(visit, has_sitemap=False)
    [entry] = batch.entries.values()
    assert families.end(visit, has_sitemap=False).entries, "until the links were queued"
    families.queued(batch)
    assert (entry.url, entry.data["why"]) == (visit.lease.entry.url, Reason.LIKELY_ARTICLE)
    assert families.end(visit, has_sitemap=False).entries == {}, "only once"
    visit.lease = replace(visit.lease, entry=entry)
    assert families.standing(visit) is Standing.MEMBER, "no person asked for it"


def found(*links: Link) -> Found:
    return Found(links=links, referrer="https://news.test/", depth=1)


def test_after_a_kill_other_workers_wait_for_the_same_feeds(make_desk) -> None:
    """Otherwise the lists of a site are read although its feed is about to name everything."""
    killed = make_desk()
    home = killed.visit("https://news.test/", Kind.SECTION, where=Where.SEED, why="seed")
    feed = Link(url="https://news.test/news.xml", where=Where.AUTODISCOVERY, kind=Kind.FEED)
    topic = Link(url="https://news.test/topic/economy/", where=Where.NAVIGATION, text="Economy")
    home.found.append(found(feed, topic))
    killed.settle(fill(home, status=200, links_count=2))

    other = make_desk()
    key = other.entry(topic.url).fingerprint
    page = other.visit("https://news.test/about-the-town", where=Where.ARGUMENT)
    other.settle(fill(page, status=200, links_count=0))
    assert other.context.frontier.known([key]) == {}
    read = other.visit(feed.url, Kind.FEED, where=Where.AUTODISCOVERY)
    other.settle(fill(read, status=200, links_count=0))
    assert other.context.frontier.known([key]).keys() == {key}


def test_after_a_kill_other_workers_know_which_links_wait(make_desk) -> None:
    killed = make_desk()
    page = killed.visit("https://news.test/", Kind.SECTION, where=Where.SEED, why="seed")
    jobs = [
        f"https://news.test/jobs/a-{name}-for-our-town/" for name in ("baker", "tailor", "teacher", "nurse")
    ]
    page.found.append(found(*(Link(url=url, where=Where.BODY) for url in jobs)))
    killed.settle(fill(page, status=200, links_count=4))
    assert make_desk().crawl.families.of("news.test").families["/jobs/*/"].waiting == 2


def test_an_article_that_the_sitemap_will_list_at_its_next_poll_opens_no_lists(desk) -> None:
    """A home page that is polled more often than the sitemap shows new articles first."""
    families = desk.crawl.families
    urls = [f"https://news.test/posts/the-{name}-of-the-town/" for name in ("river", "bridge", "mayor")]

    def read_sitemap(*listed: str) -> None:
        desk.clock.now += 60
        visit = desk.visit("https://news.test/map.xml", Kind.SITEMAP, where=Where.AUTODISCOVERY)
        visit.found.append(found(*(Link(url=url, where=Where.SITEMAP) for url in listed)))
        desk.settle(fill(visit, status=200, links_count=len(listed)))

    def read_article(url: str) -> None:
        desk.clock.now += 60
        visit = desk.visit(url, where=Where.BODY)
        desk.clock.now += 60
        desk.settle(fill(visit, status=200, is_article=True))

    def needs_lists() -> bool:
        return bool(families.needs_lists("news.test", has_sitemap=True))

    families._add("news.test", Result(family="/posts/*/", is_named=True))
    read_sitemap(urls[0])
    read_article(urls[1])
    assert not needs_lists()
    read_sitemap(*urls[:2])
    assert not needs_lists(), "it is listed"
    read_article(urls[2])
    read_sitemap(*urls[:2])
    assert needs_lists(), "the sitemap lacks an article"
    read_sitemap(*urls)
    assert not needs_lists(), "the sitemap was late"


def test_a_link_that_waits_again_is_stored_before_its_lease_ends(make_desk) -> None:
    killed = make_desk()
    lease = killed.visit(
        "https://news.test/jobs/a-baker/", why=Reason.LIKELY_ARTICLE.value, where=Where.BODY
    ).lease
    killed.crawl.families.leave(lease, Reason.WAITS)
    assert make_desk().crawl.families.of("news.test").families["/jobs/*/"].waiting == 1


def test_a_page_is_counted_once_although_its_visit_is_completed_again(desk, monkeypatch) -> None:
    def fault(*_: object, **__: object) -> None:
        raise DataUnavailable("the storage does not answer")

    visit = desk.visit("https://news.test/short/413", where=Where.BODY, why=Reason.SAMPLE.value)
    fill(visit, status=200, links_count=0, is_article=False, no_article="no_evidence")
    with monkeypatch.context() as patch:
        patch.setattr(desk.crawl.sites.url_learning, "fetched", fault)
        with pytest.raises(DataUnavailable):
            desk.settle(visit)
    desk.settle(visit)
    assert desk.crawl.families.of("news.test").families["/short/#"].bad == 1


def test_what_a_feed_names_is_stored_before_its_lease_ends(make_desk) -> None:
    killed = make_desk()
    feed = killed.visit("https://news.test/feed", Kind.FEED)
    feed.found.append(found(Link(url="https://news.test/posts/ice-on-the-river/", where=Where.FEED)))
    killed.settle(fill(feed, status=200, links_count=1))
    other = make_desk().crawl.families
    assert other.is_open("news.test", "https://news.test/posts/a-bridge-in-the-snow/")


def test_after_a_kill_another_worker_reads_a_sample_with_too_little_evidence_again(make_desk) -> None:
    killed = make_desk()
    visit = killed.visit("https://news.test/short/413", why=Reason.SAMPLE.value, where=Where.BODY)
    killed.settle(fill(visit, status=200, links_count=0, is_article=False, no_article="no_evidence"))
    desk = make_desk()
    desk.crawl.families._add("news.test", Result(family="/short/#", named=False))
    desk.settle(fill(desk.visit("https://news.test/feed", Kind.FEED), status=200, links_count=0))
    [known] = desk.context.frontier.known([visit.lease.entry.fingerprint]).values()
    assert known.state == "pending"


def test_samples_are_counted_only_if_links_wait(desk) -> None:
    """Two samples may be taken, but only one link of this family waits."""
    families = desk.crawl.families
    families._hold([("/@", desk.entry("https://news.test/cart", why=Reason.LIKELY_ARTICLE.value))], None)
    assert [entry.url for entry in families._released("news.test", needs_lists=False)] == [
        "https://news.test/cart"
    ]
    assert families.of("news.test").families["/@"].in_flight(desk.clock()) == 1


def of_list(path: str, *, fruitful: bool, by_subject: bool = False) -> Result:
    refusal = "" if fruitful else Reason.BARREN_LIST.value
    name = list_family(SITE + path, by_subject=by_subject)
    return Result(family=name, named=False, refusal=refusal, is_list=True)


def test_lists_are_tried_one_after_the_other() -> None:
    days, site = list_family(SITE + "/2026/11/20/"), SiteFamilies()
    assert site.may_fetch(days, NOW, EXPLORE, needs_lists=True)
    assert not site.may_fetch(days, NOW, EXPLORE), "a site without articles has no budget for needless lists"
    site.add(Result(family=days, sampled_at=NOW))
    assert not site.may_fetch(days, NOW, EXPLORE, needs_lists=True)
    assert site.may_fetch(list_family(SITE + "/tag/climate/"), NOW, EXPLORE, needs_lists=True)
    for _ in range(ENOUGH):
        site.add(of_list("/2026/11/21/", fruitful=False))
    assert site.state(days) is State.CLOSED
    assert not site.may_fetch(days, NOW, EXPLORE, needs_lists=True)
    assert site.wasted == 0, "lists do not use up the budget of pages"
    site.add(Result(family=days, sampled_at=NOW + HEAL_AFTER))
    for _ in range(ENOUGH):
        site.add(of_list("/2026/11/21/", fruitful=True))
    assert site.state(days) is State.OPEN


def test_lists_by_subject_wait_if_other_lists_lead_to_articles() -> None:
    tags = list_family(SITE + "/tag/climate/", by_subject=True)
    archive = list_family(SITE + "/en/local-news/archive/")
    bad = of_list("/tag/rivers/", fruitful=False, by_subject=True)
    site = site_with(bad, of_list("/2026/11/", fruitful=False))
    assert site.may_fetch(tags, NOW, EXPLORE, needs_lists=True)
    site.add(of_list("/page/2/", fruitful=True))
    assert not site.may_fetch(tags, NOW, EXPLORE, needs_lists=True)
    assert site.may_fetch(archive, NOW, EXPLORE, needs_lists=True)
    for _ in range(ENOUGH):
        site.add(of_list("/tag/rivers/", fruitful=True, by_subject=True))
    assert site.may_fetch(tags, NOW, EXPLORE, needs_lists=True)


def test_further_lists_by_subject_need_a_budget_if_feeds_name_the_articles() -> None:
    tags = list_family(SITE + "/tag/climate/", by_subject=True)
    months = list_family(SITE + "/2026/11/")
    bad = of_list("/tag/rivers/", fruitful=False, by_subject=True)
    site = site_with(bad, of_list("/2026/10/", fruitful=False))
    assert site.may_fetch(tags, NOW, EXPLORE, needs_lists=True)
    site.add(Result(family="/posts/*/", is_named=True))
    assert not site.may_fetch(tags, NOW, EXPLORE, needs_lists=True)
    assert site.may_fetch(months, NOW, EXPLORE, needs_lists=True)


def test_samples_without_a_result_are_no_longer_waited_for() -> None:
    site = site_with(*[Result(family="/x/*", sampled_at=NOW)] * SAMPLES)
    assert not site.may_fetch("/x/*", NOW + 60, EXPLORE)
    site.add(Result(family="/x/*", is_void=True))
    assert site.may_fetch("/x/*", NOW + 60, EXPLORE), "the page could not be fetched"
    lost = site_with(*[Result(family="/x/*", sampled_at=NOW)] * SAMPLES)
    assert lost.may_fetch("/x/*", NOW + 7200, EXPLORE), "the worker was killed"


def test_only_articles_with_evidence_of_their_own_prove_a_family() -> None:
    weak = Result(family="/w/*", named=False, is_weak=True)
    site = site_with(*[weak] * 3)
    assert site.state("/w/*") is State.UNKNOWN
    assert site.articles == 3


@given(
    st.lists(
        st.sampled_from(
            [
                *(*refused("/a/*"), *article("/a/*"), *article("/b/*", named=True)),
                *(Result(awaited=("0a", "0b")), Result(visited=("0a",)), Result(has_source=True)),
                *(Result(beside=("0d", 5.5)), Result(listed=("0d",)), Result(heard_at=7.5)),
                *(Result(family="/a/*", lacking="0c"), Result(family="/a/*", is_retried=True)),
            ]
        ),
        max_size=30,
    )
)
def test_the_stored_form_has_everything(results: list[Result]) -> None:
    site = site_with(*results)
    again = SiteFamilies.read(json.loads(json.dumps(site.plain())))
    assert again.plain() == site.plain()
    assert [again.state(name) for name in ["/a/*", "/b/*"]] == [site.state(name) for name in ["/a/*", "/b/*"]]


@pytest.mark.parametrize(
    "plain",
    [
        {"families": 3},
        {"families": {"/a": 4}},
        {"witnesses": [1]},
        {"articles": "x"},
        {"awaited": [7, "x"]},
        {},
    ],
)
def test_damaged_notes_are_read_as_far_as_possible(plain: dict[str, object]) -> None:
    site = SiteFamilies.read(plain)
    assert (site.articles, site.awaited, site.beside) == (0, (), {})


def test_the_reasons_are_sentences_with_a_command() -> None:
    site = site_with(
        *refused("/jobs/*", 2), Result(family="/jobs/*", waiting=6), Result(family="/p/*", waiting=1)
    )
    lines = sentences(rows_of("news.example", site), 1)
    assert lines[0] == (
        "6 links of /jobs/* at news.example wait: 2 of 2 tried pages had too little evidence of being "
        "articles; to fetch: scrapy add --family news.example '/jobs/*'"
    )
    assert lines[1].startswith("1 link of 1 more famil")


@pytest.mark.parametrize(
    ("family", "pattern"),
    [
        ("/posts/*#/", "^/posts/[^/]+/$"),
        ("/news/#.html", r"^/news/\d+\.html$"),
        ("/?p", None),
        ("list:a/*", None),
    ],
)
def test_a_family_can_be_written_as_a_pattern(family: str, pattern: str | None) -> None:
    assert pattern_of(family) == pattern


# --- how the articles of a site look
OWN = Evidence(
    1.0, frozenset({"metadata", "date", "date_in_metadata", "byline"}), ("main", "article", "div.body")
)
BARE = Evidence(1.0, frozenset(), ("main", "article", "div.body"))
ELSEWHERE = Evidence(1.0, frozenset({"date"}), ("main", "ul.jobs", "li"))


def test_a_page_in_the_frame_of_the_site_without_its_metadata_is_unlike_its_articles() -> None:
    witnesses = Witnesses()
    assert witnesses.agreement(OWN) == 0
    for _ in range(10):
        witnesses.add(OWN)
    assert witnesses.agreement(OWN) > 2
    assert witnesses.agreement(BARE) < -2
    assert witnesses.lacking(BARE) == ["metadata", "date", "date_in_metadata", "byline"]
    assert witnesses.lacking(ELSEWHERE)[-1] == "layout"


def test_the_layout_counts_on_a_site_without_metadata() -> None:
    plain = Evidence(0.0, frozenset({"date"}), ("body", "div.post", "p"))
    witnesses = Witnesses()
    for _ in range(10):
        witnesses.add(plain)
    assert witnesses.agreement(plain) > 1 > -1 > witnesses.agreement(ELSEWHERE)


def test_a_new_design_of_the_site_is_learned() -> None:
    witnesses = Witnesses()
    for _ in range(400):
        witnesses.add(OWN)
    for _ in range(400):
        witnesses.add(ELSEWHERE)
    assert witnesses.agreement(ELSEWHERE) > 0
    assert Witnesses.read(json.loads(json.dumps(witnesses.plain()))).agreement(OWN) == witnesses.agreement(
        OWN
    )


def test_a_new_family_has_no_fields() -> None:
    assert Family().plain() == {}
