"""Sites can see who crawls them; each start without a contact address prints a reminder."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from newsbot import __version__
from newsbot.config.settings import ASK_FOR_CONTACT, introduce, user_agent
from testbed.messages import Answer, Request
from testbed.mockserver import HTML, MockServer
from tests.crawls import World, article_html


@pytest.mark.parametrize(
    ("contact", "agent"),
    [
        ("", f"newsbot/{__version__}"),
        ("  ", f"newsbot/{__version__}"),
        ("https://me.test/bot", f"newsbot/{__version__} (+https://me.test/bot)"),
        ("me@me.test\r\nX: y", f"newsbot/{__version__} (+me@me.testX: y)"),
        ("a) evil (b", f"newsbot/{__version__} (+a evil b)"),
        ("редакция me@me.test", f"newsbot/{__version__} (+me@me.test)"),
    ],
)
def test_the_user_agent_contains_the_contact(contact: str, agent: str) -> None:
    assert user_agent(contact) == agent


def test_a_user_agent_that_was_set_is_not_changed() -> None:
    settings = Settings({"NEWSBOT_CONTACT": "me@me.test"})
    settings.set("USER_AGENT", "mine/1", priority="cmdline")
    introduce(settings)
    assert settings["USER_AGENT"] == "mine/1"


@pytest.mark.parametrize("contact", ["", "me@me.test"])
def test_a_crawl_sends_the_contact_or_reminds_to_set_it(world: World, site: MockServer, contact: str) -> None:
    agents: set[str | None] = set()

    def answer(request: Request) -> Answer:
        agents.add({name.lower(): value for name, value in request.headers.items()}.get("user-agent"))
        return Answer(body=article_html(1).encode(), headers=HTML)

    page = site.page("http://news.test/2024/05/03/bridge.html", answer)
    world.rule("news.test")
    options = ("-s", f"NEWSBOT_CONTACT={contact}") if contact else ()
    done = world.crawl("-a", f"url={page}", *options)
    assert done.code == 0, done.err
    assert done.err.count(ASK_FOR_CONTACT) == (not contact)
    assert agents == {user_agent(contact)}
