"""``scrapy rules import``: what other projects know of sites, as rule files of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from newsbot.authoring.lists import Sites, read_news_please, read_opml
from newsbot.authoring.writing import rule_path, write_new
from newsbot.backends import rules_folder
from newsbot.cli.command import Call
from newsbot.errors import ArgumentError, RulesError
from newsbot.rules.import_ftr import MAX_BYTES, import_ftr

MAX_FILES = 20_000
_SHOWN = 30


def from_ftr(call: Call) -> int:
    """Import site files of ftr-site-config: a file, or a folder of them."""
    path: Path = call.options.path
    made: list[tuple[str, str]] = []
    taken: dict[str, str] = {}
    told: list[tuple[str, int, str]] = []
    for file in _ftr_files(path):
        try:
            with file.open("rb") as stream:
                found = import_ftr(file.name, stream.read(MAX_BYTES + 1))
        except (ValueError, OSError) as error:
            told.append((file.name, 0, str(error)))
            continue
        told += [(file.name, line, reason) for line, reason in found.left_out]
        if found.is_empty:
            told.append((file.name, 0, "nothing in it could be carried over"))
        elif (first := taken.setdefault(found.domain, file.name)) != file.name:
            told.append((file.name, 0, f"left out, {first} has the rule of {found.domain}"))
        else:
            made.append((found.domain, found.as_yaml()))
    return _write(call, made, told)


def from_opml(call: Call) -> int:
    """Import the feeds of an OPML file as short rules."""
    return _from_list(call, read_opml)


def from_news_please(call: Call) -> int:
    """Import a site list of news-please as short rules."""
    return _from_list(call, read_news_please)


def _from_list(call: Call, read: Callable[[bytes], Sites]) -> int:
    path: Path = call.options.path
    try:
        sites = read(_read(path))
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}") from error
    made = [(domain, sites.as_yaml(domain)) for domain in sites.domains]
    return _write(call, made, [(path.name, 0, reason) for reason in sites.left_out])


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
        raise ArgumentError(f"{path}: holds no site file (example.org.txt)")
    yield from files[:MAX_FILES]


def _exactness(file: Path) -> tuple[str, int]:
    """Let ``example.org.txt`` come before ``www.example.org.txt`` and ``.example.org.txt`` (subdomains)."""
    name = file.name.lstrip(".").removeprefix("www.")
    return name, len(file.name) - len(name) + file.name.startswith(".") * len("www.")


def _write(call: Call, made: Iterable[tuple[str, str]], told: list[tuple[str, int, str]]) -> int:
    """Write the rules; those that are there already stay as they are."""
    folder = rules_folder(call.settings) if call.options.into is None else call.options.into
    written: list[str] = []
    kept: list[str] = []
    for domain, text in made:
        path = rule_path(folder, domain)
        if path.exists():
            kept.append(domain)
            continue
        try:
            write_new(path, text)
            written.append(domain)
        except RulesError as error:
            told += [(domain, problem.line, problem.text) for problem in error.problems]
    if call.json:
        rows = [{"file": file, "line": line, "text": text} for file, line, text in told]
        call.document({"written": written, "kept": kept, "left_out": rows})
        return 0
    for file, line, text in told[:_SHOWN]:
        call.note(f"{file}:{line}: {text}" if line else f"{file}: {text}")
    if len(told) > _SHOWN:
        call.note(f"… and {len(told) - _SHOWN} more (--json shows all)")
    call.text(
        f"{len(written)} rules written to {folder}, {len(kept)} were there and stay as they are, "
        f"{len(told)} things were left out"
    )
    return 0
