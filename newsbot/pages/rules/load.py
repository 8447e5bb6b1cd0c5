"""Loads all files of a rules folder, and reports all their problems at once.

:class:`RulesWatch` and :class:`PresentRules` reload the rules if a file changes while a crawl or a server is
running.

Rules are shown in readable form: the rule of a URL, its values, and the lines where they are written.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from newsbot.errors import Problem, RulesError
from newsbot.items import Kind
from newsbot.pages.rules.keys import KEYS, MAX_BYTES, Place, YamlFault, entries, line_of, read_tree
from newsbot.pages.rules.rule import Layout, Pattern, Rule, RuleSet, Selector, ascii_domain, classify
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

INTERVALS: dict[Kind, float] = {
    Kind.FEED: 600.0,
    Kind.SITEMAP: 900.0,
    Kind.SECTION: 1800.0,
    Kind.ARTICLE: 3600.0,
    Kind.OTHER: 604800.0,
}
"""Kind of a page -> seconds between two visits if no rule file states them."""


@dataclass(slots=True)
class RuleFile:
    """The readable content of one rule file."""

    file: str
    """Name of the file in messages."""
    values: dict[str, Any] = field(default_factory=dict)
    """Values by key. Keys with a faulty value are missing."""
    lines: dict[str, int] = field(default_factory=dict)
    """Line number of each key, from 1."""
    problems: list[Problem] = field(default_factory=list)


def read_rule_file(file: str, data: bytes, *, is_defaults: bool = False) -> RuleFile:
    """Read the content of one file. Problems are in the result.

    ``file`` is the name of the file in messages. ``is_defaults`` is True for ``_defaults.yaml``, which may be
    empty and has no domain.
    """
    result = RuleFile(file)
    place = Place(file, "", result.problems)
    try:
        root = read_tree(data)
    except YamlFault as fault:
        result.problems.append(Problem(file, fault.line, "", str(fault)))
        return result
    # YAML has no root for a file of comments, and an empty scalar after a line "---".
    if root is None or (isinstance(root, yaml.ScalarNode) and root.value == ""):
        if not is_defaults:
            text = "the file is empty; the shortest rule is one line: 'domain: example.org'"
            result.problems.append(Problem(file, 1, "", text))
        return result
    for name, key_node, value_node in entries(root, place, KEYS):
        if is_defaults and name == "domain":
            place.at(name).fault(key_node, "the defaults apply to every site; delete this line")
            continue
        result.lines[name] = line_of(key_node)
        value = place.at(name).read(KEYS[name].read, value_node)
        if value is not None:
            result.values[name] = value
    if not is_defaults and isinstance(root, yaml.MappingNode) and "domain" not in result.lines:
        place.at("domain").fault(root, "is missing; write for example 'domain: example.org'")
    return result


def build_rule(own: RuleFile, defaults: RuleFile) -> Rule:
    """Return the rule of a file without problems. Missing values are taken from ``defaults``."""
    values = {name: _inherit(name, own.values, defaults.values) for name in {**defaults.values, **own.values}}
    # The defaults are also a rule, which has no domain. It applies to all sites without a rule file.
    values.setdefault("domain", "")
    values["interval"] = MappingProxyType(INTERVALS | values.get("interval", {}))
    values["recrawl"] = MappingProxyType(values.get("recrawl", {}))
    values["layouts"] = _layouts(own, defaults)
    plain = {name: value for name, value in values.items() if name not in ("extract", "remove")}
    return Rule(file=own.file, **plain)


def _inherit(name: str, own: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """Return the value of a key: the rule's value, the default value, or both joined."""
    if name not in own:
        return defaults[name]
    if name not in defaults or not KEYS[name].adds:
        return own[name]
    return _add(own[name], defaults[name])


def _add(own: Any, below: Any) -> Any:
    if isinstance(own, dict):
        return {**below, **own}
    return own + tuple(item for item in below if item not in own)


