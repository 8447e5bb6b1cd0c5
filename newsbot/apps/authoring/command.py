"""``scrapy rules check|show``: checks and shows rule files.

Rules that are valid but probably mistakes cause warnings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from pathlib import Path
from typing import Any

from newsbot.apps.numbers import percent
from newsbot.backends import rules_folder, stored
from newsbot.cli.command import Action, Argument, Call, positive
from newsbot.cli.terminal import columns, counted
from newsbot.clock import system_clock, utc
from newsbot.errors import ArgumentError, DataUnavailable, Problem, RulesError
from newsbot.items import Kind, Link, Where
from newsbot.pages.rules import load
from newsbot.pages.rules.load import verdict
from newsbot.pages.rules.rule import Pattern, Rule, classify, compile_pattern
from newsbot.ranking.judging import judge
from newsbot.ranking.url_learning import kept, learns
from newsbot.urls import canonicalize

MAX_SAMPLES = 24
"""Maximum number of sample texts of a pattern."""
_SMALL = 4
"""In a character class with at most this number of characters, each character gets a sample. A larger class
gets one sample."""
_PREFERRED = "".join(dict.fromkeys("a1-_.?/" + "".join(map(chr, range(33, 127)))))
"""Characters that represent a character class, in this order of preference."""
# One part of a pattern: a flag or anchor, "(", ")", "|", a repeat, or a character, which may be a class in
# brackets.
_TOKEN = re.compile(
    r"(?P<nothing>\(\?[a-zA-Z-]+\)|[\^$]|\\[AbBz])"
    r"|(?P<open>\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<repeat>[*+?]|\{(?P<least>\d+)(?:,\d*)?\})\??"
    r"|(?P<character>\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.)",
    re.DOTALL,
)


def samples(pattern: str) -> list[str]:
    """Return paths that a valid pattern matches, if possible one path for each alternative.

    The result is empty for patterns that are too complex.
    """
    texts = _Sampler(pattern).alternatives()
    paths = [text if text.startswith("/") else "/" + text for text in texts]
    regex = compile_pattern(pattern)
    return [path for path in dict.fromkeys(paths) if regex.search(path)]


class _Sampler:
    """Reads a pattern from left to right and builds texts that it matches.

    It knows only the common syntax. If it misreads a part, the sample does not match and :func:`samples`
    drops it.
    """

    def __init__(self, pattern: str) -> None:
        self._tokens = list(_TOKEN.finditer(pattern))
        self._at = 0

    def alternatives(self) -> list[str]:
        """Return sample texts for the alternatives up to the end of the current group."""
        found: list[str] = []
        parts: list[list[str]] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token["close"]:
                break
            if token["bar"]:
                found += _joined(parts)
                parts = []
            elif token["open"]:
                parts.append(self.alternatives())
            elif token["repeat"]:
                # A repeat applies to the last part only. Parts with "*" and "?" become empty, because they
                # may be missing.
                least = int(token["least"] or token["repeat"] == "+")
                parts[-1:] = [[text * least for text in texts] if least else [""] for texts in parts[-1:]]
            elif token["character"]:
                parts.append(_characters(token["character"]))
        return (found + _joined(parts))[:MAX_SAMPLES]


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(choice) for choice in islice(product(*parts), MAX_SAMPLES)]


def _characters(text: str) -> list[str]:
    """Return all characters of a small class, or one character of a larger class."""
    if len(text) == 1 and text != ".":
        return [text]
    try:
        found = [char for char in _PREFERRED if re.fullmatch(text, char, re.ASCII)]
    except re.error:
        return [""]
    return found if len(found) <= _SMALL else found[:1]


MAX_FEED_INTERVAL = 6 * 3600.0
"""A longer interval of feeds, in seconds, causes a hint that articles may be found late."""
MIN_INTERVAL = 60.0
"""A shorter interval, in seconds, causes a hint that sites may block the crawler."""
_URL_KEYS = {
    "seeds": Kind.SECTION,
    "feeds": Kind.FEED,
    "sitemaps": Kind.SITEMAP,
    "sections": Kind.SECTION,
}
_PATTERN_KEYS = ("article", "section", "deny")


def find_hints(loaded: load.Loaded) -> list[Problem]:
    """Return one hint for each value that is probably a mistake, in the order of the files.

    Files with problems are skipped, because they have no rule.
    """
    hints = [*_defaults_hints(loaded.defaults), *_pattern_hints(loaded.defaults)]
    for file in loaded.files:
        rule = loaded.rules.get(file.values.get("domain", ""))
        if rule is not None and rule.file == file.file:
            hints += [
                *_domain_hints(file),
                *_pattern_hints(file),
                *_url_hints(file, rule),
                *_deny_hints(file, rule),
                *_pace_hints(file, rule),
            ]
    return hints


def _hint(file: load.RuleFile, key: str, text: str, line: int | None = None) -> Problem:
    return Problem(file.file, line or file.lines.get(key, 0), key, text)


def _defaults_hints(file: load.RuleFile) -> Iterator[Problem]:
    for key in _URL_KEYS:
        if key in file.lines:
            yield _hint(file, key, "applies to every site whose file does not have the key; is this right?")


def _domain_hints(file: load.RuleFile) -> Iterator[Problem]:
    domain = file.values["domain"]
    if domain.startswith("www."):
        yield _hint(file, "domain", f"covers {domain} only; {domain.removeprefix('www.')!r} covers both")


def _pattern_hints(file: load.RuleFile) -> Iterator[Problem]:
    seen: dict[str, Pattern] = {}
    for key in _PATTERN_KEYS:
        for pattern in file.values.get(key, ()):
            text = _doubt(key, pattern) or _never(pattern.text, file)
            if text is None and pattern.text in seen:
                text = f"{pattern.text!r} is already given on line {seen[pattern.text].line}"
            if text is not None:
                yield _hint(file, key, text, pattern.line)
            seen.setdefault(pattern.text, pattern)


def _doubt(key: str, pattern: Pattern) -> str | None:
    """Return why a pattern is probably a mistake, or None."""
    if "://" in pattern.text:
        return f"{pattern.text!r} never matches: patterns match only path and query, without https://host"
    if not pattern.text.isascii():
        return f"{pattern.text!r} never matches: URLs are percent-encoded; write %D0%9D for Н and so on"
    if "/*" in pattern.text:
        return f"{pattern.text!r}: /* means any number of slashes; write /[^/]+ for one part of a path"
    # A pattern that matches the front page and an arbitrary page probably matches every page.
    regex = compile_pattern(pattern.text)
    if regex.search("/") and regex.search("/any/page?of=it"):
        effect = "denies the whole site" if key == "deny" else f"marks every page as {key}"
        return f"{pattern.text!r} {effect}"
    return None


def _never(text: str, file: load.RuleFile) -> str | None:
    """Return why a pattern matches no canonical URL of the site; None if no such reason is found."""
    never = f"{text!r} never matches: "
    if "\\\\" in text:
        return f"{never}\\\\ means a backslash, and addresses have none; write one \\ in single quotes"
    # A character in brackets is only one of several alternatives. With the flag x, blanks and "#" have
    # another meaning.
    plain = re.sub(r"\[[^\]]*\]|\(\?x.*", "", text)
    for sign, why in _NOT_IN_ADDRESSES.items():
        if "|" not in text and re.search(rf"{sign}(?![?*{{])", plain):
            return never + why
    domain = str(file.values.get("domain", ""))
    if domain and text.replace("\\", "").lstrip("^").removeprefix("www.").startswith(f"{domain}/"):
        return f"{never}patterns match only path and query, without the host; begin with ^/"
    if re.match(r"\^[A-Za-z0-9]", text) and "|" not in text:
        return f"{never}a path begins with a slash; write ^/{text[1:]}"
    # Finds the key in a pattern such as [?&]id=, with or without brackets around "?" or "&".
    for key in re.findall(r"(?:\[\?&\]|\\\?|&)([A-Za-z_][\w-]*)=", text):
        if "?" not in canonicalize(
            f"https://example.org/a?{key}=1", tuple(file.values.get("drop_query", ()))
        ):
            return f"{never}{key} is a query key that is dropped from addresses"
    return None


_NOT_IN_ADDRESSES = {
    " ": "addresses contain no spaces; write each pattern on a line of its own, after '- '",
    "#": "patterns do not match the part of an address after #",
}


def _url_hints(file: load.RuleFile, rule: Rule) -> Iterator[Problem]:
    for key, kind in _URL_KEYS.items():
        urls = file.values.get(key, ())
        for url in urls:
            match = classify(rule, canonicalize(url, rule.drop_query))
            if match.denied:
                yield _hint(file, key, f"{url} is denied by {match.pattern}; it is never fetched")
            elif match.kind is not kind:
                yield _hint(file, key, f"{url} is also given as {match.kind} and is treated as that")
        if len(set(urls)) < len(urls):
            yield _hint(file, key, "the same URL is given twice")


def _deny_hints(file: load.RuleFile, rule: Rule) -> Iterator[Problem]:
    for key, patterns in (("article", rule.article), ("section", rule.section)):
        for pattern in patterns:
            # The hint is given only if all samples are denied. Otherwise the pattern is useful for other
            # URLs.
            verdicts = [classify(rule, "https://h" + sample) for sample in samples(pattern.text)]
            if pattern.file == file.file and verdicts and all(verdict.denied for verdict in verdicts):
                text = f"each URL that {pattern.text!r} matches is denied by {verdicts[0].pattern}; deny wins"
                yield _hint(file, key, text, pattern.line)


def _pace_hints(file: load.RuleFile, rule: Rule) -> Iterator[Problem]:
    if "interval" in file.values:
        for kind, seconds in file.values["interval"].items():
            if seconds < MIN_INTERVAL:
                yield _hint(file, "interval", f"{kind}: is less than one minute; sites may block the crawler")
        if rule.interval[Kind.FEED] > MAX_FEED_INTERVAL:
            yield _hint(
                file,
                "interval",
                "feed: is more than 6h; articles may be found more than 12 hours after publication",
            )
    if "delay" in file.lines and rule.delay < 1:
        yield _hint(file, "delay", f"{rule.delay:g} s is less than one second; sites may block the crawler")
    if "follow" in file.values and not rule.follow:
        yield _hint(file, "follow", "is empty: only the seeds are fetched")


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
    loaded = load.read_folder(rules_folder(call.settings))
    if loaded.problems:
        raise RulesError(loaded.problems)
    target = call.options.target
    if target is None:
        _show_all(call, loaded)
    elif "/" in target:  # this is a URL, even if https:// is missing
        _show_url(call, loaded, target if "://" in target else f"https://{target}")
    else:
        _show_rule(call, loaded, _rule_of(loaded, f"https://{target}/", target))


def _read(call: Call) -> load.Loaded:
    folder = rules_folder(call.settings)
    files: list[Path] = call.options.files
    if not files:
        return load.read_folder(folder)
    return load.read_files(files, files[0].parent, folder)


def _rows(problems: list[Problem]) -> list[dict[str, Any]]:
    return [
        {"file": problem.file, "line": problem.line, "key": problem.key, "text": problem.text}
        for problem in problems
    ]


def _rule_of(loaded: load.Loaded, url: str, target: str) -> Rule:
    try:
        return loaded.rules.for_url(url)
    except ValueError as error:
        raise ArgumentError(f"{target!r} is neither a URL nor a domain such as example.org") from error


def _show_all(call: Call, loaded: load.Loaded) -> None:
    rows = load.overview(loaded)
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
                load.duration(row["delay"]),
                row["file"],
            )
            for row in rows
        ],
    )


def _show_url(call: Call, loaded: load.Loaded, url: str) -> None:
    rule = _rule_of(loaded, url, url)
    found = {**verdict(loaded, url), "judgement": _judgement(call, url, rule)}
    if call.json:
        call.document({**found, "rule": _as_json(load.effective(loaded, rule))})
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


def _show_rule(call: Call, loaded: load.Loaded, rule: Rule) -> None:
    values = load.effective(loaded, rule)
    if call.json:
        call.document({"file": rule.file, "rule": _as_json(values)})
        return
    if loaded.rules.get(rule.domain) is None:
        call.text(f"{rule.domain} has no rule; the defaults apply")
    call.table(
        columns("key | where | value *"),
        [(value.key, where, text) for value in values for where, text in _lines(value)],
    )


def _as_json(values: list[load.Value]) -> dict[str, Any]:
    return {value.key: {"value": value.value, "where": value.where} for value in values}


def _lines(value: load.Value) -> list[tuple[str, str]]:
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
    "interval": lambda found: [f"{kind}: {load.duration(seconds)}" for kind, seconds in found.items()],
    "recrawl": lambda found: [f"{kind}: {way}" for kind, way in found.items()],
    "recheck": lambda found: [", ".join(map(load.duration, found))],
    "delay": lambda found: [load.duration(found)],
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
        "newsbot.apps.authoring.samples:test_rules",
        Argument("domains", nargs="*", metavar="DOMAIN"),
        _FIXTURES,
    ),
    Action(
        "export opml",
        "Write the feeds of all sites as OPML, with a folder for each tag, to stdout or a file",
        "newsbot.apps.export.formats:export_opml",
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
