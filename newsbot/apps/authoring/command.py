"""``scrapy rules check|show|export``: checks and shows rule files, and writes their feeds as OPML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from newsbot.apps.authoring.hints import find_hints
from newsbot.backends import rules_folder, stored
from newsbot.cli.command import Action, Argument, Call, positive
from newsbot.cli.terminal import columns, counted, percent
from newsbot.clock import system_clock, utc
from newsbot.errors import ArgumentError, DataUnavailable, Problem, RulesError
from newsbot.items import Link, Where
from newsbot.pages.rules.load import Loaded, read_files, read_folder
from newsbot.pages.rules.rule import Rule
from newsbot.pages.rules.show import Value, duration, effective, overview, verdict
from newsbot.ranking.judging import judge
from newsbot.ranking.url_learning import kept, learns


def check(call: Call) -> int:
    """Report the problems and hints of all files at once. The exit code is 1 if there is a problem."""
    loaded = _read(call)
    hints = find_hints(loaded)
    fine = len(loaded.rules)
    if call.json:
        call.document(
            {"rules": fine, "problems": _rows(loaded.problems), "hints": _rows(hints)},
        )
        return 1 if loaded.problems else 0
    for hint in hints:
        call.text(f"Hint: {hint}")
    if loaded.problems:
        raise RulesError(loaded.problems)
    call.text(f"{counted(fine, 'rule')} {'is' if fine == 1 else 'are'} fine")
    return 0


def show(call: Call) -> None:
    """Show all rules, one rule with its defaults, or how the rules judge a URL."""
    loaded = read_folder(rules_folder(call.settings))
    if loaded.problems:
        raise RulesError(loaded.problems)
    target = call.options.target
    if target is None:
        _show_all(call, loaded)
    elif "/" in target:  # this is a URL, even if https:// is missing
        _show_url(call, loaded, target if "://" in target else f"https://{target}")
    else:
        _show_rule(call, loaded, _rule_of(loaded, f"https://{target}/", target))


def _read(call: Call) -> Loaded:
    folder = rules_folder(call.settings)
    files: list[Path] = call.options.files
    if not files:
        return read_folder(folder)
    return read_files(files, files[0].parent, folder)


def _rows(problems: list[Problem]) -> list[dict[str, Any]]:
    return [
        {"file": problem.file, "line": problem.line, "key": problem.key, "text": problem.text}
        for problem in problems
    ]


def _rule_of(loaded: Loaded, url: str, target: str) -> Rule:
    try:
        return loaded.rules.for_url(url)
    except ValueError as error:
        raise ArgumentError(f"{target!r} is neither a URL nor a domain such as example.org") from error


def _show_all(call: Call, loaded: Loaded) -> None:
    rows = overview(loaded)
    if call.json:
        call.document(rows)
        return
    call.table(
        columns(
            "domain | language 2 | feeds > | sitemaps > | sections > | article > 3 | deny > 3 | delay > 3 "
            "| file 1"
        ),
        [
            (
                row["domain"],
                row["language"],
                *(row["sources"][key] for key in ("feeds", "sitemaps", "sections")),
                *(row["patterns"][key] for key in ("article", "deny")),
                duration(row["delay"]),
                row["file"],
            )
            for row in rows
        ],
    )


def _show_url(call: Call, loaded: Loaded, url: str) -> None:
    rule = _rule_of(loaded, url, url)
    found = {**verdict(loaded, url), "judgement": _judgement(call, url, rule)}
    if call.json:
        call.document({**found, "rule": _as_json(effective(loaded, rule))})
        return
    pattern = found["pattern"]
    kind = "denied" if found["denied"] else found["kind"] or "unknown: no pattern matches"
    call.text(f"{found['canonical']}: {kind}")
    if pattern is not None:
        call.text(f"by {pattern['text']} ({pattern['file']}:{pattern['line']})")
    elif found["kind"] is not None:
        call.text("named in the rule itself")
    judged = found["judgement"]
    what = f"{judged['kind']}, priority {judged['priority']:g}" if judged["accepted"] else "not fetched"
    call.text(f"a link to it in the body of a page: {what} ({judged['reason']})")
    if judged["learned"] is not None:
        call.text(f"learned from the site's URLs: probability of an article {percent(judged['learned'])}")
    if call.options.all:
        call.text()
        _show_rule(call, loaded, rule)
        return
    own = next((file for file in loaded.files if file.values.get("domain") == rule.domain), None)
    if own is None:
        call.text(f"{rule.domain} has no rule; the defaults apply")
    else:
        call.text(f"rule: {own.file} (keys: {', '.join(own.values)})")
    call.text("--all shows every value that applies, and the file that sets it")


def _judgement(call: Call, url: str, rule: Rule) -> dict[str, Any]:
    """Return how a link to the URL in the body of a page would be judged now.

    ``learned`` is the learned probability of an article (0 to 1), or None if nothing was learned.
    """
    learned = None
    if learns(rule):
        try:
            with stored(call.settings) as storage:
                learned = kept(storage.notes, rule.domain)[1]
        except DataUnavailable:
            learned = None  # nothing has been crawled yet, so only the rules decide
    link = Link(url=url, where=Where.BODY)
    judged = judge(link, rule, depth=1, now=utc(system_clock()), learned=learned)
    return {
        "accepted": judged.accepted,
        "kind": judged.kind.value,
        "priority": round(judged.priority, 1),
        "reason": judged.reason,
        "learned": None if learned is None else learned.score(url),
    }


def _show_rule(call: Call, loaded: Loaded, rule: Rule) -> None:
    values = effective(loaded, rule)
    if call.json:
        call.document({"file": rule.file, "rule": _as_json(values)})
        return
    if loaded.rules.get(rule.domain) is None:
        call.text(f"{rule.domain} has no rule; the defaults apply")
    call.table(
        columns("key | where | value *"),
        [(value.key, where, text) for value in values for where, text in _lines(value)],
    )


def _as_json(values: list[Value]) -> dict[str, Any]:
    return {value.key: {"value": value.value, "where": value.where} for value in values}


def _lines(value: Value) -> list[tuple[str, str]]:
    """Return the lines that show one value. Each line is a pair: the place of the value, and a text.

    An empty value has no lines.
    """
    found = value.value
    if value.key in ("article", "section", "deny"):
        return [(f"{item['file']}:{item['line']}", item["text"]) for item in found]
    if value.key in _WRITTEN:
        return [(value.where, text) for text in _WRITTEN[value.key](found)]
    if isinstance(found, list):
        return [(value.where, item) for item in found]
    return [] if found in (None, "") else [(value.where, str(found))]


def _layout(item: dict[str, Any]) -> str:
    since = f"from {item['valid_from']}: " if item["valid_from"] else ""
    parts = [f"{name}: {', '.join(selectors)}" for name, selectors in item["extract"].items()]
    if item["remove"]:
        parts.append(f"remove: {', '.join(item['remove'])}")
    return since + "; ".join(parts)


_WRITTEN: Mapping[str, Callable[[Any], list[str]]] = {
    "interval": lambda found: [f"{kind}: {duration(seconds)}" for kind, seconds in found.items()],
    "recrawl": lambda found: [f"{kind}: {way}" for kind, way in found.items()],
    "recheck": lambda found: [", ".join(map(duration, found))],
    "delay": lambda found: [duration(found)],
    "layouts": lambda found: [_layout(item) for item in found],
}
"""Functions that format the values of certain keys as lines."""


_FIXTURES = Argument(
    "--fixtures", metavar="DIR", type=Path, help="folder of saved pages (tests/sites beside the rules folder)"
)
_PATH = (
    Argument("path", metavar="PATH", type=Path),
    Argument("--into", metavar="DIR", type=Path, help="target folder, instead of the rules folder"),
)

ACTIONS = (
    Action(
        "check",
        "Report all problems of rule files, with file and line (default: the whole rules folder)",
        check,
        Argument("files", nargs="*", metavar="FILE", type=Path),
    ),
    Action(
        "show",
        "Show the rule of a URL or domain, or list all rules",
        show,
        Argument("target", nargs="?", metavar="URL|DOMAIN"),
        Argument("--all", action="store_true", help="for a URL: also every value that applies"),
    ),
    Action(
        "learn",
        "Print the learned patterns of a site's article URLs, with precision and recall on other links",
        "newsbot.apps.authoring.learn:learn_site",
        Argument("domain", metavar="DOMAIN"),
        Argument("--write", action="store_true", help="add the patterns to the site's rule file"),
        Argument(
            "--why", action="store_true", help="list the families of addresses, with the reason for each"
        ),
        Argument("--forget", action="store_true", help="forget the families and session keys of the site"),
    ),
    Action(
        "new",
        "Crawl a few articles of a site and write its rule, with comments, and one saved page",
        "newsbot.apps.authoring.new:new",
        Argument("address", metavar="ADDRESS", help="a domain, or the URL of a page, section or feed"),
        Argument("--articles", type=positive, default=30, metavar="N", help="number of articles (30)"),
        Argument("--seconds", type=positive, default=300, metavar="N", help="maximum seconds (300)"),
        Argument("--print", action="store_true", dest="print_only", help="write no files"),
        _FIXTURES,
    ),
    Action(
        "test",
        "Extract the saved pages of sites and compare the result field by field",
        "newsbot.apps.authoring.cases:test_rules",
        Argument("domains", nargs="*", metavar="DOMAIN"),
        _FIXTURES,
    ),
    Action(
        "export opml",
        "Write the feeds of all sites as OPML, with a folder for each tag, to stdout or a file",
        "newsbot.apps.export.feed:export_opml",
        Argument("-o", "--output", metavar="FILE", type=Path, help="output file, replaced at the end"),
    ),
    Action(
        "import ftr",
        "Create rules from site files of ftr-site-config (file or folder)",
        "newsbot.apps.authoring.importing:from_ftr",
        *_PATH,
    ),
    Action(
        "import opml",
        "Create short rules from the feeds of an OPML file",
        "newsbot.apps.authoring.importing:from_opml",
        *_PATH,
    ),
    Action(
        "import news-please",
        "Create short rules from a site list of news-please",
        "newsbot.apps.authoring.importing:from_news_please",
        *_PATH,
    ),
)
