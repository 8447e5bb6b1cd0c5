"""Short names for XML elements and attributes, whatever prefixes a document uses.

``title`` is RSS's, Atom's and the sitemap's own; ``dc:date``, ``news:title`` belong to a known
extension; names of an unknown one begin with ``x:`` and are passed over. All are lower-case,
for feeds write ``<LINK>`` and ``<pubdate>`` too.
"""

from __future__ import annotations

from functools import lru_cache

_SHORT = {
    "http://www.w3.org/xml/1998/namespace": "xml",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss2": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.org/atom/ns#": "",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
    "http://www.google.com/schemas/sitemap/0.84": "",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/elements/1.0": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.pheedo.com/namespace/pheedo": "pheedo",
    "http://search.yahoo.com/mrss": "media",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
    "http://www.w3.org/1999/xhtml": "html",
}
_USUAL_PREFIXES = {
    "atom": "", "atom10": "", "a10": "", "a": "", "rss": "", "sm": "", "ns": "", "xml": "xml", "rdf": "rdf",
    "dc": "dc", "dcterms": "dcterms", "sy": "sy", "content": "content", "feedburner": "feedburner",
    "pheedo": "pheedo", "media": "media", "news": "news", "xhtml": "html",
}  # fmt: skip
"""What a prefix means that the document forgot to declare."""


@lru_cache(maxsize=2048)
def short_name(uri: str, local: str, prefix: str) -> str:
    """Return the short name of an element; an unknown default namespace counts as the document's own."""
    short = _SHORT.get(uri.lower().replace("https://", "http://").rstrip("/")) if uri else None
    if short is None:
        if not prefix:
            short = ""
        elif uri:
            short = "x"
        else:
            short = _USUAL_PREFIXES.get(prefix.lower(), "x")
    return f"{short}:{local.lower()}" if short else local.lower()
