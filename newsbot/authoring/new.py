"""``scrapy rules new``: makes a rule from the live site, by a small crawl into a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from newsbot.authoring.cases import write_case
from newsbot.authoring.learn import Learned, as_lines, examples_of, judge_learning, quoted
from newsbot.authoring.selector_proposals import Sample, propose
from newsbot.authoring.writing import rule_path, write_new
from newsbot.backends import open_storage, rules_folder
from newsbot.cli.command import Call
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError, DataUnavailable, NotAnArticle
from newsbot.items import Kind
from newsbot.rules.examples import MIN_EXAMPLES
from newsbot.rules.load import DEFAULTS, read_files
from newsbot.search.query import ArticleFilter
from newsbot.sites.statistics import percent
from newsbot.storage.base import Storage
from newsbot.storage.sources import SourceRecord
from newsbot.urls import canonicalize, fingerprint

ARTICLES, SECONDS = 30, 300
"""Defaults of the command."""
STDERR = 2
"""The file descriptor for the crawl's own output: stdout is for the rule."""
_MAX_SECTIONS = 10
_MAX_DELAY = 30.0
_KEYS = ((Kind.FEED, "feeds"), (Kind.SITEMAP, "sitemaps"), (Kind.SECTION, "sections"))


@dataclass(slots=True)
class Seen:
    """The results of a small crawl of a site."""

    articles: int = 0
    language: str | None = None
    sources: list[SourceRecord] = field(default_factory=list)
    learned: Learned | None = None
    delay: float | None = None
    samples: list[Sample] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)
    fault: str | None = None
    """The last one, if there was any."""


def new(call: Call) -> int:
    """Crawl a few articles of a site and write its rule and one saved page."""
    folder = rules_folder(call.settings)
    path = rule_path(folder, call.options.domain)
    if path.exists() and not call.options.print_only:
        raise ArgumentError(f"{path} exists; edit it, or use --print to see what a new one would say")
    domain = path.stem
    most = counted(call.options.articles, "article")
    call.note(f"{domain}: a small crawl beside your data, up to {most}, {call.options.seconds} s")
    with tempfile.TemporaryDirectory(prefix="newsbot-new-") as place:
        code = _crawl(Path(place), domain, path.parent / DEFAULTS, call)
        seen = _look(Path(place), domain)
        if not seen.articles:
            raise DataUnavailable(
                f"{domain}: no article was found ({_why_none(seen, code)}); "
                f"look closer with: scrapy crawl news -a url=https://{domain}/ -L DEBUG"
            )
        text = as_rule(domain, seen)
        case = None
        if not call.options.print_only:
            write_new(path, text)
            case = _save(seen, path, call.options.fixtures or path.parent.parent / "tests" / "sites")
    if call.json:
        written = {"file": str(path), "rule": text, "case": case and str(case)}
        call.document({**written, "articles": seen.articles, **_found(seen)})
        return 0
    call.text(text, whole=True)
    if case is not None:
        call.note(f"written to {path}; a saved page to test it by: {case}")
        call.note(f"try it: scrapy rules test {domain}; scrapy crawl news -a sites={domain}")
    return 0


def _found(seen: Seen) -> dict[str, Any]:
    """Return for ``--json`` what a person needs to judge the rule: the sources, and some of the articles."""
    sources = [{"kind": one.kind.value, "url": one.url, "new_links": one.new_links} for one in seen.sources]
    names = ("url", "title", "published_at")
    samples = [{name: item.get(name) for name in names} for _, item in seen.samples]
    return {"sources": sources, "samples": samples}


def as_rule(domain: str, seen: Seen) -> str:
    """Return the rule file, with comments that say where each line came from."""
    lines = [f"# made from {counted(seen.articles, 'article')} of the live site", f"domain: {domain}"]
    if seen.language:
        lines.append(f"language: {quoted(seen.language)}  # of most articles")
    for kind, key in _KEYS:
        found = [one for one in seen.sources if one.kind == kind]
        if kind is Kind.SECTION:
            found = sorted(found, key=lambda one: -one.new_links)[:_MAX_SECTIONS]
        if found:
            lines.append(f"{key}:")
            lines += [f"  - {quoted(one.url)}" for one in found]
    if seen.learned is not None and seen.learned.rule.patterns:
        held_out = seen.learned.patterns
        lines.append(
            f"# on links held out: precision {percent(held_out.precision)}, recall {percent(held_out.recall)}"
        )
        lines += [*as_lines(seen.learned), "learn: true  # addresses of other forms may be articles too"]
    else:
        lines.append("# too few links for patterns: the crawler learns them, scrapy rules learn shows them")
    if seen.delay is not None:
        lines.append(f"delay: {seen.delay:g}  # as robots.txt asks")
    proposed = propose(seen.samples)
    if proposed:
        lines += [
            f"# These hold on {counted(len(seen.samples), 'page')}. The generic method reads them without;",
            "# take the marks off if a field comes out wrong.",
            "# extract:",
            *(f"#   {name}: {quoted(selector)}" for name, selector in proposed.items()),
        ]
    return "\n".join(lines) + "\n"


