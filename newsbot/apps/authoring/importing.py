"""``scrapy rules import``: makes rule files from the site lists of other projects.

The public collection ftr-site-config (Full-Text RSS) has one file per site, with one ``key: value`` per line
(https://help.fivefilters.org/full-text-rss/site-patterns.html). The import reads the alternative XPaths of
each field, the parts to strip, the links to next pages, and the test pages. Lines that newsbot does not
support are reported.

``newsbot init`` makes a project: a folder with rules, settings and ``scrapy.cfg``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from yaml.reader import Reader

from newsbot.apps.authoring.learn import STARTER, add_rules, add_starter, list_lines, starter_sites
from newsbot.backends import rules_folder
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, counted
from newsbot.errors import MAX_QUOTE, ArgumentError
from newsbot.pages.rules.rule import PREFIX, ascii_domain, read_selector
from newsbot.urls import canonicalize, host_key, site_of

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
            lines += list_lines(name, map(_plain, self.extract.get(name, ())), "  ")
        return "\n".join([*lines, *list_lines("remove", map(_plain, self.remove))]) + "\n"


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
            _add_selector(result.extract.setdefault(_FIELDS[key], []), selector)
        elif key in _STRIPS:
            _add_selector(result.remove, _selector(_strip(key, value)))
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


def _add_selector(alternatives: list[str], text: str) -> None:
    if len(alternatives) >= MAX_ALTERNATIVES:
        raise ValueError(f"more than {MAX_ALTERNATIVES} alternatives")
    if text not in alternatives:
        alternatives.append(text)


def _plain(text: str) -> str:
    return " ".join(text.split())


MAX_LIST_BYTES = 20 * 2**20
MAX_SITES = 20_000
"""Maximum number of domains that are imported from one list."""
MAX_FEEDS = 100
"""Maximum number of feeds, and of seeds (start pages), of one domain."""
MAX_TAGS = 8
"""Maximum number of tags of one domain."""
MAX_TAG = 40
"""Maximum number of characters of a tag."""
_NO_TAG = re.compile(r"\W+")
_COMMENT = re.compile(r"^\s*(?:#|//).*$", re.MULTILINE)
# Matches a comma before a closing bracket. HJSON allows this comma, but JSON does not.
_COMMA = re.compile(r",(\s*[}\]])")
_FEED_SCHEME = re.compile(r"^\s*feed:(//)?(?=\S)", re.IGNORECASE)
"""Matches the beginning of a feed URL in an old form.

Examples are ``feed://example.org/rss`` and ``feed:https://example.org/rss``.
"""


@dataclass(slots=True)
class Sites:
    """The sites of a list, by domain."""

    feeds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Domain -> URLs of feeds."""
    seeds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Domain -> URLs of start pages."""
    tags: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Domain -> tags."""
    left_out: list[str] = field(default_factory=list)
    """URLs that could not be imported, each with the reason."""

    @property
    def domains(self) -> list[str]:
        """All domains, sorted."""
        return sorted({*self.feeds, *self.seeds})

    def as_yaml(self, domain: str) -> str:
        """Return the content of the rule file for a domain."""
        lines = [f"domain: {domain}"]
        for key, texts in (("feeds", self.feeds), ("seeds", self.seeds), ("tags", self.tags)):
            # get(), because a defaultdict adds a missing key that is read with [].
            lines += list_lines(key, texts.get(domain, ()))
        return "\n".join(lines) + "\n"

    def rules(self) -> list[tuple[str, str]]:
        """Return pairs of a domain and the content of its rule file."""
        return [(domain, self.as_yaml(domain)) for domain in self.domains]


def read_opml(data: bytes) -> Sites:
    """Return the feeds of an OPML file (http://opml.org/spec2.opml). Folders become tags.

    Raises ``ValueError`` if the file is not OPML or contains no feed.
    """
    sites = Sites()
    try:
        root = fromstring(_bounded(data))
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError(f"is not well-formed OPML ({str(error)[:MAX_QUOTE]})") from error
    if not root.tag.lower().endswith("opml"):
        raise ValueError(f"is not OPML: the file begins with <{root.tag[:MAX_QUOTE]}>")
    for outline, tags in _outlines(root):
        # OPML says "xmlUrl", but some programs write it in lower case.
        feed = outline.get("xmlUrl") or outline.get("xmlurl")
        if feed:
            address = _FEED_SCHEME.sub(_of_feed, feed)
            domain = _add(sites, sites.feeds, address, home_page=outline.get("htmlUrl"))
            if domain is not None and tags:
                # a domain may have feeds in several folders
                sites.tags[domain] = list(dict.fromkeys([*sites.tags[domain], *tags]))[:MAX_TAGS]
    if not sites.feeds and not sites.left_out:
        raise ValueError("contains no feed: no outline has an xmlUrl")
    return sites


