"""Feed items whose headline the site has already listed with another URL."""

from __future__ import annotations

import pytest

from newsbot.crawl.visit import Found
from newsbot.items import Kind, Where
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.ranking.headlines import LAST, SHELF, Headlines
from newsbot.urls import fingerprint
from tests.test_links_judge import FEED, HEADLINE, entry, found, story


@pytest.fixture
def desk(desk):
    """A desk that visits a feed."""
    desk.feed = desk.visit(FEED, Kind.FEED, where=Where.SEED, depth=0)
    return desk


def listed(desk, *urls, **more):
    found_links = found(*urls, where=Where.FEED, kind=Kind.ARTICLE, referrer=FEED, **more)
    desk.crawl.links.queue(found_links, desk.feed)


def test_a_known_headline_with_another_url_is_marked_and_queued_last(desk):
    listed(desk, story(1))
    listed(desk, story(1), story(2))
    assert entry(desk, story(1)).priority > 40
    later = entry(desk, story(2))
    assert later.priority == LAST
    assert later.data["why"] == f"same_headline:{story(1)}"
    assert desk.stat("links/same_headline") == 1
    assert desk.context.storage.pages.get([fingerprint(story(2))])[fingerprint(story(2))].history[0][
        "why"
    ] == (f"same_headline:{story(1)}")


def test_a_url_of_the_same_list_is_named_and_one_without_a_record_is_not(desk):
    listed(desk, story(1), story(2))
    assert entry(desk, story(2)).data["why"] == f"same_headline:{story(1)}"
    desk.context.storage.removal.pages([fingerprint(story(1))])
    listed(desk, story(3))
    assert entry(desk, story(3)).data["why"] == "same_headline"
    assert "same_headline" not in entry(desk, story(2)).data.keys() | entry(desk, story(3)).data.keys()


def test_urls_requested_by_users_are_not_queued_last(desk):
    listed(desk, story(1))
    listed(desk, story(2), force=True)
    assert entry(desk, story(2)).priority > 40


def test_short_headlines_and_headlines_from_other_places_are_ignored(desk):
    headlines = Headlines()
    listed(desk, story(1))
    listed_entry = entry(desk, story(1))
    for changes in (
        {"where": Where.BODY.value},
        {"title": "News in brief"},
        {"title": ""},
    ):
        other = type(listed_entry)(
            url=story(2),
            fingerprint=fingerprint(story(2)),
            host=listed_entry.host,
            kind=Kind.ARTICLE,
            priority=50.0,
            data=listed_entry.data | changes,
        )
        headlines.weigh(listed_entry)
        assert headlines.weigh(other) is other


def test_equal_headlines_of_two_sites_are_independent(desk):
    headlines = Headlines()
    listed(desk, story(1))
    one = entry(desk, story(1))
    assert headlines.weigh(one) is one
    elsewhere = type(one)(
        url="https://other.test/1",
        fingerprint=fingerprint("https://other.test/1"),
        host="other.test",
        kind=Kind.ARTICLE,
        priority=50.0,
        data=one.data | {"source": "other.test", "title": HEADLINE},
    )
    assert headlines.weigh(elsewhere) is elsewhere


def test_the_memory_is_bounded_and_keeps_listed_headlines(desk):
    headlines = Headlines(places=SHELF)
    listed(desk, story(1))
    first = entry(desk, story(1))
    headlines.weigh(first)
    for number in range(50):
        headlines.weigh(
            type(first)(
                url=story(number + 10),
                fingerprint=fingerprint(story(number + 10)),
                host=first.host,
                kind=Kind.ARTICLE,
                data=first.data | {"title": f"{HEADLINE} number {number}"},
            )
        )
        headlines.weigh(first)
    assert len(headlines._table) == SHELF
    moved = type(first)(
        url=story(2), fingerprint=fingerprint(story(2)), host=first.host, kind=Kind.ARTICLE, data=first.data
    )
    assert headlines.weigh(moved).priority == LAST


LEADS = {1: "Rain in the north, 3 degrees.", 2: "Sun in the south, 20 degrees."}


@pytest.mark.parametrize(
    ("first", "second", "held_back"),
    [
        (LEADS[1], LEADS[1], True),
        (LEADS[1], "RAIN in the  north: 3 degrees", True),
        (LEADS[1], None, True),
        (None, LEADS[1], True),
        (None, None, True),
        (LEADS[1], LEADS[2], False),
    ],
)
def test_a_different_lead_is_different_news(desk, first, second, held_back):
    listed(desk, story(1), lead=first)
    listed(desk, story(2), lead=second)
    assert (entry(desk, story(2)).priority == LAST) is held_back
    assert desk.stat("links/same_headline") == held_back


def test_a_sitemap_without_leads_does_not_delay_items_with_different_leads_in_a_feed(desk):
    sitemap = found(story(1), where=Where.NEWS_SITEMAP, kind=Kind.ARTICLE, referrer=FEED)
    desk.crawl.links.queue(sitemap, desk.feed)
    listed(desk, story(1), lead=LEADS[1])
    desk.crawl.links.queue(sitemap, desk.feed)
    listed(desk, story(2), lead=LEADS[2])
    assert entry(desk, story(2)).priority > LAST
    listed(desk, story(3), lead=LEADS[2])
    assert entry(desk, story(3)).data["why"] == f"same_headline:{story(2)}"


def test_the_first_url_is_kept(desk):
    headlines = Headlines()
    listed(desk, story(1), lead=LEADS[1])
    first = entry(desk, story(1))
    moved = type(first)(
        url=story(2), fingerprint=fingerprint(story(2)), host=first.host, kind=Kind.ARTICLE, data=first.data
    )
    for _poll in range(2):
        assert headlines.weigh(first, LEADS[1]) is first
        assert headlines.weigh(moved, LEADS[1]).priority == LAST


def test_only_the_latest_urls_of_a_daily_headline_are_kept(desk):
    headlines = Headlines()
    listed(desk, story(1))
    first = entry(desk, story(1))
    for number in range(50):
        day = type(first)(
            url=story(number),
            fingerprint=fingerprint(story(number)),
            host=first.host,
            kind=Kind.ARTICLE,
            data=first.data,
        )
        assert headlines.weigh(day, f"News of day {number}") is day
    [key] = {*headlines._table._keys} - {0}
    kept = [one.fingerprint for one in headlines._table.addresses(key)]
    assert kept == [fingerprint(story(number)) for number in range(46, 50)]


RSS = """<rss version="2.0"><channel><title>T</title><link>https://news.test/</link>
<description>Of the channel</description>
{}</channel></rss>"""
ITEM = "<item><title>{}</title><link>{}</link><description>{}</description></item>"


def test_leads_are_read_from_a_feed(desk):
    items = [
        ITEM.format(HEADLINE, story(1), "&lt;img src='a.png'/&gt;Rain in &lt;b&gt;the north&lt;/b&gt;"),
        ITEM.format(HEADLINE, story(2), "Rain <![CDATA[<i>in</i> the north]]>"),
        ITEM.format(HEADLINE, story(3), "Sun in the south"),
    ]
    feed = parse_feed(RSS.format("".join(items)).encode(), FEED)
    desk.crawl.links.queue(Found(links=tuple(feed.links), referrer=FEED, depth=1), desk.feed)
    assert [entry(desk, story(number)).priority == LAST for number in (1, 2, 3)] == [False, True, False]
