"""The webs on which crawls are measured. They have many hosts, and all pages are made before the start."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.site import answer
from testbed.demoweb.plan import make_plan
from testbed.demoweb.web import DemoWeb
from testbed.messages import Request

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BRANCHES = 4
"""Each page of the tree links to this number of new pages, and to the same number of known pages."""
FILLING = (
    "<p>" + "What the council decided on the bridge stands in the minutes of its session. " * 60 + "</p>"
)


@dataclass(slots=True)
class Web:
    """``pages``: URL -> response; ``starts``: start URLs of a crawl; ``wanted``: the pages it must fetch."""

    pages: dict[str, bytes] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)


def tree(pages: int, hosts: int) -> Web:
    """Return a tree of pages of 5 kB on each host, with links to the children and to the first pages."""
    web = Web()
    each = pages // hosts
    for host in range(hosts):
        urls = [f"http://site{host}.example/news/2026/11/20/what-happened-{n}.html" for n in range(each)]
        for number, url in enumerate(urls):
            children = urls[BRANCHES * number + 1 : BRANCHES * (number + 1) + 1]
            links = "".join(f'<a href="{other}">x</a>' for other in (*children, *urls[:BRANCHES]))
            web.pages[url] = answer(f"<html><body>{FILLING}{links}</body></html>".encode())
        web.starts.append(urls[0])
        web.wanted.update(urls)
    return web


def papers(articles: int, hosts: int) -> Web:
    """Return the demo's articles (6.5 kB, two languages, some syndicated) on many hosts, one feed each."""
    web = Web()
    plan = make_plan(articles, now=NOW)
    demo = DemoWeb(plan)
    sound = [paper for paper in plan.papers if not paper.fault]
    for number, paper in enumerate(sound):
        request = Request("GET", paper.host.ascii, paper.path, {})
        found = demo(request)
        if found.status != 200 or f"http://{request.host}{request.path}" in web.pages:
            continue
        host = f"site{number % hosts}.example"
        url = f"http://{host}{request.path}"
        web.pages[url] = answer(found.body.replace(request.host.encode(), host.encode()))
    _list_in_feeds(web)
    return web


def saved(folder: Path, articles: int, hosts: int) -> Web:
    """Return real pages, saved as ``*/html/*.html.gz`` with an ``index.jsonl`` in each folder above them.

    They are served on many hosts, with one feed for each host. The order is shuffled, so that each host has
    pages of many sites.
    """
    web = Web()
    rows = [
        index.parent / json.loads(line)["html"]
        for index in sorted(folder.glob("*/index.jsonl"))
        for line in index.read_text(encoding="utf8").splitlines()
    ]
    # Sorting by the reversed names gives the same shuffled order in each run.
    for number, file in enumerate(sorted(rows, key=lambda row: row.name[::-1])[:articles]):
        url = f"http://site{number % hosts}.example/news/2026/11/20/what-happened-there-{number}.html"
        web.pages[url] = answer(gzip.decompress(file.read_bytes()))
    _list_in_feeds(web)
    return web


def _list_in_feeds(web: Web) -> None:
    """Give each host a feed of all its pages. The crawl starts with the feeds."""
    feeds: dict[str, list[str]] = {}
    for url in web.pages:
        feeds.setdefault(url.split("/")[2], []).append(url)
    web.wanted.update(web.pages)
    for host, urls in feeds.items():
        items = "".join(
            f"<item><title>{n}</title><link>{url.replace('&', '&amp;')}</link></item>"
            for n, url in enumerate(urls)
        )
        body = f"<rss version='2.0'><channel><title>x</title>{items}</channel></rss>".encode()
        web.pages[f"http://{host}/feed.xml"] = answer(body, "application/rss+xml")
        web.starts.append(f"http://{host}/feed.xml")


def write_rules(folder: Path, web: Web, *, follow: str, delay: float = 0, concurrency: int = 64) -> None:
    """Write a rule for each host of the web."""
    folder.mkdir(parents=True)
    defaults = f"delay: {delay}\nconcurrency: {concurrency}\n"
    (folder / "_defaults.yaml").write_text(defaults, encoding="utf8")
    for url in web.starts:
        host = url.split("/")[2]
        feeds = f"feeds: {url}\n" if follow == "feeds" else ""
        rule = f"domain: {host}\n{feeds}follow: [{follow}]\n"
        (folder / f"{host}.yaml").write_text(rule, encoding="utf8")
