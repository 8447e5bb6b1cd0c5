"""Complete crawls of sites that show a question about cookies in place of their articles."""

from __future__ import annotations

import time
from xml.sax.saxutils import escape

from tests.crawls import article_html
from tests.newssite import HOST, XML

HEADLINES = (
    "La mairie interdit le grand viaduc aux camions",
    "Les vendanges commencent avec trois semaines d'avance",
    "Un incendie détruit la halle du marché couvert",
)
WALL = (
    "<p>Nous et nos 530 partenaires utilisons des traceurs afin de mesurer l'audience, de personnaliser les "
    "annonces et de financer la rédaction. Vous pouvez refuser, mais une partie du service sera fermée.</p>"
    "<p>Les réglages se modifient à tout moment depuis le bas de chaque page. Ils valent six mois pour ce "
    "navigateur. Sans réponse de votre part, la lecture est impossible, sauf pour les abonnés du journal.</p>"
) * 3


def wall(headline: str) -> str:
    """Return a page with the title of an article and the text of the question."""
    return f"<html lang=fr><title>{headline} - Le Journal</title><h1>Avant de continuer</h1>{WALL}</html>"


def story(number: int) -> str:
    return f"{HOST}/{number}-article.html"


def feed() -> str:
    items = "".join(
        f"<item><title>{escape(headline)}</title><link>{story(number)}</link></item>"
        for number, headline in enumerate(HEADLINES)
    )
    return f'<rss version="2.0"><channel><title>Le Journal</title>{items}</channel></rss>'


def test_a_question_about_cookies_is_stored_neither_first_nor_as_a_new_version(site, world):
    site.page(f"{HOST}/feed.xml", feed(), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.rule(
        "_defaults", "delay: 0\ninterval: {feed: 1, article: 1}\nrecrawl: {feed: fixed, article: fixed}\n"
    )
    site.page(story(0), article_html(0, title=HEADLINES[0]))
    for number in (1, 2):
        site.page(story(number), wall(HEADLINES[number]))
    crawl = world.crawl("-a", "now=yes")
    assert world.urls() == [story(0)]
    assert crawl.stat("not_article/other_text") == 2

    site.page(story(0), wall(HEADLINES[0]))
    time.sleep(1.1)
    crawl = world.crawl("-a", "now=yes")
    [article] = world.articles()
    assert (article.title, article.version) == (HEADLINES[0], 1)
    assert crawl.stat("not_article/other_text") == 1