def read_addresses(data: bytes) -> Sites:
    """Return the sites of a list with one address per line. ``#`` begins a comment.

    An address is a domain, a home page, a feed or a section. Raises ``ValueError`` if there is none.
    """
    sites = Sites()
    for line in _bounded(data).decode("utf-8-sig", "replace").splitlines():
        address = line.strip()
        if address and not address.startswith("#"):
            url = address if "://" in address else f"https://{address}"
            if "." not in url:
                sites.left_out.append(f"{address[:100]}: is not an address")
                continue
            is_home = urlsplit(url).path in {"", "/"}
            kind = sites.seeds if is_home or not _is_feed(url) else sites.feeds
            domain = _add(sites, kind, url)
            if is_home and domain is not None:
                # A rule without sources looks for them, beginning at the home page.
                kind[domain].remove(url)
    if not sites.domains and not sites.left_out:
        raise ValueError("contains no address")
    return sites


def read_list(data: bytes) -> Sites:
    """Return the sites of a list: OPML, or one address per line. Raises ``ValueError``."""
    # OPML has no fixed file name, so the content decides. UTF-16 has a byte order mark, and zeros between the
    # letters.
    is_xml = re.match(rb"[\s\0\xef\xbb\xbf\xfe\xff]*<", data)
    return (read_opml if is_xml else read_addresses)(data)


def _outlines(root: Element) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """Yield all elements in the order of the file, each with the names of its folders as tags."""
    waiting: list[tuple[Element, tuple[str, ...]]] = [(root, ())]
    while waiting:
        element, tags = waiting.pop()
        yield element, tags
        name = (element.get("text") or element.get("title") or "").lower()
        tag = _NO_TAG.sub("-", name).strip("-_")[:MAX_TAG].strip("-_")
        inner = (*tags, tag) if tag and len(tags) < MAX_TAGS else tags
        # reversed: pop() takes the last one, so the elements come in the order of the file
        waiting += [(child, inner) for child in reversed(element)]


