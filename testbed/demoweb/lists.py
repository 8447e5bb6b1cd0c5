"""Fronts, sections and the archive of the demo's hosts, and the links on each page."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from testbed.demoweb.hosts import ARCHIVE, COURIER, GAZETA, HERALD, NOVOSTI, Host
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.pages import Frame, Teaser, list_page
from testbed.demoweb.plan import AMP_LINKS, PER_FEED, Paper, Plan, Way

PER_PAGE = 15
MISSING = ("removed-story-90001", "withdrawn-report-90002", "typing-error-90003")
GONE = "deleted-on-request-90004"
BINARY = "annual-report-90005"
HUGE = "live-ticker-90006"


def list_pages(plan: Plan, frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield (path, HTML) of every page of a host that lists articles."""
    host = frame.host
    papers = [paper for paper in plan.of(host) if Way.SECTION in paper.ways]
    newest = [teaser_of(paper, "/") for paper in papers[:PER_FEED]]
    more = [Teaser("/archive/", "Archive")] if host is ARCHIVE else []
    yield "/", list_page(frame, "/", host.title, [*newest, *_specials(plan, host)], more)
    if host.section is not None:
        for topic in load_language(host.languages[0]).topics:
            mine = [paper for paper in papers if topic.slug in _topics(paper)]
            yield from _section(frame, topic.slug, topic.label, mine)
    if host is ARCHIVE:
        yield from _archive(frame, [paper for paper in plan.of(host) if Way.ARCHIVE in paper.ways])


def teaser_of(paper: Paper, page: str) -> Teaser:
    """Return the teaser of an article. One host adds a session id to its links, a new one on each page."""
    href = paper.path
    if paper.host is NOVOSTI:
        href += "?sid=" + hashlib.sha256(page.encode()).hexdigest()[:32]
    return Teaser(href, paper.story.title, paper.story.summary)


def short_code(paper: Paper) -> str:
    """Return the word after ``/s/`` in the short link of an article."""
    return f"x{paper.number:x}"


def odd_path(host: Host, name: str, plan: Plan) -> str:
    """Return an address that looks like an article of the host."""
    if host is GAZETA:
        return f"/sport/{plan.now:%Y/%m/%d}/{name}/"
    return f"/sport/{name}.html"


def _topics(paper: Paper) -> set[str]:
    return (
        {paper.story.topic.slug, "city"}
        if paper.copies and paper.host is COURIER
        else {paper.story.topic.slug}
    )


def _specials(plan: Plan, host: Host) -> list[Teaser]:
    """Return the other links of a front page, such as short links and traps."""
    papers = plan.of(host)
    odd: list[Teaser] = [teaser_of(paper, "/") for paper in plan.forbidden if paper.host is host]
    if host is GAZETA:
        shorts = [paper for paper in papers if Way.SHORT in paper.ways] + papers[:1]
        odd += [Teaser(f"/s/{short_code(paper)}", paper.story.title) for paper in shorts]
        odd += [Teaser("/s/loop", "Подробности")]
        odd += [Teaser(odd_path(host, name, plan), name) for name in (*MISSING, GONE)]
    if host is HERALD:
        odd += [Teaser(paper.copies[0], "AMP") for paper in papers[:AMP_LINKS]]
    if host is COURIER:
        odd += [Teaser(odd_path(host, name, plan), name.replace("-", " ")) for name in (BINARY, HUGE)]
        odd += [Teaser(copy, paper.story.title) for paper in papers for copy in paper.copies]
    return odd


def _section(frame: Frame, slug: str, label: str, papers: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    host = frame.host
    assert host.section is not None  # called only for hosts with sections
    count = max(1, -(-len(papers) // PER_PAGE))
    pages = [Teaser(host.section(slug, number), str(number)) for number in range(1, count + 1)]
    for number, page in enumerate(pages):
        part = papers[number * PER_PAGE : (number + 1) * PER_PAGE]
        yield (
            page.href,
            list_page(frame, page.href, label, [teaser_of(paper, page.href) for paper in part], pages),
        )


def _archive(frame: Frame, papers: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    """Yield the pages of an archive: years, months, days, articles."""
    below: defaultdict[str, dict[str, str]] = defaultdict(dict)
    by_day: defaultdict[str, list[Teaser]] = defaultdict(list)
    for paper in papers:
        path = "/archive/"
        for part in (f"{paper.published:%Y}", f"{paper.published:%m}", f"{paper.published:%d}"):
            below[path][f"{path}{part}/"] = part
            path = f"{path}{part}/"
        by_day[path].append(teaser_of(paper, path))
    for path, children in below.items():
        links = [Teaser(href, text) for href, text in sorted(children.items())]
        yield path, list_page(frame, path, f"Archive {path[9:]}", (), links)
    for path, teasers in by_day.items():
        yield path, list_page(frame, path, f"Archive {path[9:]}", teasers)
