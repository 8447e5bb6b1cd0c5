"""``scrapy rules learn``: learns the URL patterns of a site, and measures their quality.

Rule files are written, and keys are added to existing files; only valid rules are written. The quality is
measured on links that were not used for learning.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from newsbot.apps.files import replacing
from newsbot.apps.numbers import percent
from newsbot.apps.operations import add
from newsbot.backends import open_rules, rules_folder, stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError, RulesError
from newsbot.items import EventKind, GivenBy, Kind, PageRecord, Where
from newsbot.pages.rules.learn import MIN_EXAMPLES, LearnedRule, learn, path_of
from newsbot.pages.rules.load import DEFAULTS, read_rule_file, shipped_folder
from newsbot.pages.rules.rule import ascii_domain
from newsbot.ranking.families import LISTS, MAX_NAME, SiteFamilies, State, read_site, rows_of
from newsbot.ranking.url_learning import kept
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, host_key


def rule_path(folder: Path | Traversable, domain: str) -> Path:
    """Return the path of the rule file for a domain.

    Raises :class:`ArgumentError` if the domain is not valid, or if the rules are inside the package.
    """
    try:
        name = ascii_domain(domain)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    if not isinstance(folder, Path):
        raise ArgumentError("the rules are inside the package; set NEWSBOT_RULES to a folder of your own")
    return folder / f"{name}.yaml"


def site_named(address: str) -> str:
    """Return the domain for the rule of a new site, without ``www.`` at its start.

    The rule also covers the host with ``www.``.

    Raises :class:`ArgumentError` if ``address`` is neither a domain nor an http(s) URL.
    """
    try:
        host = host_key(address if "://" in address else f"https://{address}")
    except ValueError:
        host = ""
    # The colons of an IPv6 address in brackets do not begin a port.
    site = (host if host.startswith("[") else host.partition(":")[0]).removeprefix("www.")
    if not site or site.startswith("-"):  # "scrapy rules new" would read it as an option
        raise ArgumentError(f"{address!r} is not the address of a site; write https://example.org")
    return site


def write_new(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a rule file.

    Raises :class:`RulesError` if ``text`` is not a valid rule. Raises :class:`ArgumentError` if the file
    cannot be written, or if it exists and ``replace`` is False.
    """
    if path.exists() and not replace:
        raise ArgumentError(f"{path} exists; edit it, or move it away first")
    data = text.encode()
    problems = read_rule_file(str(path), data).problems
    if problems:
        raise RulesError(problems)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A crawl may reload the rules at any time. It ignores files whose name begins with a dot. The rename
        # at the end is atomic, so the crawl never sees a file that is only partly written.
        with replacing(path) as stream:
            stream.write(data)
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be written ({error.strerror})") from error


def add_key(path: Path, domain: str, key: str, lines: list[str]) -> None:
    """Add a key to a rule file. The file is created if it does not exist.

    ``lines`` are the lines of the key and its value. Raises :class:`ArgumentError` if the file already has
    the key, and :class:`RulesError` if the file is not valid.
    """
    if not path.exists():
        write_new(path, "\n".join([f"domain: {domain}", *lines]) + "\n")
        return
    text = path.read_text(encoding="utf-8")
    file = read_rule_file(str(path), text.encode())
    if file.problems:
        raise RulesError(file.problems)
    if key in file.lines:
        raise ArgumentError(f"{path}:{file.lines[key]}: already has {key!r}; copy the lines by hand")
    # The lines are appended as text: writing parsed YAML would drop the comments of the file.
    write_new(path, text.rstrip("\n") + "\n" + "\n".join(lines) + "\n", replace=True)


STARTER = "starter"
"""The name of the collection of sites that newsbot brings along."""


