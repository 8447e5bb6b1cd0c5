"""The expected result of a crawl of the demo."""

from __future__ import annotations

from newsbot.apps.demo.server import TRACKING, Expected, Manifest
from newsbot.clock import iso
from testbed.demoweb.hosts import HOSTS
from testbed.demoweb.plan import Paper, Plan


def make_manifest(plan: Plan) -> Manifest:
    """Return the manifest of a plan."""
    articles = [_expected(paper) for paper in plan.papers]
    return Manifest(
        seed=plan.seed,
        now=iso(plan.now) or "",
        articles=articles,
        families=[[paper.url for paper in family] for family in plan.families()],
        templates=[[paper.url for paper in group] for group in plan.templates()],
        forbidden=[paper.url for paper in plan.forbidden],
        homes=[f"{host.base}/" for host in HOSTS],
    )


def _expected(paper: Paper) -> Expected:
    tracked = [paper.url + TRACKING] if "?" not in paper.path else []
    return Expected(
        url=paper.url,
        title=paper.story.title,
        language=paper.story.language,
        host=paper.host.name,
        source=paper.host.source,
        first_line=paper.story.paragraphs[0],
        words=len(paper.story.text.split()),
        published=iso(paper.published) or "",
        addresses=[paper.url, *tracked, *(paper.host.base + path for path in paper.copies)],
    )
