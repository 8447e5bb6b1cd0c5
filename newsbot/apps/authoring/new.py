"""``scrapy rules new``: creates a rule from a small crawl of the live site.

The crawl writes its data into a temporary folder. The command also proposes CSS selectors for the title and
the text. It proposes only selectors that work on all saved pages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree
from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from newsbot.apps.authoring import learn
from newsbot.apps.authoring.samples import write_case
from newsbot.apps.numbers import percent
from newsbot.apps.operations.verdict import in_words
from newsbot.backends import open_storage, rules_folder
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError, DataUnavailable, NotAnArticle
from newsbot.items import Article, ArticleFilter, Kind
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.rules.learn import MIN_EXAMPLES
from newsbot.pages.rules.load import DEFAULTS, read_files
from newsbot.storage.base import SourceRecord, Storage
from newsbot.urls import canonicalize, fingerprint

Sample = tuple[bytes, dict[str, Any]]
"""The body of a page, and its JSON file, with the ``item`` that was read from the page."""

_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{2,40}")
"""Matches a class or an id that may be the same on other pages.

Names with digits do not match, because they are often generated for one page.
"""
_FIRST = 50
"""Number of characters at the start of a paragraph that are compared."""
_ENOUGH = 0.8
"""Minimum share of an article's paragraphs that an element must contain."""
_MAX_ELEMENTS = 3000
"""Maximum number of elements of a page that are examined."""


def propose(samples: Sequence[Sample]) -> dict[str, str]:
    """Return CSS selectors that work on all pages, by the name of the field (``title`` and ``text``).

    A field is missing if there is no selector that works. At least two pages are needed, because a selector
    from a single page may work only on that page.
    """
    trees = []
    for page, meta in samples:
        try:
            trees.append((parse_html(page, None), meta["item"]))
        except NotAnArticle:
            continue
    if len(trees) < 2:
        return {}
    found = {}
    for name, selectors in (("title", _of_title), ("text", _of_text)):
        for selector in selectors(*trees[0]):
            if all(_holds(name, selector, tree, item) for tree, item in trees):
                found[name] = selector
                break
    return found


def _of_title(tree: HtmlElement, item: dict[str, Any]) -> Iterator[str]:
    """Yield selectors for the headings whose text is the title."""
    for element in tree.iter("h1", "h2"):
        if _plain(element) == _squeeze(item["title"]):
            yield from _names(element)


def _of_text(tree: HtmlElement, item: dict[str, Any]) -> Iterator[str]:
    """Yield selectors for the elements that contain the article's text and little else."""
    holders = [element for element in _elements(tree) if _covers(element, item)]
    for element in reversed(holders):  # innermost elements first
        yield from _names(element)


def _holds(field: str, selector: str, tree: HtmlElement, item: dict[str, Any]) -> bool:
    """Return True if a selector finds exactly one element of a page, and this element is the right one."""
    try:
        # With this translator, names of elements and attributes ignore case, as in HTML.
        found = CSSSelector(selector, translator="html")(tree)
    except etree.XPathError:
        return False
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], HtmlElement):
        return False
    return _plain(found[0]) == _squeeze(item["title"]) if field == "title" else _covers(found[0], item)


def _covers(element: HtmlElement, item: dict[str, Any]) -> bool:
    """Return True if an element contains most paragraphs of the article and not much more.

    The beginnings of paragraphs are compared, because extraction may have removed parts of them.
    """
    text = _plain(element)
    starts = [_squeeze(part)[:_FIRST] for part in item["text"].splitlines() if part.strip()]
    held = sum(start in text for start in starts)
    return (
        # The length is limited, because <body> contains all paragraphs too.
        bool(starts) and held >= _ENOUGH * len(starts) and len(text) < 2 * len(_squeeze(item["text"])) + 200
    )


def _elements(tree: HtmlElement) -> list[HtmlElement]:
    found = []
    for element in tree.iter("article", "div", "section", "main", "td"):
        found.append(element)
        if len(found) >= _MAX_ELEMENTS:
            break
    return found