def starter_sites() -> Sequence[str]:
    """Return the domains of the sites in the collection."""
    names = (one.name for one in shipped_folder().iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml") and name != DEFAULTS)


def add_starter(folder: Path | Traversable) -> list[str]:
    """Write the rules of the collection into a rules folder, and return the names of the new files.

    Rules that exist are kept. Raises :class:`newsbot.errors.ArgumentError` if the folder cannot be written.
    """
    rules = ((one, (shipped_folder() / f"{one}.yaml").read_text(encoding="utf-8")) for one in starter_sites())
    return add_rules(folder, rules)[0]


def add_rules(
    folder: Path | Traversable,
    rules: Iterable[tuple[str, str]],
    refused: list[tuple[str, int, str]] | None = None,
) -> tuple[list[str], list[str]]:
    """Write rule files, and return the names of the new files, and those of the files that existed.

    ``rules`` has pairs of a domain and the content of its rule file. Rules that are not valid are added to
    ``refused``, each with domain, line and reason. Raises :class:`ArgumentError` if a file cannot be written,
    and without ``refused`` :class:`RulesError`.
    """
    made: list[str] = []
    kept: list[str] = []
    for domain, text in rules:
        path = rule_path(folder, domain)
        if path.exists():
            kept.append(path.name)
            continue
        try:
            write_new(path, text)
            made.append(path.name)
        except RulesError as error:
            if refused is None:
                raise
            refused += [(domain, problem.line, problem.text) for problem in error.problems]
    return made, kept


MAX_PAGES = 5000
"""Maximum number of page records of a site that are read."""
FOLDS = 5
"""Number of parts of the cross-validation."""
_DECLARED = (Where.FEED.value, Where.NEWS_SITEMAP.value)

Labelled = list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision and recall, from 0 to 1, on links that were not used for learning."""

    precision: float | None
    """Share of articles among the links that the rule selects. None if it selects no links."""
    recall: float | None
    """Share of selected links among the articles. None if there are no articles."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The learned rule of a site and its quality."""

    rule: LearnedRule
    whole: Score
    """The score of the learned decision trees together with the global prior, as the crawler uses them."""
    patterns: Score
    """The score of the patterns alone, as in a rule file."""

    def plain(self) -> dict[str, Any]:
        """Return the rule and its quality as a JSON-serializable mapping."""
        return {
            "articles": self.rule.articles,
            "others": self.rule.others,
            "held_out": asdict(self.whole),
            "held_out_patterns": asdict(self.patterns),
            "patterns": [
                {"text": one.text, "articles": one.articles, "others": one.others, "examples": one.examples}
                for one in self.rule.patterns
            ],
        }


def examples_of(storage: Storage, domain: str) -> Labelled:
    """Return the known URLs of a site, each with True if it is an article.

    The URLs are the links that earlier crawls found, and the pages that earlier crawls fetched.
    """
    examples, _ = kept(storage.notes, domain)
    labels = dict(examples.labelled())
    for number, page in enumerate(storage.pages.iter(site=domain, kind=Kind.ARTICLE)):
        if number >= MAX_PAGES:
            break
        label = _label(page)
        if label is not None:  # a fetched page overrides the label of a link
            labels[canonicalize(page.url)] = label
    return list(labels.items())


def _label(page: PageRecord) -> bool | None:
    """Return whether a page is an article, or None if this is not known."""
    if page.last(EventKind.NOT_AN_ARTICLE) is not None:
        return False
    if page.last(EventKind.STORED) is not None:
        return True
    discovered = page.last(EventKind.DISCOVERED)
    if discovered is None or not GivenBy.of({"source": page.source, **discovered}).counts_for(page.source):
        return None
    return True if discovered.get("where") in _DECLARED else None


def judge_learning(labelled: Labelled) -> Learned:
    """Learn from all URLs, and measure the quality by five-fold cross-validation.

    The rule is learned five times from four fifths of the URLs. Each time it is tested on the other fifth.
    """
    # Sorted, so that the folds do not depend on the order in the storage.
    shuffled = sorted(labelled)
    random.Random(0).shuffle(shuffled)  # noqa: S311  (the same folds every time)
    verdicts: list[tuple[bool, bool, bool]] = []
    for fold in range(FOLDS):
        rule = learn(one for place, one in enumerate(shuffled) if place % FOLDS != fold)
        verdicts += _verdicts(rule, shuffled[fold::FOLDS])
    return Learned(
        rule=learn(labelled),
        whole=_score([(label, whole) for label, whole, _ in verdicts]),
        patterns=_score([(label, matched) for label, _, matched in verdicts]),
    )


def _verdicts(rule: LearnedRule, links: Labelled) -> Iterator[tuple[bool, bool, bool]]:
    patterns = [re.compile(one.text, re.ASCII) for one in rule.patterns]
    for url, label in links:
        path = path_of(url)
        yield label, rule.is_article(url), any(pattern.search(path) for pattern in patterns)


def _score(verdicts: Sequence[tuple[bool, bool]]) -> Score:
    right = sum(label and taken for label, taken in verdicts)
    taken = sum(taken for _, taken in verdicts)
    wanted = sum(label for label, _ in verdicts)
    return Score(right / taken if taken else None, right / wanted if wanted else None)


def as_lines(learned: Learned) -> list[str]:
    """Return the ``article`` key as lines of a rule file, each pattern with its evidence in a comment."""
    lines = ["article:"]
    for one in learned.rule.patterns:
        evidence = f"{counted(one.articles, 'known article')}, {counted(one.others, 'other page')}"
        lines.append(f"  # {evidence}; {one.examples[0][:80]}")
        lines.append(f"  - {quoted(one.text)}")
    return lines


def list_lines(key: str, texts: Iterable[str], indent: str = "") -> list[str]:
    """Return the lines of a rule file for a key with a list of texts. Without texts, there are no lines."""
    found = [f"{indent}  - {quoted(text)}" for text in texts]
    return [f"{indent}{key}:", *found] if found else []


def quoted(text: str) -> str:
    """Return a text as a YAML scalar in single quotes. A backslash has no special meaning there."""
    return "'" + text.replace("'", "''") + "'"


def patterns_of_families(site: SiteFamilies) -> list[tuple[str, int]]:
    """Return the patterns of the open families that have articles, each with its number of articles."""
    rows = rows_of("", site)
    found = [(pattern_of(row.family), row) for row in rows if row.state == State.OPEN and row.articles]
    return [(text, row.articles) for text, row in found if text is not None]


def pattern_of(name: str) -> str | None:
    """Return a pattern for ``article:`` of a rule that matches the members of a family.

    Returns None for lists and for families whose shape is in the query.
    """
    if name.startswith(LISTS) or "?" in name or len(name) >= MAX_NAME:
        return None
    # What has a meaning in a regular expression is escaped, except the signs of families.
    escaped = re.sub(r"[.+()\[\]{}|^$\\]", r"\\\g<0>", name)
    return "^" + re.sub(r"[*#@]+", lambda signs: r"\d+" if set(signs[0]) == {"#"} else "[^/]+", escaped) + "$"


def _propose(call: Call, path: Path, domain: str, proposed: list[tuple[str, int]]) -> None:
    """Print the patterns of families, or add them to the rule file."""
    lines = ["article:", *(f"  - '{text}'  # {counted(number, 'article')}" for text, number in proposed)]
    if call.json:
        patterns = [{"text": text, "articles": number} for text, number in proposed]
        call.document(
            {"domain": domain, "articles": sum(number for _, number in proposed), "patterns": patterns}
        )
    else:
        call.text(f"# from families of addresses ({PROGRAM} rules learn DOMAIN --why lists them)")
        call.text("\n".join(lines), whole=True)
    if call.options.write:
        add_key(path, domain, "article", lines)
        call.note(f"written to {path}")


def learn_site(call: Call) -> None:
    """Run ``scrapy rules learn``: print the learned patterns of a site, or add them to its rule file."""
    if call.options.why:
        add.show(call)
        return
    if call.options.forget:
        add.forget(call)
        return
    path = rule_path(rules_folder(call.settings), call.options.domain)
    rule = open_rules(call.settings).for_url(f"https://{path.stem}/")
    with stored(call.settings) as storage:
        labelled = examples_of(storage, rule.domain)
        proposed = patterns_of_families(read_site(storage.notes, rule.domain))
    articles = sum(label for _, label in labelled)
    others = len(labelled) - articles
    if min(articles, others) < MIN_EXAMPLES and proposed:
        _propose(call, path, rule.domain, proposed)
        return
    if min(articles, others) < MIN_EXAMPLES:
        raise ArgumentError(
            f"{rule.domain}: the URLs of {articles} articles and {others} other pages are known, but "
            f"{MIN_EXAMPLES} of each are needed; crawl the site first: "
            f"{PROGRAM} crawl news -a url=https://{rule.domain}/"
        )
    learned = judge_learning(labelled)
    if call.json:
        call.document({"domain": rule.domain, **learned.plain()})
    else:
        call.text(f"# learned from {counted(articles, 'article')} and {counted(others, 'other page')}")
        for name, score in (("the crawler's judgement", learned.whole), ("these patterns", learned.patterns)):
            call.text(
                f"# on held-out links, {name}: precision {percent(score.precision)}, "
                f"recall {percent(score.recall)}"
            )
        lines = as_lines(learned) if learned.rule.patterns else ["# no pattern is good enough"]
        call.text("\n".join(lines), whole=True)
    if call.options.write:
        if not learned.rule.patterns:
            raise ArgumentError(f"{rule.domain}: no pattern is good enough to be written")
        add_key(path, rule.domain, "article", as_lines(learned))
        call.note(f"written to {path}")
