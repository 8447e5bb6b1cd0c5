"""Feeds and sitemaps of the demo, valid and broken."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from newsbot.apps.demo.server import TRACKING
from newsbot.clock import iso
from testbed.demoweb.hosts import Host
from testbed.demoweb.plan import Paper

TRACKED = 3
"""Number of items of a feed whose links have tracking parameters."""


def rss(host: Host, papers: Sequence[Paper], *, raw_ampersands: bool = False) -> bytes:
    """Return RSS 2.0; with ``raw_ampersands`` it is not well-formed XML."""
    items = "".join(
        f"<item><title>{escape(paper.story.title)}</title>"
        f"<link>{_link(paper, index) if raw_ampersands else escape(_link(paper, index))}</link>"
        f'<guid isPermaLink="false">{host.domain}-{paper.number}</guid>'
        f"<pubDate>{format_datetime(paper.published)}</pubDate>"
        f"<category>{escape(paper.story.topic.label)}</category>"
        f"<description>{escape(paper.story.summary)}</description></item>\n"
        for index, paper in enumerate(papers)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>{escape(host.title)}</title><link>{host.base}/</link><description>news</description>"
        f"<ttl>10</ttl>\n{items}</channel></rss>\n"
    ).encode()


def atom(host: Host, papers: Sequence[Paper], now: datetime) -> bytes:
    """Return Atom (RFC 4287)."""
    entries = "".join(
        f"<entry><title>{escape(paper.story.title)}</title><id>{escape(paper.url)}</id>"
        f'<link rel="alternate" type="text/html" href="{escape(_link(paper, index))}"/>'
        f"<published>{paper.published.isoformat()}</published><updated>{paper.published.isoformat()}</updated>"
        f"<author><name>{escape(paper.story.author)}</name></author>"
        f"<summary>{escape(paper.story.summary)}</summary></entry>\n"
        for index, paper in enumerate(papers)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>{escape(host.title)}</title><id>{host.base}/</id><updated>{iso(now)}</updated>"
        f'<link rel="self" href="{host.base}/feed/atom.xml"/>\n{entries}</feed>\n'
    ).encode()


def rdf(host: Host, papers: Sequence[Paper]) -> bytes:
    """Return RSS 1.0 (RDF) in the host's charset; URLs in ASCII form."""
    base = f"http://{host.ascii}"
    rows = "".join(f'<rdf:li rdf:resource="{escape(base + paper.path)}"/>' for paper in papers)
    items = "".join(
        f'<item rdf:about="{escape(base + paper.path)}"><title>{escape(paper.story.title)}</title>'
        f"<link>{escape(base + paper.path)}</link><dc:date>{paper.published.isoformat()}</dc:date>"
        f"<description>{escape(paper.story.summary)}</description></item>\n"
        for paper in papers
    )
    return (
        f'<?xml version="1.0" encoding="{host.charset}"?>\n<rdf:RDF xmlns="http://purl.org/rss/1.0/" '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<channel rdf:about="{base}/rss/rdf.xml"><title>{escape(host.title)}</title><link>{base}/</link>'
        f"<description>news</description><items><rdf:Seq>{rows}</rdf:Seq></items></channel>\n{items}</rdf:RDF>\n"
    ).encode(host.charset, "xmlcharrefreplace")


def json_feed(host: Host, papers: Sequence[Paper]) -> bytes:
    """Return a JSON Feed 1.1."""
    items = [
        {
            "id": str(paper.number),
            "url": paper.url,
            "title": paper.story.title,
            "summary": paper.story.summary,
            "date_published": paper.published.isoformat(),
            "language": paper.story.language,
        }
        for paper in papers
    ]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": host.title,
        "home_page_url": f"{host.base}/",
        "items": items,
    }
    return json.dumps(feed, ensure_ascii=False).encode()


def news_sitemap(host: Host, papers: Sequence[Paper]) -> bytes:
    """Return a news sitemap (sitemaps.org with Google's news extension)."""
    rows = "".join(
        f"<url><loc>{escape(paper.url)}</loc><news:news><news:publication><news:name>{escape(host.title)}</news:name>"
        f"<news:language>{paper.story.language}</news:language></news:publication>"
        f"<news:publication_date>{paper.published.isoformat()}</news:publication_date>"
        f"<news:title>{escape(paper.story.title)}</news:title></news:news></url>\n"
        for paper in papers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">\n{rows}</urlset>\n'
    ).encode()


def sitemap(papers: Sequence[Paper]) -> bytes:
    """Return a plain sitemap, compressed with gzip."""
    rows = "".join(
        f"<url><loc>{escape(paper.url)}</loc><lastmod>{paper.published.isoformat()}</lastmod></url>\n"
        for paper in papers
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    )
    return gzip.compress(text.encode(), mtime=0)


def sitemap_index(children: Sequence[str], now: datetime) -> bytes:
    """Return an index of sitemaps."""
    rows = "".join(
        f"<sitemap><loc>{escape(url)}</loc><lastmod>{iso(now)}</lastmod></sitemap>\n" for url in children
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</sitemapindex>\n'
    ).encode()


def _link(paper: Paper, index: int) -> str:
    return paper.url + TRACKING if index < TRACKED and "?" not in paper.path else paper.url
