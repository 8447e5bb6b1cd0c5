"""Warnings about rules that are valid but probably mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

from newsbot.errors import Problem
from newsbot.items import Kind
from newsbot.pages.rules.expressions import compile_pattern
from newsbot.pages.rules.load import Loaded, RuleFile
from newsbot.pages.rules.rule import Pattern, Rule, classify
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


def find_hints(loaded: Loaded) -> list[Problem]:
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


def _hint(file: RuleFile, key: str, text: str, line: int | None = None) -> Problem:
    return Problem(file.file, line or file.lines.get(key, 0), key, text)


def _defaults_hints(file: RuleFile) -> Iterator[Problem]:
    for key in _URL_KEYS:
        if key in file.lines:
            yield _hint(file, key, "applies to every site whose file does not have the key; is this right?")


def _domain_hints(file: RuleFile) -> Iterator[Problem]:
    domain = file.values["domain"]
    if domain.startswith("www."):
        yield _hint(file, "domain", f"covers {domain} only; {domain.removeprefix('www.')!r} covers both")


def _pattern_hints(file: RuleFile) -> Iterator[Problem]:
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


def _never(text: str, file: RuleFile) -> str | None:
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


def _url_hints(file: RuleFile, rule: Rule) -> Iterator[Problem]:
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


def _deny_hints(file: RuleFile, rule: Rule) -> Iterator[Problem]:
    for key, patterns in (("article", rule.article), ("section", rule.section)):
        for pattern in patterns:
            # The hint is given only if all samples are denied. Otherwise the pattern is useful for other
            # URLs.
            verdicts = [classify(rule, "https://h" + sample) for sample in samples(pattern.text)]
            if pattern.file == file.file and verdicts and all(verdict.denied for verdict in verdicts):
                text = f"each URL that {pattern.text!r} matches is denied by {verdicts[0].pattern}; deny wins"
                yield _hint(file, key, text, pattern.line)


def _pace_hints(file: RuleFile, rule: Rule) -> Iterator[Problem]:
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
