"""A small news site for complete crawls: stories, a feed of them, a sitemap."""

from __future__ import annotations

import sqlite3

from newsbot.urls import canonicalize, fingerprint
from tests.crawls import article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HTML = {"Content-Type": "text/html"}
HOST = "http://news.test"


def serve(site, world, number, rule="", *, host="news.test", first=0):
    urls = [f"http://{host}/story/{n}" for n in range(number)]
    for n, url in enumerate(urls):
        site.page(url, article_html(first + n))
    site.page(f"http://{host}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n{rule}")
    return urls


def feed_of(site, world, *urls):
    site.page(f"{HOST}/feed.xml", feed_xml(list(urls)), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")


def sitemap_xml(pages, tag="url"):
    rows = "".join(
        f"<{tag}><loc>{url}</loc>{f'<lastmod>{when}</lastmod>' if when else ''}</{tag}>"
        for url, when in pages.items()
    )
    root = "urlset" if tag == "url" else "sitemapindex"
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</{root}>'


def ended(process, seconds=40):
    try:
        return process.communicate(timeout=seconds)
    except BaseException:
        process.kill()
        process.communicate()
        raise


def with_due(world, url):
    """Make a page due now, as if its interval were shorter."""
    db = sqlite3.connect(world.data / "newsbot.db")
    db.execute(
        "UPDATE frontier_urls SET at = 1 WHERE state = 'done' AND fingerprint = ?",
        (fingerprint(canonicalize(url)),),
    )
    db.commit()
    db.close()
