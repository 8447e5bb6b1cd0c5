"""Writes rule files: never over a person's file, and never a file that cannot be read back."""

from __future__ import annotations

from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.errors import ArgumentError, RulesError
from newsbot.rules.load import read_rule_file
from newsbot.rules.ruleset import ascii_domain


def rule_path(folder: Path | Traversable, domain: str) -> Path:
    """Return the path of a domain's rule. Raises :class:`ArgumentError` for a bad domain or a missing
    folder.
    """
    try:
        name = ascii_domain(domain)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    if not isinstance(folder, Path):
        raise ArgumentError("the rules are inside the package; set NEWSBOT_RULES to a folder of your own")
    return folder / f"{name}.yaml"


def write_new(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a rule file. Raises :class:`ArgumentError` if it exists already, RulesError if it is not
    valid.
    """
    if path.exists() and not replace:
        raise ArgumentError(f"{path} exists; edit it, or move it away first")
    data = text.encode()
    problems = read_rule_file(str(path), data).problems
    if problems:
        raise RulesError(problems)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be written ({error.strerror})") from error


def add_key(path: Path, domain: str, key: str, lines: list[str]) -> None:
    """Add a key to a rule file, or create the file. Raises :class:`ArgumentError` if the key exists."""
    if not path.exists():
        write_new(path, "\n".join([f"domain: {domain}", *lines]) + "\n")
        return
    text = path.read_text(encoding="utf-8")
    file = read_rule_file(str(path), text.encode())
    if file.problems:
        raise RulesError(file.problems)
    if key in file.lines:
        raise ArgumentError(f"{path}:{file.lines[key]}: has {key!r}; take over by hand what you want")
    write_new(path, text.rstrip("\n") + "\n" + "\n".join(lines) + "\n", replace=True)
