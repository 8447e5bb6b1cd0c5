"""Short news articles and feeds of them, for sites whose pages a test or benchmark writes itself."""

from __future__ import annotations

SENTENCES = (
    "The council met on {n} in the old town hall and talked about the bridge over the river for hours.",
    "Residents of street number {n} had asked for it since the spring, when the water rose again.",
    "An engineer from the county, who counted {n} cracks, said that the work could not wait any longer.",
    "The money, {n} thousand in all, is to come from the reserve for roads and from a loan of the bank.",
    "A vote is planned for day {n} of the session, after the public hearing has been closed.",
)


def article_html(number: int, *, title: str | None = None, extra: str = "", head: str = "") -> str:
    """Return an article page whose text differs from the texts of all other numbers.

    A third of the words is its own. More similar texts would be compared with each other, which takes most of
    the time of a crawl of many pages.
    """
    words = [f"item{number * 7919 + step}" for step in range(90)]
    paragraphs = [sentence.format(n=number * 31 + step) for step, sentence in enumerate(SENTENCES)]
    body = "".join(f"<p>{text} {' '.join(words[i::5])}.</p>" for i, text in enumerate(paragraphs))
    title = title or f"Council story number {number} about the bridge"
    return (
        f"<html lang='en'><head><title>{title}</title>"
        f"<meta property='og:type' content='article'>{head}</head>"
        f"<body><article><h1>{title}</h1><time datetime='2026-11-20T08:00:00Z'></time>{body}</article>{extra}"
        f"</body></html>"
    )


def feed_xml(urls: list[str]) -> str:
    """Return an RSS feed of these URLs."""
    items = "".join(
        f"<item><title>Council story {n} about the bridge</title>"
        f"<link>{url.replace('&', '&amp;')}</link></item>"
        for n, url in enumerate(urls)
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>{items}</channel></rss>'
