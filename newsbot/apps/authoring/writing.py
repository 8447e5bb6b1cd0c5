"""Writes rule files, and adds keys to existing files. Only valid rules are written."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.apps.files import replacing
from newsbot.errors import ArgumentError, RulesError
from newsbot.pages.rules.load import DEFAULTS, read_rule_file, shipped_folder
from newsbot.pages.rules.rule import ascii_domain
from newsbot.urls import host_key


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
    made = []
    for domain in starter_sites():
        path = rule_path(folder, domain)
        if not path.exists():
            write_new(path, (shipped_folder() / path.name).read_text(encoding="utf-8"))
            made.append(path.name)
    return made