def read_news_please(data: bytes) -> Sites:
    """Return the sites of a ``sitelist.hjson`` of news-please.

    The file has a list ``base_urls``. Each entry is a URL, or an object whose ``url`` is one URL or a list of
    URLs. Only a part of the syntax of HJSON (https://hjson.github.io) is supported: comments, keys without
    quotes, and missing or superfluous commas. Raises ``ValueError`` for other syntax.
    """
    text = _COMMA.sub(r"\1", _COMMENT.sub("", _bounded(data).decode("utf-8-sig", "replace")))
    try:
        document = json.loads(_with_quoted_keys(text))
        entries = document["base_urls"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("is not a site list of news-please: no 'base_urls' in it") from error
    sites = Sites()
    for entry in entries if isinstance(entries, list) else ():
        urls = entry.get("url") if isinstance(entry, dict) else entry
        feeds = entry.get("crawler") == "RssCrawler" if isinstance(entry, dict) else False
        for url in urls if isinstance(urls, list) else [urls]:
            _add(sites, sites.feeds if feeds and _is_feed(url) else sites.seeds, url)
    return sites


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_LIST_BYTES:
        raise ValueError(f"is larger than {MAX_LIST_BYTES // 2**20} MiB")
    return data


def _with_quoted_keys(text: str) -> str:
    """Convert HJSON to JSON: add quotes to keys, and missing commas at line ends."""
    # A text without quotes may contain "https:", which is not a key and is excluded by (?!//). The letters
    # "e" and "l" are the last letters of true, false and null.
    text = re.sub(r"(?m)(^|[{,])([ \t]*)([A-Za-z_]\w*)([ \t]*):(?!//)", r'\1\2"\3"\4:', text)
    return re.sub(r'(?m)(["\d\]}el])[ \t]*\n(\s*)(?=["{\[])', r"\1,\n\2", text)


def _is_feed(url: object) -> bool:
    return isinstance(url, str) and re.search(r"rss|feed|atom|\.xml", url, re.IGNORECASE) is not None


def _of_feed(scheme: re.Match[str]) -> str:
    return "http://" if scheme[1] else ""


def _host_of(home_page: str | None) -> str | None:
    """Return the host of a home page, or None if its URL is not valid. The feed may still be valid."""
    for address in (home_page or "", f"http://{(home_page or '').strip()}"):
        with suppress(ValueError):
            if "." in (host := host_key(address)):
                return host
    return None


def _add(
    sites: Sites, home: dict[str, list[str]], url: object, *, home_page: str | None = None
) -> str | None:
    """Add a URL and return its domain.

    If the URL is left out, return None and add the reason to ``sites.left_out``. If the home page is known,
    its domain is used, because feeds are often hosted by another service.
    """
    try:
        address = str(url).strip()
        canonicalize(address)
        domain = site_of(_host_of(home_page) or host_key(address))
    except ValueError as error:
        sites.left_out.append(f"{str(url)[:100]}: {error}")
        return None
    # ``home`` is a defaultdict: home[domain] adds the domain, so the limit is checked first.
    known = home[domain] if domain in home or len(sites.domains) < MAX_SITES else None
    if known is None or len(known) >= MAX_FEEDS:
        sites.left_out.append(f"{address[:100]}: the list has too many sites or feeds")
        return None
    if address not in known:
        known.append(address)
    return domain


@dataclass(slots=True)
class Written:
    """What became of the sites of a list."""

    written: list[str]
    """Domains whose rule was written."""
    kept: list[str]
    """Domains that have a rule already. It was not changed."""
    left_out: list[str]
    """What could not be imported, each with the reason."""


def add_list(folder: Path | Traversable, data: bytes) -> Written:
    """Write a rule for each site of a list: OPML, or one address per line.

    Raises :class:`ArgumentError` if the list has no site, or if a rule cannot be written.
    """
    try:
        sites = read_list(data)
    except ValueError as error:
        raise ArgumentError(f"the list {error}") from error
    if not sites.domains:
        raise ArgumentError(f"the list contains no site: {sites.left_out[0]}")
    refused: list[tuple[str, int, str]] = []
    written, kept = add_rules(folder, sites.rules(), refused)
    left_out = [*sites.left_out, *(f"{domain}: {text}" for domain, _, text in refused)]
    return Written(_domains(written), _domains(kept), left_out)


def _domains(files: Iterable[str]) -> list[str]:
    return [name.removesuffix(".yaml") for name in files]


MAX_FILES = 20_000
"""Maximum number of files of a folder that are read."""
_SHOWN = 30
"""Maximum number of printed problems, and of printed rows."""


def from_ftr(call: Call) -> None:
    """Run ``scrapy rules import ftr``: import one site file of ftr-site-config, or a folder of them."""
    path: Path = call.options.path
    made: list[tuple[str, str]] = []
    kept: Counter[str] = Counter()
    taken: dict[str, str] = {}
    left_out: list[tuple[str, int, str]] = []
    for file in _ftr_files(path):
        try:
            with file.open("rb") as stream:
                # One byte more than allowed, so that import_ftr() can see that the file is too large.
                found = import_ftr(file.name, stream.read(MAX_BYTES + 1))
        except (ValueError, OSError) as error:
            left_out.append((file.name, 0, str(error)))
            continue
        left_out += [(file.name, line, reason) for line, reason in found.left_out]
        if not found.kept:
            left_out.append((file.name, 0, "it contains no lines that newsbot can import"))
        # Two files can be for the same domain, such as example.org.txt and .example.org.txt. The first file
        # is used.
        elif (first := taken.setdefault(found.domain, file.name)) != file.name:
            left_out.append((file.name, 0, f"{first} already gives the rule of {found.domain}"))
        else:
            made.append((found.domain, found.as_yaml()))
            kept[file.name] = found.kept
    _write(call, made, left_out, kept)


def from_opml(call: Call) -> None:
    """Run ``scrapy rules import opml``: import the feeds of an OPML file as short rules."""
    _from_list(call, read_opml)


def from_news_please(call: Call) -> None:
    """Run ``scrapy rules import news-please``: import a site list of news-please as short rules."""
    _from_list(call, read_news_please)


def _from_list(call: Call, read: Callable[[bytes], Sites]) -> None:
    path: Path = call.options.path
    try:
        sites = read(_read(path))
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}") from error
    kept = Counter({path.name: sum(map(len, (*sites.feeds.values(), *sites.seeds.values())))})
    _write(call, sites.rules(), [(path.name, 0, reason) for reason in sites.left_out], kept)


# --- newsbot init
def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read ({error.strerror})") from error


def _ftr_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    try:
        files = sorted((file for file in path.iterdir() if file.suffix == ".txt"), key=_exactness)
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read ({error.strerror})") from error
    if not files:
        raise ArgumentError(f"{path}: contains no site file (example.org.txt)")
    yield from files[:MAX_FILES]


def _exactness(file: Path) -> tuple[str, int]:
    """Return a sort key: ``example.org.txt`` is before ``www.example.org.txt`` and ``.example.org.txt``."""
    name = file.name.lstrip(".").removeprefix("www.")
    # 0 for the bare name, 4 for "www.", 5 for "." (all subdomains).
    return name, len(file.name) - len(name) + file.name.startswith(".") * len("www.")


