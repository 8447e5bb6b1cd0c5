"""The signs of spam pages, honest pages that look alike, and crawls that note and leave out such pages."""

from __future__ import annotations

from random import Random

import pytest
from lxml.html import document_fromstring
from scrapy.settings import Settings

from newsbot.apps.spam.middleware import signs, spam_of
from testbed.mockserver import HTML
from tests.commandline import Place
from tests.crawls import article_html
from tests.newssite import HOST, serve

STORY = " ".join(
    f"On day {number} the council of the town spoke about the bridge, its price and the way to school, and "
    f"resident number {number} asked when the work would end."
    for number in range(8)
)
RUSSIAN = " ".join(
    f"На заседании номер {number} жители спросили, когда закончат ремонт, а мэр пообещал ответить к лету."
    for number in range(12)
)
HIDDEN = " ".join(f"cheap{number} pills loan casino watches{number}" for number in range(40))
HIDING = (
    "font-size:0",
    "font-size: 0px; line-height: 1",
    "color:#fff",
    "color: white; background: #ffffff",
    "color:#123456;background-color:#123456",
    "position:absolute; left:-9999px",
    "text-indent:-5000px",
    "position:absolute;top:-2000px",
    "margin-left:-9999em",
    "color:transparent",
)
VARIED = [chr(97 + number % 26) + chr(97 + number // 26) * 5 for number in range(300)]
"""Words that mean nothing."""
DRAWER = " ".join(VARIED)
PHRASES = (
    "buy cheap tickets",
    "купить диплом недорого",
    "kredit ohne schufa",
    "best casino bonus",
    "займ онлайн срочно",
)


def page(body: str) -> str:
    return f"<html><head><title>A page</title></head><body>{body}</body></html>"


def links(number: int, text: str) -> str:
    return " ".join(f'<a href="https://site{one}.example/">{text} {one}</a>' for one in range(number))


def stuffed(phrase: str) -> str:
    """Return a text with the phrase after every eighth word."""
    chance = Random(phrase)
    return " ".join(" ".join([*chance.sample(VARIED, 8), phrase]) for _ in range(30))


SPAM = {
    **{f"hidden by {how}": page(f'<p>{STORY}</p><div style="{how}">{HIDDEN}</div>') for how in HIDING},
    **{
        f"hidden in pieces by {how}": page(
            f"<p>{STORY}</p>" + "".join(f'<span style="{how}">{part} </span>' for part in HIDDEN.split())
        )
        for how in HIDING
    },
    **{f"repeated: {phrase}": page(f"<p>{stuffed(phrase)}</p>") for phrase in PHRASES},
    **{f"repeated alone: {phrase}": page(f"<p>{phrase}!</p>" * 40) for phrase in PHRASES},
    **{f"farm of {number}": page(f"<h1>Links</h1>{links(number, 'casino')}") for number in (30, 60, 200)},
    **{
        f"farm in a list of {number}": page(f"<ul><li>{links(number, 'loans')}</li></ul>")
        for number in (40, 90)
    },
}
HONEST = {
    "a story": page(f"<p>{STORY}</p>"),
    "a Russian story": page(f"<p>{RUSSIAN}</p>"),
    "a hidden menu": page(f'<div style="display:none">{HIDDEN}</div><p>{STORY}</p>'),
    "a closed dialog": page(f"<div hidden>{HIDDEN}</div><p>{STORY}</p>"),
    "a drawer": page(f'<nav style="position:fixed; left:-100%">{DRAWER}</nav><p>{STORY}</p>'),
    "a text for screen readers": page(
        f'<span style="position:absolute;left:-9999px">Skip to content</span><p>{STORY}'
    ),
    "white text on a dark box": page(f'<div style="background:#000"><p style="color:#fff">{STORY}</p></div>'),
    "an animation": page(f'<div style="opacity:0">{STORY}</div>'),
    "a table of numbers": page("<table>" + "<tr><td>0</td><td>12</td><td>points</td></tr>" * 60 + "</table>"),
    "a short page": page("<p>" + "Buy cheap tickets. " * 8 + "</p>"),
    "a round-up with links": page(f"<p>{STORY}</p>{links(40, 'source')}"),
    "a list of own pages": page(" ".join(f'<a href="/{one}">{one} {one[::-1]}</a>' for one in VARIED)),
    "a live ticker": page(
        "".join(f"<p>{n}. minute: shot by player {n}, saved by keeper {n % 7}</p>" for n in range(60))
    ),
}


@pytest.mark.parametrize("name", SPAM)
def test_spam_is_recognised(name: str) -> None:
    found = spam_of(document_fromstring(SPAM[name]), "https://news.example/1")
    assert found is not None
    assert (
        found.sign
        == {"hidden": "hidden_text", "repeated": "repetition", "farm": "link_farm"}[
            name.partition(" ")[0].rstrip(":")
        ]
    )


@pytest.mark.parametrize("name", HONEST)
def test_honest_pages_are_no_spam(name: str) -> None:
    assert spam_of(document_fromstring(HONEST[name]), "https://news.example/1") is None


@pytest.mark.parametrize(("does", "stored"), [("drop", 1), ("note", 2), ("off", 2)])
def test_a_crawl_notes_spam_pages_and_can_leave_their_articles_out(site, world, tmp_path, does, stored):
    serve(site, world, 2)
    spam = article_html(1).replace("</body>", f'<div style="font-size:0">{HIDDEN}</div></body>')
    site.page(f"{HOST}/story/1", spam.encode(), headers=HTML)
    crawl = world.crawl("-s", f"NEWSBOT_SPAM={does}")
    assert crawl.code == 0, crawl.err
    assert len(world.articles()) == stored
    (tmp_path / "commands").mkdir()
    place = Place(tmp_path / "commands")
    listed = place.run("spam", "--json", NEWSBOT_DATA=str(world.data))
    assert [(row["url"], row["sign"]) for row in listed.json] == (
        [] if does == "off" else [(f"{HOST}/story/1", "hidden_text")]
    )
    if does == "note":
        with world.storage() as storage:
            (sign,) = signs(Settings(), storage)
        assert sign.text.startswith("news.test: 1 page with a sign of spam")
