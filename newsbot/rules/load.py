"""Loading the rules folder: all files, all problems at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.errors import Problem, RulesError
from newsbot.rules.rulefile import RuleFile, build_rule, read_rule_file
from newsbot.rules.ruleset import RuleSet, ascii_domain
from newsbot.rules.yamlfile import MAX_BYTES

DEFAULTS = "_defaults.yaml"
_BUILT_IN = "(built in)"

Place = Path | Traversable
"""A folder or file: on disk, or inside the egg that scrapyd runs."""


@dataclass(slots=True)
class Loaded:
    """What was read: the files, their problems, and the rules of the files that have none."""

    files: list[RuleFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    rules: RuleSet = field(default_factory=lambda: RuleSet(()))
    defaults: RuleFile = field(default_factory=lambda: RuleFile(_BUILT_IN))


def load_rules(folder: Place) -> RuleSet:
    """Return the rules of a folder. Raises :class:`RulesError` with all problems of all files."""
    loaded = read_folder(folder)
    if loaded.problems:
        raise RulesError(loaded.problems)
    return loaded.rules


def read_folder(folder: Place) -> Loaded:
    """Read all rule files of a folder; problems are noted, not raised."""
    try:
        if not folder.is_dir():
            return _no_rules(folder, "there is no such rules folder")
        children = sorted(folder.iterdir(), key=lambda child: child.name)
    except OSError as error:
        return _no_rules(folder, f"the rules folder cannot be read ({error.strerror})")
    files = [child for child in children if _is_visible(child) and child.is_file()]
    rule_files = [child for child in files if child.name.endswith(".yaml")]
    strays = [
        child for child in files if child.name.lower().endswith((".yml", ".yaml")) and child not in rule_files
    ]
    if not rule_files and not strays:
        return _no_rules(folder, "the rules folder holds no rule file (<domain>.yaml)")
    loaded = read_files(rule_files)
    loaded.problems += [
        Problem(shown(stray), 0, "", "rule files end in .yaml in lower case; rename this one")
        for stray in strays
    ]
    return loaded


def read_files(paths: Iterable[Place], defaults: Place | None = None) -> Loaded:
    """Read rule files; ``defaults`` is used unless one of them is ``_defaults.yaml``."""
    by_name = list(paths)
    given = [path for path in by_name if path.name == DEFAULTS] or ([defaults] if defaults else [])
    loaded = Loaded()
    for path in given:
        loaded.defaults = _read(path, is_defaults=True)
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


def shown(path: Place) -> str:
    """Return a path as people know it: relative to the working folder if it lies in there."""
    if isinstance(path, Path) and path.is_absolute() and path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _no_rules(folder: Place, text: str) -> Loaded:
    remedy = f"{text}; set NEWSBOT_RULES to the folder with your rule files"
    return Loaded(problems=[Problem(shown(folder), 0, "", remedy)])


def _is_visible(path: Place) -> bool:
    return not path.name.startswith(".")


def _read(path: Place, *, is_defaults: bool = False) -> RuleFile:
    file = shown(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        problem = Problem(file, 0, "", f"cannot be read ({error.strerror or error})")
        return RuleFile(file, problems=[problem])
    return read_rule_file(file, data, is_defaults=is_defaults)


def _check_name(name: str, file: RuleFile) -> None:
    domain = file.values.get("domain")
    stem = name.removesuffix(".yaml")
    try:
        same = ascii_domain(stem) == domain
    except ValueError:
        same = False
    if domain is not None and not same:
        text = f"{domain!r} does not fit the file name {name!r}; rename the file to {domain + '.yaml'!r}"
        file.problems.append(Problem(file.file, file.lines["domain"], "domain", text))


def _check_unique(files: Iterable[RuleFile]) -> None:
    first: dict[str, RuleFile] = {}
    for file in files:
        domain = file.values.get("domain")
        if domain is None:
            continue
        other = first.setdefault(domain, file)
        if other is not file:
            text = f"{domain!r} has a rule already: {other.file}:{other.lines['domain']}; keep one of them"
            file.problems.append(Problem(file.file, file.lines["domain"], "domain", text))
