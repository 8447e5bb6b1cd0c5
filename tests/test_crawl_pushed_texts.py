"""Crawls after the messages of a hub: the texts of a site's own feed stand in for pages that are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import pytest
from aiohttp import ClientSession

from newsbot.apps.push.protocols import sign, subscribe
from newsbot.apps.web import push as module
from newsbot.apps.web import service
from newsbot.apps.web.push import PushedTexts
from newsbot.pages.rules import RuleSet
from newsbot.sites.texts import LASTS, PUSHED, pushed_text
from newsbot.storage.sqlite import SqliteStorage
from testbed.mockserver import MockServer
from tests.crawls import World, article_html
from tests.dashboards import started
from tests.newssite import HOST, XML, with_due
from tests.pushing import US, Hub, hub_and_site, until
from tests.test_crawl_feed_content import CUT, PARAGRAPHS, feed, story, title

OTHER = "http://other.test"


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HUBS_EVERY", 0.02)


def named(body: str, hub: str, topic: str) -> str:
    """Return the feed, which names its hub and its topic."""
    links = f'<atom:link rel="hub" href="{hub}"/><atom:link rel="self" href="{topic}"/>'
    return body.replace("<channel>", f"<channel>{links}").replace(
        "<rss ", '<rss xmlns:atom="http://www.w3.org/2005/Atom" '
    )


def listing(*numbers: int, host: str = HOST) -> str:
    """Return a feed that has only headlines."""
    items = "".join(f"<item><title>{title(n)}</title><link>{host}/story/{n}</link></item>" for n in numbers)
    return f'<rss version="2.0"><channel><title>Harbour News</title>{items}</channel></rss>'


def text_of(number: int) -> str:
    return "\n".join(f"{number} {line}" for line in PARAGRAPHS)


class Pushing:
    """A hub on loopback, and a newsbot that is started for its messages."""

    def __init__(self, world: World, site: MockServer) -> None:
        self.world, self.site = world, site

    def run(
        self,
        feeds: Mapping[str, str],
        messages: Mapping[str, Iterable[str]],
        *,
        topics: Mapping[str, str] | None = None,
        forged: bool = False,
    ) -> None:
        """Crawl ``feeds`` (body by URL), which name a hub, then let the hub send ``messages`` by topic."""
        asyncio.run(self._run(feeds, messages, topics or {}, forged))

    async def _run(
        self,
        feeds: Mapping[str, str],
        messages: Mapping[str, Iterable[str]],
        topics: Mapping[str, str],
        forged: bool,
    ) -> None:
        hub = Hub()
        async with ClientSession() as client, hub_and_site(hub, {}, []) as address:
            for url, body in feeds.items():
                self.site.page(url, named(body, f"{address}/hub", topics.get(url, url)), headers=XML)
            await asyncio.to_thread(self.world.crawl)
            settings = {"NEWSBOT_DATA": str(self.world.data), "NEWSBOT_RULES": str(self.world.rules)}
            async with started(settings, allow_private=True, public_url=US) as ours:
                await until(lambda: len(hub.requests) >= len(feeds))
                for form in hub.requests:
                    await self._send(client, ours, form, messages.get(form["hub.topic"], ()), forged)

    async def _send(
        self, client: ClientSession, ours: str, form: dict[str, str], bodies: Iterable[str], forged: bool
    ) -> None:
        callback = ours + form["hub.callback"].removeprefix(US)
        query = {key: form[key] for key in ("hub.mode", "hub.topic", "hub.lease_seconds")}
        assert (await client.get(callback, params=query | {"hub.challenge": "c"})).status == 200
        for body in bodies:
            key = "guessed" if forged else form["hub.secret"]
            headers = {"X-Hub-Signature": "sha256=" + sign("sha256", key.encode(), body.encode())}
            assert (await client.post(callback, data=body.encode(), headers=headers)).status == 202


@pytest.fixture
def pushing(world: World, site: MockServer) -> Pushing:
    return Pushing(world, site)


def kept(world: World) -> set[str]:
    storage = SqliteStorage(world.data / "newsbot.db")
    try:
        return set(storage.notes.all(PUSHED))
    finally:
        storage.close()


def test_the_text_of_a_signed_message_stands_in_for_a_page_that_is_refused_or_cut(
    site: MockServer, world: World, pushing: Pushing
) -> None:
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    site.page(story(1), "forbidden", status=403)
    site.page(story(2), CUT)
    site.page(story(3), article_html(3, title=title(3)))
    site.page(story(4), "forbidden", status=403, headers={"X-Robots-Tag": "noindex"})
    pushing.run({f"{HOST}/feed.xml": listing(9)}, {f"{HOST}/feed.xml": [feed(1, 2), feed(3, 4)]})
    site.page(f"{HOST}/feed.xml", listing(1, 2, 3, 4), headers=XML)
    world.crawl()
    found = {article.canonical_url: article for article in world.articles()}
    assert found.keys() == {story(1), story(2), story(3)}
    for number in (1, 2):
        assert found[story(number)].text == text_of(number)
        assert found[story(number)].extraction["text"] == "feed"
        assert not found[story(number)].partial
    assert found[story(3)].extraction.get("text") != "feed"

    # The page replaces the text of the message.
    site.page(story(1), article_html(1, title=title(1)))
    with_due(world, story(1))
    world.crawl()
    after = {article.canonical_url: article for article in world.articles()}
    assert after[story(1)].extraction.get("text") != "feed"


def test_a_message_with_a_wrong_signature_has_no_text(
    site: MockServer, world: World, pushing: Pushing
) -> None:
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    site.page(story(1), "forbidden", status=403)
    pushing.run({f"{HOST}/feed.xml": listing(9)}, {f"{HOST}/feed.xml": [feed(1)]}, forged=True)
    site.page(f"{HOST}/feed.xml", listing(1), headers=XML)
    world.crawl()
    assert not world.articles()
    assert kept(world) == set()


def test_a_feed_of_another_site_states_no_text_of_this_site(
    site: MockServer, world: World, pushing: Pushing
) -> None:
    """A stranger's feed names this site's feed as its topic. Its hub sends texts for this site."""
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.rule("other.test", f"domain: other.test\nfeeds: {OTHER}/feed.xml\n")
    site.page(f"{HOST}/feed.xml", listing(9), headers=XML)
    site.page(story(1), "forbidden", status=403)
    pushing.run(
        {f"{OTHER}/feed.xml": listing(9, host=OTHER)},
        {f"{HOST}/feed.xml": [feed(1), feed(2).replace(HOST, OTHER)]},
        topics={f"{OTHER}/feed.xml": f"{HOST}/feed.xml"},
    )
    site.page(f"{HOST}/feed.xml", listing(1), headers=XML)
    world.crawl()
    assert not world.articles()
    assert kept(world) == {f"{OTHER}/story/2"}


def test_a_page_of_another_site_named_in_the_own_feed_gets_no_text(
    site: MockServer, world: World, pushing: Pushing
) -> None:
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.rule("other.test", f"domain: other.test\nfeeds: {OTHER}/feed.xml\n")
    site.page(f"{OTHER}/feed.xml", listing(1), headers=XML)
    message = feed(1).replace(HOST, OTHER)
    pushing.run({f"{HOST}/feed.xml": listing(9)}, {f"{HOST}/feed.xml": [message, feed(2)]})
    assert kept(world) == {story(2)}


@pytest.mark.parametrize(
    ("page", "hub", "is_exposed"),
    [
        ("https://a.test/feed", "http://hub.test/", True),
        ("https://a.test/feed", "https://hub.test/", False),
        ("http://a.test/feed", "http://hub.test/", False),
    ],
)
def test_a_secret_that_was_sent_unencrypted_does_not_prove_the_text_of_an_encrypted_feed(
    page: str, hub: str, is_exposed: bool
) -> None:
    assert subscribe(page, hub, page).is_exposed == is_exposed


# --- limits of the stored texts
def texts(storage: SqliteStorage) -> PushedTexts:
    return PushedTexts(storage.notes)


@pytest.fixture
def storage(tmp_path):
    opened = SqliteStorage(tmp_path / "newsbot.db")
    yield opened
    opened.close()


RULES = RuleSet(())


def test_texts_are_kept_for_two_days_also_by_the_next_process(storage: SqliteStorage) -> None:
    texts(storage).save({story(1): "<p>a</p>"}, "news.test", RULES, 1000.0)
    assert pushed_text(storage.notes, story(1), "news.test", 1000.0 + LASTS) == "<p>a</p>"
    assert pushed_text(storage.notes, story(1), "news.test", 1001.0 + LASTS) is None
    assert pushed_text(storage.notes, story(1), "other.test", 1000.0) is None
    texts(storage).forget_old(1000.0 + LASTS)
    assert storage.notes.all(PUSHED)
    texts(storage).forget_old(1001.0 + LASTS)
    assert not storage.notes.all(PUSHED)


def test_number_and_length_of_texts_are_limited(storage: SqliteStorage, monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_KEPT", 3)
    monkeypatch.setattr(module, "MAX_OF_MESSAGE", 2)
    some = texts(storage)
    some.save({story(0): "x" * 100_000, "http://[": "<p>a</p>"}, "news.test", RULES, 1.0)
    assert not storage.notes.all(PUSHED)
    some.save({story(n): "<p>a</p>" for n in (1, 2, 3)}, "news.test", RULES, 2.0)
    assert set(storage.notes.all(PUSHED)) == {story(1), story(2)}
    texts(storage).save({story(n): "<p>a</p>" for n in (4, 5)}, "news.test", RULES, 3.0)
    assert set(storage.notes.all(PUSHED)) == {story(2), story(4), story(5)}