def _layouts(own: RuleFile, defaults: RuleFile) -> tuple[Layout, ...]:
    """Return the layouts, newest first.

    The last layout has the selectors at the top level of the file, and no ``valid_from``. ``extract`` and
    ``remove`` from the defaults are added to each layout.
    """
    below_extract = defaults.values.get("extract", {})
    below_remove = defaults.values.get("remove", ())
    found = [*own.values.get("layouts", defaults.values.get("layouts", ()))]
    top = Layout(None, own.values.get("extract", {}), own.values.get("remove", ()))
    if top.extract or top.remove or below_extract or below_remove:
        found.append(top)
    return tuple(
        Layout(
            layout.valid_from,
            MappingProxyType(_add(dict(layout.extract), below_extract)),
            _add(layout.remove, below_remove),
        )
        for layout in found
    )


DEFAULTS = "_defaults.yaml"
_BUILT_IN = "(built in)"

FilePlace = Path | Traversable
"""A folder or file: on disk, or inside the egg that scrapyd runs."""


@dataclass(slots=True)
class Loaded:
    """The result of loading: the files, their problems, and the rules of the files without problems."""

    files: list[RuleFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    rules: RuleSet = field(default_factory=lambda: RuleSet(()))
    defaults: RuleFile = field(default_factory=lambda: RuleFile(_BUILT_IN))


def load_rules(folder: FilePlace, *, needed: bool = True) -> RuleSet:
    """Return the rules of a folder.

    If there are problems, raises :class:`RulesError`, which has the problems of all files. A missing folder
    is a problem only if ``needed``.
    """
    loaded = read_folder(folder) if needed or folder.is_dir() else read_files(())
    if loaded.problems:
        raise RulesError(loaded.problems)
    return loaded.rules


def read_folder(folder: FilePlace) -> Loaded:
    """Read all rule files of a folder. Problems are in the result and are not raised."""
    try:
        if not folder.is_dir():
            return _no_rules(folder, "there is no rules folder here")
        children = sorted(folder.iterdir(), key=lambda child: child.name)
    except OSError as error:
        return _no_rules(folder, f"the rules folder cannot be read ({error.strerror})")
    visible = [child for child in children if _is_visible(child) and child.is_file()]
    rule_files = [child for child in visible if child.name.endswith(".yaml")]
    yaml_files = [child for child in visible if child.name.lower().endswith((".yml", ".yaml"))]
    strays = [child for child in yaml_files if not child.name.endswith(".yaml")]
    loaded = read_files(rule_files)
    loaded.problems += [
        Problem(shown(stray), 0, "", "rule files end in .yaml in lower case; rename this file")
        for stray in strays
    ]
    return loaded


def shipped_folder() -> FilePlace:
    """Return the folder of the rules that are shipped with newsbot.

    In a checkout, this is the project's folder ``rules/``. In an installed package, it is a copy inside the
    package.
    """
    project = Path(__file__).resolve().parents[3]
    return project / "rules" if (project / "scrapy.cfg").exists() else files("newsbot") / "site_rules"


def read_files(paths: Iterable[FilePlace], *folders: FilePlace) -> Loaded:
    """Read rule files. Problems are in the result and are not raised.

    The defaults are read from ``_defaults.yaml`` if it is among ``paths``. Otherwise they are read from the
    first folder that contains this file. The folders are searched in the order of ``folders``. The shipped
    folder comes last.
    """
    by_name = list(paths)
    places = [folder / DEFAULTS for folder in (*folders, shipped_folder())]
    defaults = [path for path in by_name if path.name == DEFAULTS] or [
        path for path in places if path.is_file()
    ]
    loaded = Loaded()
    if defaults:
        loaded.defaults = _read(defaults[0], is_defaults=True)
        loaded.problems += loaded.defaults.problems
    for path in by_name:
        if path.name != DEFAULTS:
            file = _read(path)
            _check_name(path.name, file)
            loaded.files.append(file)
    _check_unique(loaded.files)
    rules = []
    for file in loaded.files:
        loaded.problems += sorted(file.problems, key=lambda problem: problem.line)
        if not file.problems:
            rules.append(build_rule(file, loaded.defaults))
    loaded.rules = RuleSet(rules, build_rule(RuleFile(loaded.defaults.file), loaded.defaults))
    return loaded


def shown(path: FilePlace) -> str:
    """Return a path as messages show it. Inside the working folder it is relative to this folder."""
    return str(path).removeprefix(f"{Path.cwd()}{os.sep}")


def _no_rules(folder: FilePlace, text: str) -> Loaded:
    remedy = f"{text}; set NEWSBOT_RULES to the folder with your rule files"
    return Loaded(problems=[Problem(shown(folder), 0, "", remedy)])


def _is_visible(path: FilePlace) -> bool:
    return not path.name.startswith(".")


_USUAL_BYTES = 8192
"""Number of bytes that are read first.

Most files are smaller. Python allocates memory for all bytes that a read asks for, so a read of MAX_BYTES
would waste memory.
"""


def _read(path: FilePlace, *, is_defaults: bool = False) -> RuleFile:
    file = shown(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(_USUAL_BYTES)
            if len(data) == _USUAL_BYTES:
                # One byte more than is allowed, so that the parser can see that the file is too large.
                data += stream.read(MAX_BYTES + 1 - _USUAL_BYTES)
    except OSError as error:
        problem = Problem(file, 0, "", f"cannot be read ({error.strerror or error})")
        return RuleFile(file, problems=[problem])
    return read_rule_file(file, data, is_defaults=is_defaults)


def _check_name(name: str, file: RuleFile) -> None:
    """Record a problem if the file is not named after its domain."""
    domain = file.values.get("domain")
    stem = name.removesuffix(".yaml")
    # The name may have the domain in Unicode or in ASCII form.
    try:
        same = domain == stem or domain == ascii_domain(stem)
    except ValueError:
        same = False
    if domain is not None and not same:
        text = f"{domain!r} does not match the file name {name!r}; rename the file to {domain + '.yaml'!r}"
        file.problems.append(Problem(file.file, file.lines["domain"], "domain", text))


def _check_unique(files: Iterable[RuleFile]) -> None:
    """Record a problem for each file whose domain already has a rule in another file."""
    first: dict[str, RuleFile] = {}
    for file in files:
        domain = file.values.get("domain")
        if domain is None:
            continue
        other = first.setdefault(domain, file)
        if other is not file:
            text = f"{domain!r} already has a rule: {other.file}:{other.lines['domain']}; keep one of them"
            file.problems.append(Problem(file.file, file.lines["domain"], "domain", text))


Signature = tuple[tuple[str, int, int], ...]
"""Name, modification time in nanoseconds, and size in bytes of each file."""


class RulesWatch:
    """Checks on each call whether the files of a rules folder have changed.

    A folder inside a package (a ``Traversable`` that is not a ``Path``) is not checked, because it never
    changes.
    """

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder if isinstance(folder, Path) else None
        self._seen = self._look()

    def changed(self) -> RuleSet | None:
        """Return the new rules if files have changed since the last call and all are valid, else None.

        After each change, every problem is logged once, in one line. The caller keeps the old rules if the
        result is None.
        """
        now = self._look()
        if now == self._seen or self._folder is None or not now:
            return None
        # The state is stored before the files are loaded, so that their faults are reported only once.
        self._seen = now
        try:
            rules = load_rules(self._folder)
        except RulesError as error:
            for problem in error.problems:
                logger.error("rules wrong fault=%s", problem)
            logger.error("new rules not used faults=%d; the old rules stay in use", len(error.problems))
            return None
        logger.info("new rules in use rules=%d", len(rules))
        return rules

    def _look(self) -> Signature:
        """Return the state of the files.

        It is empty if the folder cannot be read, for example while a deployment replaces the folder.
        """
        if self._folder is None:
            return ()
        found = []
        try:
            for path in self._folder.iterdir():
                if path.suffix == ".yaml" and not path.name.startswith("."):
                    status = path.stat()
                    found.append((path.name, status.st_mtime_ns, status.st_size))
        except OSError:
            return ()
        return tuple(sorted(found))


class PresentRules:
    """The current rules, for several threads. They are loaded on first use."""

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder
        self._watch = RulesWatch(folder)
        self._rules: RuleSet | None = None
        self._lock = threading.Lock()

    def get(self) -> RuleSet:
        """Return the current rules, reloaded if files have changed.

        Raises :class:`newsbot.errors.RulesError` if the first load fails. Later faults are logged, and the
        last valid rules are returned.
        """
        with self._lock:
            changed = self._watch.changed() if self._rules is not None else load_rules(self._folder)
            self._rules = self._rules if changed is None else changed
            assert self._rules is not None
            return self._rules


_UNITS = ((604800, "w"), (86400, "d"), (3600, "h"), (60, "m"))


@dataclass(frozen=True, slots=True)
class Value:
    """One effective value of a rule."""

    key: str
    value: Any
    """The value in a JSON-serializable form."""
    where: str
    """``file:line`` of each place where the value is written, or ``(built in)``."""


def verdict(loaded: Loaded, url: str) -> dict[str, Any]:
    """Return what the rules say about a URL, as a JSON-serializable mapping.

    Raises ``ValueError`` if ``url`` is not an absolute http(s) URL.
    """
    rule = loaded.rules.for_url(url)
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    return {
        "url": url,
        "canonical": canonical,
        "domain": rule.domain,
        "file": rule.file,
        "kind": match.kind,
        "denied": match.denied,
        "pattern": None if match.pattern is None else plain(match.pattern),
    }


def effective(loaded: Loaded, rule: Rule) -> list[Value]:
    """Return all effective values of a rule, including defaults, with their origin."""
    own = next(
        (file for file in loaded.files if file.values.get("domain") == rule.domain), RuleFile(_BUILT_IN)
    )
    values: dict[str, Any] = {
        key: getattr(rule, key) for key in KEYS if key not in ("extract", "remove", "layouts")
    }
    values["layouts"] = rule.layouts
    return [Value(key, plain(value), _origin(key, own, loaded.defaults)) for key, value in values.items()]


def overview(loaded: Loaded) -> list[dict[str, Any]]:
    """Return one JSON-serializable row for each rule."""
    return [
        {
            "domain": rule.domain,
            "language": rule.language,
            "sources": {key: len(getattr(rule, key)) for key in ("seeds", "feeds", "sitemaps", "sections")},
            "patterns": {key: len(getattr(rule, key)) for key in ("article", "section", "deny")},
            "delay": rule.delay,
            "file": rule.file,
        }
        for rule in loaded.rules
    ]


def plain(value: Any) -> Any:
    """Return a value of a rule in a JSON-serializable form."""
    if isinstance(value, Pattern):
        return {"text": value.text, "file": value.file, "line": value.line}
    if isinstance(value, Selector):
        return value.text
    if isinstance(value, Layout):
        since = None if value.valid_from is None else value.valid_from.isoformat()
        return {"valid_from": since, "extract": plain(value.extract), "remove": plain(value.remove)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def duration(seconds: float) -> str:
    """Return seconds in the form of rule files: ``10m``, ``6h``, ``90s``."""
    for size, unit in _UNITS:
        if seconds and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:g}s"


def _origin(key: str, own: RuleFile, defaults: RuleFile) -> str:
    """Return the places where the value of a key is written (:attr:`Value.where`)."""
    keys = ("extract", "remove", "layouts") if key == "layouts" else (key,)
    found = [f"{own.file}:{own.lines[name]}" for name in keys if name in own.lines]
    # The defaults contribute if the rule does not have the key, or if the values of both are joined.
    adds = any(KEYS[name].adds for name in keys)
    if not found or adds:
        found += [f"{defaults.file}:{defaults.lines[name]}" for name in keys if name in defaults.lines]
    return ", ".join(found) or _BUILT_IN