def _write(
    call: Call, made: Iterable[tuple[str, str]], left_out: list[tuple[str, int, str]], taken: Counter[str]
) -> None:
    """Write the rules and print a summary. Existing rule files are not changed.

    ``made`` has pairs of a domain and the content of its rule file. ``left_out`` has the items that were left
    out, each with file, line and reason. ``taken`` counts the imported items of each file.
    """
    folder = rules_folder(call.settings) if call.options.into is None else call.options.into
    written, kept = map(_domains, add_rules(folder, made, left_out))
    lost = Counter(file for file, _, _ in left_out)
    if call.json:
        rows = [{"file": file, "line": line, "text": text} for file, line, text in left_out]
        files = [
            {"file": file, "kept": taken[file], "left_out": lost[file]} for file in sorted({*taken, *lost})
        ]
        call.document({"written": written, "kept": kept, "files": files, "left_out": rows})
        return
    for file, line, text in left_out[:_SHOWN]:
        call.note(f"{file}:{line}: {text}" if line else f"{file}: {text}")
    if len(left_out) > _SHOWN:
        call.note(f"… and {len(left_out) - _SHOWN} more (--json shows all)")
    if lost:
        columns = (Column("file", wide=True), Column("kept", "right"), Column("left out", "right"))
        call.table(columns, ((file, taken[file], count) for file, count in lost.most_common(_SHOWN)))
    call.text(
        f"{counted(len(written), 'rule')} written to {folder}, {len(kept)} skipped because they exist; "
        f"{counted(sum(taken.values()), 'item')} imported, {len(left_out)} left out"
    )


FILES = {
    "scrapy.cfg": "[settings]\ndefault = settings\n",
    "settings.py": '''\
"""Settings of this project. Environment variables and `-s NAME=VALUE` override those of newsbot.

docs/settings.md explains them. A value that is set here replaces the default and the environment variable.
"""

from newsbot.settings import *  # noqa: F403

# Site owners can reach you at this e-mail address or web page. It becomes part of the user agent.
# NEWSBOT_CONTACT = "https://example.org/crawler"
''',
    "rules/README.md": """\
Each site has a file, for example `example.org.yaml`, which needs only one line:

    domain: example.org

`newsbot rules new example.org` writes a rule from a small crawl, and `newsbot rules check` checks all rules.
""",
    ".gitignore": "/data/\n",
}
"""Path in the project -> content."""
SHOWN_ADDRESSES = 20
"""Maximum number of addresses without a rule that are printed."""


def init(call: Call) -> int:
    """Run ``newsbot init``. The exit code is 1 if an address could not be used."""
    folder: Path = call.options.folder.expanduser()
    chosen: Path | None = call.options.sites
    # A file with this name can be given as ./starter
    starter = chosen is not None and str(chosen) == STARTER
    sites = Sites() if chosen is None or starter else _sites_in(chosen)
    made = [name for name in FILES if _write_missing(folder / name, FILES[name])]
    place = folder / "rules"
    rules = add_starter(place) if starter else add_rules(place, sites.rules())[0]
    if call.json:
        where = str(folder.absolute())
        call.document({"folder": where, "files": made, "rules": rules, "left_out": sites.left_out})
    else:
        _tell(call, folder.absolute(), rules)
        for reason in sites.left_out[:SHOWN_ADDRESSES]:
            call.note(reason)
    return 1 if sites.left_out else 0


def _sites_in(path: Path) -> Sites:
    try:
        return read_list(sys.stdin.buffer.read(MAX_LIST_BYTES + 1) if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}") from error


def _write_missing(path: Path, text: str) -> bool:
    """Write a file and return True, or return False if it exists."""
    if path.exists():
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be written ({error.strerror})") from error
    return True


def _tell(call: Call, folder: Path, rules: list[str]) -> None:
    call.text(f"project: {folder}")
    call.text(f"rules:   {folder / 'rules'} ({counted(len(rules), 'new rule')})")
    call.text(f"data:    {folder / 'data'} (a crawl creates it)")
    begin = "" if folder == Path.cwd() else f"cd {folder} && "
    if any((folder / "rules").glob("*.yaml")):
        call.text(f"next:    {begin}{PROGRAM} crawl")
        return
    call.text("The project has no sites yet. Ways to begin:")
    call.text(f"  to try:      {begin}{PROGRAM} demo")
    call.text(f"  own sites:   {begin}{PROGRAM} rules new example.org")
    call.text(f"  a list:      {begin}{PROGRAM} rules import opml FILE")
    number = len(starter_sites())
    call.text(f"  a collection of {number} news sites: {begin}{PROGRAM} init --sites {STARTER}")


ACTIONS = (
    Action(
        "",
        "Make a project: a folder with rules, settings and scrapy.cfg. Existing files are kept.",
        init,
        Argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="default: ."),
        Argument(
            "--sites",
            type=Path,
            metavar="FILE",
            help="an OPML file, a file with one address of a site or feed per line (- is stdin), or "
            "starter: the news sites that newsbot brings along",
        ),
    ),
)