def _names(element: HtmlElement) -> Iterator[str]:
    """Yield selectors that match an element, most stable first."""
    tag = str(element.tag)
    for name in (element.get("class") or "").split()[:6]:
        if _NAME.fullmatch(name):
            yield f"{tag}.{name}"
    if (name := element.get("id")) and _NAME.fullmatch(name):
        yield f"{tag}#{name}"
    if (name := element.get("itemprop")) and _NAME.fullmatch(name):
        yield f'{tag}[itemprop="{name}"]'
    yield tag


def _plain(element: HtmlElement) -> str:
    return _squeeze(" ".join(element.itertext("*")))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


ARTICLES, SECONDS = 30, 300
"""Default limits of the crawl: number of articles, and seconds."""
STDERR = 2
"""The file descriptor to which the output of the crawl is written, because stdout is for the rule."""
_MAX_SECTIONS = 10
"""Maximum number of sections that are written into a rule."""
_MAX_DELAY = 30.0
"""Maximum delay in seconds that is written into a rule, even if the Crawl-delay of robots.txt is longer."""
_KEYS = ((Kind.FEED, "feeds"), (Kind.SITEMAP, "sitemaps"), (Kind.SECTION, "sections"))


@dataclass(slots=True)
class Seen:
    """The results of a small crawl of a site."""

    articles: int = 0
    """Number of stored articles."""
    language: str | None = None
    """Language of most articles."""
    sources: list[SourceRecord] = field(default_factory=list)
    learned: learn.Learned | None = None
    """The rule learned from the links; None if there were too few links."""
    delay: float | None = None
    """Crawl-delay of robots.txt in seconds, if there is one."""
    samples: list[Sample] = field(default_factory=list)
    """Saved pages (:class:`newsbot.apps.authoring.samples.Samples`)."""
    seed: str | None = None
    """The URL that the user named, if it could be read and is not among the sources."""
    fault: str | None = None
    """The last fault of the site, if there was one."""


def new(call: Call) -> None:
    """Run ``scrapy rules new``: crawl a few articles of a site, and write its rule and one saved page.

    Raises :class:`ArgumentError` if the rule exists, and :class:`DataUnavailable` if no article was found.
    """
    folder = rules_folder(call.settings)
    address = call.options.address
    path = learn.rule_path(folder, learn.site_named(address))
    if path.exists() and not call.options.print_only:
        raise ArgumentError(f"{path} exists; edit it, or use --print to see what a new one would contain")
    domain = path.stem
    most = counted(call.options.articles, "article")
    call.note(f"{domain}: crawling for up to {most} or {call.options.seconds} s, in a temporary data folder")
    with tempfile.TemporaryDirectory(prefix="newsbot-new-") as place:
        seed = _seed_of(address, domain)
        code, seen = _tried(Path(place), domain, seed, path.parent / DEFAULTS, call)
        if not seen.articles:
            raise DataUnavailable(
                f"{domain}: no article was found ({_why_none(seen, code)}); "
                f"for details run: {PROGRAM} crawl news -a url={seed or f'https://{domain}/'} -L DEBUG"
            )
        text = as_rule(domain, seen)
        case = None
        if not call.options.print_only:
            learn.write_new(path, text)
            case = _save(seen, path, call.options.fixtures or path.parent.parent / "tests" / "sites")
    if call.json:
        written = {"file": str(path), "rule": text, "case": case and str(case)}
        call.document({**written, "articles": seen.articles, **_found(seen)})
        return
    call.text(text, whole=True)
    if case is not None:
        call.note(f"written to {path}; a saved page to test it with: {case}")
        call.note(f"try it: {PROGRAM} rules test {domain}; {PROGRAM} crawl news -a sites={domain}")