def _why_none(seen: Seen, code: int) -> str:
    if code:
        return f"the crawl ended with exit code {code}"
    return f"last fault: {seen.fault}" if seen.fault else "no page of it looked like one"


def _crawl(place: Path, domain: str, defaults: Path, call: Call) -> int:
    rules = place / "rules"
    rules.mkdir()
    (rules / f"{domain}.yaml").write_text(f"domain: {domain}\n", encoding="utf-8")
    if defaults.is_file():
        shutil.copy(defaults, rules / DEFAULTS)
    environment = {**os.environ, "NEWSBOT_DATA": str(place / "data"), "NEWSBOT_RULES": str(rules)}
    for name in ("REDIS_URL", "MONGO_URI"):
        environment.pop(name, None)  # what is tried out stays here
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "news", "-a", f"sites={domain}"),
        *("-a", f"max_articles={call.options.articles}", "-s", f"NEWSBOT_SAMPLES={place / 'samples'}"),
        *("-s", f"CLOSESPIDER_TIMEOUT={call.options.seconds}", "-s", "NEWSBOT_TRIAL=1"),
        *("-s", f"NEWSBOT_ALLOW_PRIVATE={int(call.settings.getbool('NEWSBOT_ALLOW_PRIVATE'))}"),
    ]
    return subprocess.run(command, env=environment, check=False, stdout=STDERR).returncode  # noqa: S603  # our own


def _look(place: Path, domain: str) -> Seen:
    seen = Seen()
    if not (place / "data" / "newsbot.db").exists():
        return seen
    with closing(open_storage({"NEWSBOT_DATA": str(place / "data")})) as storage:
        languages = Counter(
            article.language
            for article in storage.articles.iter(ArticleFilter(source=domain))
            if article.language
        )
        seen.articles = storage.articles.count(ArticleFilter(source=domain))
        seen.language = languages.most_common(1)[0][0] if languages else None
        seen.sources = _useful(storage, domain)
        labelled = examples_of(storage, domain)
        site = storage.sites.all().get(domain)
        seen.fault = None if site is None else site.last_error
    articles = sum(label for _, label in labelled)
    if min(articles, len(labelled) - articles) >= MIN_EXAMPLES:
        seen.learned = judge_learning(labelled)
    for page, meta in _samples(place / "samples"):
        seen.samples.append((page, meta["item"]))
        seen.metas.append(meta)
    told = place / "samples" / "crawl.json"
    delays = json.loads(told.read_text())["crawl_delays"] if told.exists() else {}
    seen.delay = min(max(delays.values()), _MAX_DELAY) if delays else None
    return seen


def _useful(storage: Storage, domain: str) -> list[SourceRecord]:
    """Return feeds and sitemaps with links, and sections that led to new ones."""
    found = [one for one in storage.sources.all(domain) if one.polls and not one.failures]
    names = {one.url: fingerprint(canonicalize(one.url)) for one in found}
    pages = storage.pages.get(list(names.values()))
    links = {url: pages[name].links_count or 0 for url, name in names.items() if name in pages}
    return [one for one in found if one.new_links or (one.kind != Kind.SECTION and links.get(one.url))]


def _samples(folder: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for page in sorted(folder.glob("*.html")):
        yield page.read_bytes(), json.loads(page.with_suffix(".json").read_text())


def _save(seen: Seen, path: Path, folder: Path) -> Path | None:
    """Save the first page that the new rule can read; None if there is none."""
    (rule,) = read_files([path], path.parent).rules
    for (page, _), meta in zip(seen.samples, seen.metas, strict=True):
        try:
            return write_case(folder / path.stem / "first", page, meta, rule)
        except NotAnArticle:
            continue
        except OSError as error:
            raise ArgumentError(f"{folder}: cannot be written ({error.strerror})") from error
    return None
