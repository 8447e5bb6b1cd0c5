"""Imports site files of the public ftr-site-config collection (Full-Text RSS) as rules.

The collection has one file per site, with one ``key: value`` per line
(https://help.fivefilters.org/full-text-rss/site-patterns.html). The import reads the alternative XPaths of
each field, the parts to strip, the links to next pages, and the test pages. Lines that newsbot does not
support are reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from yaml.reader import Reader

from newsbot.pages.rules.expressions import PREFIX, read_selector
from newsbot.pages.rules.rule import ascii_domain

MAX_BYTES = 256 * 1024
"""Maximum size of a file."""
MAX_LINES = 2000
"""Maximum number of lines that are read."""
MAX_ALTERNATIVES = 40
"""Maximum number of selectors for one field, and of parts to remove."""
# Key of a site file -> field of newsbot.
_FIELDS = {
    "title": "title",
    "body": "text",
    "date": "published_at",
    "author": "authors",
    "next_page_link": "next_page",
}
_STRIPS = ("strip", "strip_id_or_class", "strip_image_src")
_NEEDLESS = ("tidy", "prune", "autodetect_on_failure", "parser", "test_contains", "test_url", "wrap_in")
"""Options and tests of Full-Text RSS itself. Rules do not need them, so they are ignored and not reported."""
# "body: //div" or "replace_string(<br>): <p>"; the argument in brackets is ignored
_LINE = re.compile(r"([a-z_]{1,40})(?:\([^)]{0,500}\))?\s{0,20}:\s{0,20}(.*)", re.DOTALL)
# The call of a function: concat(…)
_FUNCTION = re.compile(r"[a-z-]{1,40}\(")
_FIELD_ORDER = ("title", "text", "authors", "published_at", "next_page")


@dataclass(slots=True)
class Imported:
    """The result of importing one file."""

    domain: str
    extract: dict[str, list[str]] = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)
    test_urls: list[str] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)
    """Line number (0 for the whole file) and reason for everything that could not be imported."""

    @property
    def kept(self) -> int:
        """The number of imported selectors."""
        return sum(map(len, self.extract.values())) + len(self.remove)

    def as_yaml(self) -> str:
        """Return the content of the rule file. Test pages are comments in it."""
        lines = [f"# from ftr-site-config, {self.domain}.txt", f"domain: {self.domain}"]
        lines += [f"# test page: {url}" for url in self.test_urls[:3]]
        if self.extract:
            lines.append("extract:")
        for name in _FIELD_ORDER:
            if self.extract.get(name):
                lines.append(f"  {name}:")
                lines += [f"    - {_quoted(text)}" for text in self.extract[name]]
        if self.remove:
            lines.append("remove:")
            lines += [f"  - {_quoted(text)}" for text in self.remove]
        return "\n".join(lines) + "\n"


def domain_of(name: str) -> str:
    """Return the domain for a file name such as ``example.org.txt`` or ``.example.org.txt``.

    Raises ``ValueError`` if the name does not have this form.
    """
    # A leading dot means that the file applies to subdomains too. Rules of newsbot always apply to
    # subdomains.
    stem = name.removesuffix(".txt").lstrip(".").removeprefix("www.")
    if not name.endswith(".txt") or "." not in stem:
        raise ValueError(f"{name!r} is not a site file; its name should be for example example.org.txt")
    return ascii_domain(stem)


def import_ftr(name: str, data: bytes) -> Imported:
    """Convert one site file to a rule. ``name`` is the file's name and ``data`` its content.

    Raises ``ValueError`` if the name does not contain a domain. Faults in the content of the file are part of
    the result.
    """
    result = Imported(domain_of(name))
    if len(data) > MAX_BYTES:
        result.left_out.append((0, f"the file is larger than {MAX_BYTES // 1024} kB"))
        return result
    lines = data.decode("utf-8-sig", "replace").splitlines()
    for number, line in enumerate(lines[:MAX_LINES], 1):
        text = line.strip()
        if text and not text.startswith("#"):
            _take(result, number, text)
    if len(lines) > MAX_LINES:
        result.left_out.append((MAX_LINES + 1, f"only the first {MAX_LINES} lines are read"))
    return result


def _take(result: Imported, number: int, text: str) -> None:
    """Add one line of a site file to the result."""
    parts = _LINE.fullmatch(text)
    if parts is None:
        result.left_out.append((number, f"not understood: {text[:80]}"))
        return
    if Reader.NON_PRINTABLE.search(text):
        result.left_out.append((number, f"{parts[1]}: contains a character that rule files must not contain"))
        return
    key, value = parts[1], parts[2].strip()
    try:
        if key == "test_url":
            result.test_urls.append(value.split()[0][:500] if value else "")
        elif key in _FIELDS:
            selector = _selector(value)
            _add(result.extract.setdefault(_FIELDS[key], []), selector)
        elif key in _STRIPS:
            _add(result.remove, _selector(_strip(key, value)))
        elif key not in _NEEDLESS:
            result.left_out.append((number, f"{key}: not supported by newsbot"))
    except ValueError as error:
        result.left_out.append((number, f"{key}: {error}"))


def _strip(key: str, value: str) -> str:
    """Return the XPath of a part to remove. Raises ``ValueError`` if the value is not valid."""
    if key == "strip":
        return value
    # The name becomes a literal in an XPath, and XPath 1.0 cannot escape quotes in a literal.
    plain = value.strip("'\" ")
    if not plain or "'" in plain:
        raise ValueError(f"{value!r} is not a name")
    if key == "strip_image_src":
        return f"//img[contains(@src, '{plain}')]"
    return f"//*[contains(@class, '{plain}') or contains(@id, '{plain}')]"


def _selector(xpath: str) -> str:
    """Convert an XPath to the form of rule files.

    Raises ``ValueError`` if it does not select a part of a page, or is too slow for :func:`read_selector`.
    """
    # normalize-space() and string() around a path only clean its text, which newsbot does anyway. Other
    # functions compute a text.
    if _FUNCTION.match(xpath):
        # normalize-space(//h1) and string(//h1)
        inner = re.fullmatch(r"(?:normalize-space|string)\(\s*(//[^()]*)\)", xpath)
        if inner is None:
            raise ValueError(f"{xpath[:80]!r} works on text; a selector must select a part of the page")
        xpath = inner[1]
    if " " not in xpath and not xpath.startswith(("/", "(", ".")):
        raise ValueError(f"{xpath[:80]!r} is not an absolute path")
    return read_selector(PREFIX + xpath).text


def _add(alternatives: list[str], text: str) -> None:
    if len(alternatives) >= MAX_ALTERNATIVES:
        raise ValueError(f"more than {MAX_ALTERNATIVES} alternatives")
    if text not in alternatives:
        alternatives.append(text)


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("'", "''") + "'"