def _tried(place: Path, domain: str, seed: str | None, defaults: Path, call: Call) -> tuple[int, Seen]:
    """Crawl the site; return the exit code and the results.

    An address under which no article was found is tried again as the address of a feed.
    """
    if seed is None:
        return _crawl(place, domain, "", defaults, call), _look(place, domain, None)
    # The home page too: the address may be of another host of the site, which does not answer.
    code = _crawl(
        place,
        domain,
        f"seeds: [{learn.quoted(seed)}, {learn.quoted(f'https://{domain}/')}]\n",
        defaults,
        call,
    )
    seen = _look(place, domain, seed)
    if code == 0 and not seen.articles:
        shutil.rmtree(place / "data", ignore_errors=True)
        code = _crawl(place, domain, f"feeds: [{learn.quoted(seed)}]\n", defaults, call)
        seen = _look(place, domain, seed)
    return code, seen


def _seed_of(address: str, domain: str) -> str | None:
    """Return the URL to begin with if ``address`` is more than a domain (with a scheme, port or path)."""
    if address.lower().removeprefix("www.") == domain:
        return None
    return address if "://" in address else f"https://{address}"


def _found(seen: Seen) -> dict[str, Any]:
    """Return the sources and some articles for ``--json``, so that the user can judge the rule."""
    sources = [{"kind": one.kind.value, "url": one.url, "new_links": one.new_links} for one in seen.sources]
    samples = [
        {
            **{name: item.get(name) for name in ("url", "title", "published_at")},
            "authors": item.get("authors") or [],
            "text": (item.get("text") or "")[:_SHOWN],
        }
        for item in (meta["item"] for _, meta in seen.samples)
    ]
    return {"sources": sources, "samples": samples}


_SHOWN = 200
"""Number of characters of a sample's text that are shown."""


def as_rule(domain: str, seen: Seen) -> str:
    """Return the content of the rule file, with comments on the origin of its lines."""
    lines = [f"# made from {counted(seen.articles, 'article')} of the live site", f"domain: {domain}"]
    if seen.language:
        lines.append(f"language: {learn.quoted(seen.language)}  # of most articles")
    lines += learn.list_lines("seeds", [] if seen.seed is None else [seen.seed])
    for kind, key in _KEYS:
        found = [one for one in seen.sources if one.kind == kind]
        if kind is Kind.SECTION:
            found = sorted(found, key=lambda one: -one.new_links)[:_MAX_SECTIONS]
        lines += learn.list_lines(key, (one.url for one in found))
    if seen.learned is not None and seen.learned.rule.patterns:
        held_out = seen.learned.patterns
        lines.append(
            f"# on held-out links: precision {percent(held_out.precision)}, recall {percent(held_out.recall)}"
        )
        lines += [*learn.as_lines(seen.learned), "learn: true  # other URLs may be articles too"]
    else:
        lines.append(f"# too few links for patterns; after more crawls, {PROGRAM} rules learn can show some")
    if seen.delay is not None:
        lines.append(f"delay: {seen.delay:g}  # as robots.txt asks")
    proposed = propose(seen.samples)
    if proposed:
        lines += [
            f"# These selectors match on {counted(len(seen.samples), 'page')}. The generic method does not",
            "# need them: uncomment a selector only if its field is wrong.",
            "# extract:",
            *(f"#   {name}: {learn.quoted(selector)}" for name, selector in proposed.items()),
        ]
    return "\n".join(lines) + "\n"


def _why_none(seen: Seen, code: int) -> str:
    if code:
        return f"the crawl ended with exit code {code}"
    return f"last fault: {in_words(seen.fault)}" if seen.fault else "no page looked like an article"


