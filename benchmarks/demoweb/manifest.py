"""What a crawl of the demo has to end with: a JSON document beside the site."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.demoweb.hosts import HOSTS
from benchmarks.demoweb.plan import Paper, Plan
from newsbot.clock import iso

TRACKING = "?utm_source=demo&utm_medium=feed&fbclid=Zx81"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One article that must be stored exactly once."""

    url: str
    title: str
    language: str
    host: str
    source: str
    """The domain of the rule, in ASCII form."""
    first_line: str
    words: int
    published: str
    addresses: list[str] = field(default_factory=list)
    """Every address on its host that holds this text, the canonical one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is in the demo. All addresses as the sites write them."""

    seed: int
    now: str
    articles: list[Expected]
    copies: list[list[str]]
    """Addresses of one host with the same text."""
    near: list[list[str]]
    """Canonical addresses of articles that tell one story in nearly the same words."""
    reprints: list[list[str]]
    """Canonical addresses, on different hosts, with the very same text."""
    templates: list[list[str]]
    """Canonical addresses of reports with the same words and other numbers: different news."""
    forbidden: list[str]
    """Articles that robots.txt disallows."""
    homes: list[str]

    def save(self, path: Path) -> None:
        """Write the manifest as JSON."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), encoding="utf-8")


def make_manifest(plan: Plan) -> Manifest:
    """Return the manifest of a plan."""
    articles = [_expected(paper) for paper in plan.papers]
    groups = [_by_text(family) for family in plan.families()]
    return Manifest(
        seed=plan.seed,
        now=iso(plan.now) or "",
        articles=articles,
        copies=[article.addresses for article in articles if len(article.addresses) > 1],
        near=[[same[0].url for same in group] for group in groups if len(group) > 1],
        reprints=[[paper.url for paper in same] for group in groups for same in group if len(same) > 1],
        templates=[[paper.url for paper in group] for group in plan.templates()],
        forbidden=[paper.url for paper in plan.forbidden],
        homes=[f"{host.base}/" for host in HOSTS],
    )


def load_manifest(path: Path) -> Manifest:
    """Read what :meth:`Manifest.save` wrote."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    data["articles"] = [Expected(**row) for row in data["articles"]]
    return Manifest(**data)


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


def _by_text(family: list[Paper]) -> list[list[Paper]]:
    texts: dict[str, list[Paper]] = {}
    for paper in family:
        texts.setdefault(paper.story.text, []).append(paper)
    return list(texts.values())
