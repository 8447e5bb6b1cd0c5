"""One host of the demo: all of its URLs and their answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from testbed.demoweb import syndication
from testbed.demoweb.hosts import ARCHIVE, COURIER, GAZETA, HERALD, NOVOSTI, WIRE, Host
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.lists import BINARY, GONE, HUGE, MISSING, list_pages, odd_path, short_code, teaser_of
from testbed.demoweb.pages import Frame, Teaser, article_page, bare_page
from testbed.demoweb.plan import Paper, Plan, Way
from testbed.messages import Answer

HUGE_MB = 12
RELATED = 3
Route = Callable[[], Answer]
Routes = Iterator[tuple[str, Route]]

_SITEMAPS = {HERALD: "/sitemap-news.xml", ARCHIVE: "/sitemap_index.xml"}

_FEED_LINK = {
    GAZETA: ("application/rss+xml", "/rss.xml"),
    HERALD: ("application/atom+xml", "/feed/atom.xml"),
    NOVOSTI: ("application/rdf+xml", "/rss/rdf.xml"),
    WIRE: ("application/feed+json", "/feed.json"),
}


def make_routes(plan: Plan, host: Host) -> Mapping[str, Route]:
    """Return a mapping from path and query to the function that makes the answer (without noise pages)."""
    frame = _frame(host)
    return dict(
        itertools.chain(
            _robots(host),
            _lists(plan, frame),
            _articles(plan, frame),
            _sources(plan, host),
            _redirects(plan, host),
            _traps(plan, host),
        )
    )


def page(
    host: Host, kind: str, html: str, *, status: int = 200, last_modified: float | None = None
) -> Answer:
    """Return an HTML answer in the host's charset."""
    charset = f"; charset={host.charset}" if host.declare_charset else ""
    return Answer(
        status=status,
        kind=kind,
        body=html.encode(host.charset, "xmlcharrefreplace"),
        headers={"Content-Type": f"text/html{charset}"},
        last_modified=last_modified,
    )


def _frame(host: Host) -> Frame:
    language = load_language(host.languages[0])
    menu = [Teaser("/", "…")]
    if host.section is not None:
        menu += [Teaser(host.section(topic.slug, 1), topic.label) for topic in language.topics]
    mime, path = _FEED_LINK.get(host, ("", ""))
    head = f'<link rel="alternate" type="{mime}" href="{path}" title="{host.title}">' if mime else ""
    return Frame(host=host, head=head, menu=menu)


def _robots(host: Host) -> Routes:
    if host is COURIER:
        return  # has no robots.txt and answers 404: everything is allowed
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in host.disallowed or ("",))]
    if host in _SITEMAPS:
        lines.append(f"Sitemap: {host.base}{_SITEMAPS[host]}")
    text = "\n".join(lines) + "\n"
    yield "/robots.txt", _source("robots", "text/plain", text.encode)


def _lists(plan: Plan, frame: Frame) -> Routes:
    modified = plan.now.timestamp()
    for path, html in list_pages(plan, frame):
        answer = page(frame.host, "section", html, last_modified=modified)
        yield path, lambda answer=answer: answer  # type: ignore[misc]  # binds this answer


def _articles(plan: Plan, frame: Frame) -> Routes:
    papers = plan.of(frame.host)
    public = [paper for paper in papers if Way.SECTION in paper.ways] or papers
    for index, paper in enumerate(papers):
        near = [public[(index + step) % len(public)] for step in range(1, RELATED + 1)]
        related = [teaser_of(other, paper.path) for other in near if other is not paper]
        yield paper.path, _article(frame, paper, related, "article")
        for copy in paper.copies:
            bare = copy.startswith(("/amp/", "/print/"))
            yield copy, _bare(paper) if bare else _article(frame, paper, related, "copy")
    for paper in plan.forbidden:
        if paper.host is frame.host:
            yield paper.path, _article(frame, paper, (), "forbidden")


def _article(frame: Frame, paper: Paper, related: Sequence[Teaser], kind: str) -> Route:
    modified = paper.published.timestamp()
    return lambda: page(paper.host, kind, article_page(frame, paper, related), last_modified=modified)


def _bare(paper: Paper) -> Route:
    return lambda: page(paper.host, "copy", bare_page(paper), last_modified=paper.published.timestamp())