def _crawl(place: Path, domain: str, sources: str, defaults: Path, call: Call) -> int:
    """Crawl the site in another process, with all data in the folder ``place``. Returns the exit code.

    ``sources`` is the line of the rule that names them, or empty.
    """
    rules = place / "rules"
    rules.mkdir(exist_ok=True)
    (rules / f"{domain}.yaml").write_text(f"domain: {domain}\n{sources}", encoding="utf-8")
    if defaults.is_file():
        shutil.copy(defaults, rules / DEFAULTS)
    environment = {**os.environ, "NEWSBOT_DATA": str(place / "data"), "NEWSBOT_RULES": str(rules)}
    for name in ("REDIS_URL", "MONGO_URI"):
        environment.pop(name, None)  # the trial must not write into the shared data
    # A setting that was given to this command with -s is not in the environment, so it is passed on.
    command = [
        *(sys.executable, "-m", PROGRAM, "crawl", "news", "-a", f"sites={domain}"),
        *("-a", f"max_articles={call.options.articles}", "-s", f"NEWSBOT_SAMPLES={place / 'samples'}"),
        *("-s", f"CLOSESPIDER_TIMEOUT={call.options.seconds}", "-s", "NEWSBOT_TRIAL=1"),
        *("-s", f"NEWSBOT_ALLOW_PRIVATE={int(call.settings.getbool('NEWSBOT_ALLOW_PRIVATE'))}"),
    ]
    return subprocess.run(command, env=environment, check=False, stdout=STDERR).returncode  # noqa: S603  # our own


def _look(place: Path, domain: str, seed: str | None) -> Seen:
    """Return the results of the crawl whose data are in the folder ``place``."""
    seen = Seen()
    # Without a data file, the crawl ended before it opened its storage, for example because of a wrong
    # setting.
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
        if seed is not None and canonicalize(seed) not in {canonicalize(one.url) for one in seen.sources}:
            record = storage.sources.get(seed)
            seen.seed = seed if record is not None and record.polls and not record.failures else None
        labelled = learn.examples_of(storage, domain)
        site = storage.sites.all().get(domain)
        seen.fault = None if site is None else site.last_error
    articles = sum(label for _, label in labelled)
    # The rule can only learn from examples of both kinds.
    if min(articles, len(labelled) - articles) >= MIN_EXAMPLES:
        seen.learned = learn.judge_learning(labelled)
    for page in sorted((place / "samples").glob("*.html")):
        seen.samples.append((page.read_bytes(), json.loads(page.with_suffix(".json").read_text())))
    crawl_file = place / "samples" / "crawl.json"
    delays = json.loads(crawl_file.read_text())["crawl_delays"] if crawl_file.exists() else {}
    # A rule has one delay for all hosts of the site, so the longest delay is used.
    seen.delay = min(max(delays.values()), _MAX_DELAY) if delays else None
    return seen


def found_so_far(place: Path, domain: str) -> tuple[int, list[SourceRecord], list[Article]]:
    """Return what a crawl has found that is still running: the number of articles, sources, some articles.

    The data of the crawl are in a folder below ``place``. Raises :class:`newsbot.errors.DataError`.
    """
    for file in place.glob("newsbot-new-*/data/newsbot.db"):
        with closing(open_storage({"NEWSBOT_DATA": str(file.parent)})) as storage:
            where = ArticleFilter(source=domain)
            newest = storage.articles.newest(where, limit=FEW)
            return storage.articles.count(where), _useful(storage, domain), newest
    return 0, [], []


FEW = 5
"""Number of articles that are shown while the crawl is running."""


def _useful(storage: Storage, domain: str) -> list[SourceRecord]:
    """Return the feeds and sitemaps that contain links, and the sections that gave new links."""
    found = [one for one in storage.sources.all(domain) if one.polls and not one.failures]
    names = {one.url: fingerprint(canonicalize(one.url)) for one in found}
    pages = storage.pages.get(list(names.values()))
    links = {url: pages[name].links_count or 0 for url, name in names.items() if name in pages}
    return [one for one in found if one.new_links or (one.kind != Kind.SECTION and links.get(one.url))]


def _save(seen: Seen, path: Path, folder: Path) -> Path | None:
    """Save the first page that the new rule can read. Return its folder, or None if no page can be read."""
    (rule,) = read_files([path], path.parent).rules
    for page, meta in seen.samples:
        try:
            return write_case(folder / path.stem / "first", page, meta, rule)
        except NotAnArticle:
            continue
        except OSError as error:
            raise ArgumentError(f"{folder}: cannot be written ({error.strerror})") from error
    return None