def _sources(plan: Plan, host: Host) -> Routes:
    papers = [paper for paper in plan.of(host) if Way.FEED in paper.ways]
    if host is GAZETA:
        yield "/rss.xml", _source("feed", "application/rss+xml", lambda: syndication.rss(host, papers))
    elif host is HERALD:
        listed = [paper for paper in plan.of(host) if Way.SITEMAP in paper.ways]
        yield (
            "/feed/atom.xml",
            _source("feed", "application/atom+xml", lambda: syndication.atom(host, papers, plan.now)),
        )
        yield (
            "/sitemap-news.xml",
            _source("sitemap", "text/xml", lambda: syndication.news_sitemap(host, listed)),
        )
    elif host is NOVOSTI:
        yield "/rss/rdf.xml", _source("feed", "text/xml", lambda: syndication.rdf(host, papers))
    elif host is WIRE:
        yield from _wire_sources(host, papers)
    elif host is ARCHIVE:
        yield from _archive_sources(plan, host)


def _wire_sources(host: Host, papers: Sequence[Paper]) -> Routes:
    """The agency: one valid feed, one with raw ampersands, an empty one, and one that is now an HTML page."""
    half = len(papers) // 2
    yield (
        "/feed.json",
        _source("feed", "application/feed+json", lambda: syndication.json_feed(host, papers[:half])),
    )
    careless = _source("feed", "text/xml", lambda: syndication.rss(host, papers[half:], raw_ampersands=True))
    yield "/all.rss", careless
    yield "/empty.rss", _source("feed", "application/rss+xml", bytes)
    moved = "<!DOCTYPE html><html><head><title>Feeds</title></head><body><h1>Moved</h1></body></html>"
    yield "/moved.rss", _source("feed", "text/html; charset=utf-8", moved.encode)


def _archive_sources(plan: Plan, host: Host) -> Routes:
    listed = [paper for paper in plan.of(host) if Way.SITEMAP in paper.ways]
    children = [f"{host.base}/sitemaps/recent.xml.gz", f"{host.base}/sitemaps/quiet.xml.gz"]
    index = _source("sitemap", "application/xml", lambda: syndication.sitemap_index(children, plan.now))
    yield "/sitemap_index.xml", index
    yield (
        "/sitemaps/recent.xml.gz",
        _source("sitemap", "application/gzip", lambda: syndication.sitemap(listed)),
    )
    yield "/sitemaps/quiet.xml.gz", _source("sitemap", "application/gzip", lambda: syndication.sitemap(()))


def _source(kind: str, content_type: str, make: Callable[[], bytes]) -> Route:
    return lambda: Answer(kind=kind, body=make(), headers={"Content-Type": content_type})


def _redirects(plan: Plan, host: Host) -> Routes:
    """Short links: one direct, one through a chain of three redirects, one in a loop."""
    if host is not GAZETA:
        return
    papers = plan.of(host)
    shorts = [paper for paper in papers if Way.SHORT in paper.ways] + papers[:1]
    chained = shorts[0]
    for paper in shorts:
        target = "/r/1" if paper is chained else paper.path
        yield f"/s/{short_code(paper)}", _redirect(target, 302)
    yield "/r/1", _redirect(f"{host.base}/r/2", 301)
    yield "/r/2", _redirect(chained.path, 307)
    yield "/s/loop", _redirect("/r/loop", 302)
    yield "/r/loop", _redirect("/s/loop", 302)


def _redirect(target: str, status: int) -> Route:
    return lambda: Answer(status=status, kind="redirect", headers={"Location": target})


def _traps(plan: Plan, host: Host) -> Routes:
    """URLs that look like articles but are not."""
    if host is GAZETA:
        for name in MISSING:
            yield odd_path(host, name, plan), lambda: page(host, "missing", "<h1>404</h1>", status=404)
        yield odd_path(host, GONE, plan), lambda: page(host, "missing", "<h1>410</h1>", status=410)
    if host is COURIER:
        yield odd_path(host, BINARY, plan), _binary
        yield odd_path(host, HUGE, plan), _huge


def _binary() -> Answer:
    body = b"%PDF-1.7\n" + bytes(range(256)) * 200
    return Answer(kind="binary", body=body, headers={"Content-Type": "text/html; charset=utf-8"})


def _huge() -> Answer:
    """A page that exceeds any reasonable limit; generated while it is sent, without Content-Length."""
    row = b"<p>" + b"minute by minute " * 3855 + b"</p>\n"
    pieces = itertools.chain([b"<html><body>"], itertools.repeat(row, HUGE_MB * 16))
    return Answer(kind="huge", pieces=pieces, headers={"Content-Type": "text/html"})
