"""All imported packages are listed in the requirements, with version bounds and a reason."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
REASONS = re.findall(
    r"^\| ([^|]+) \|", (ROOT / "docs/decisions.md").read_text(encoding="utf-8"), re.MULTILINE
)


def named(file: str) -> dict[str, str]:
    """Return the requirements of a file: name in lower case with dashes, and the rest of the line.

    Files that it includes with ``-r`` are read too.
    """
    path = ROOT / file
    lines = path.read_text(encoding="utf-8").splitlines()
    others = [
        str((path.parent / line[3:].split()[0]).relative_to(ROOT)) for line in lines if line[:3] == "-r "
    ]
    found = [re.match(r"([A-Za-z0-9._-]+)([^#;]*)", line) for line in lines if line[:1] not in ("#", "-", "")]
    own = {plain(one[1]): one[2].strip() for one in found if one is not None}
    for other in others:
        own = named(other) | own
    return own


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def third_party(folder: str) -> dict[str, str]:
    """Return the top-level packages that the files of a folder import, each with one of these files."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / folder).rglob("*.py")):
        for module in imports(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(module.partition(".")[0], str(file.relative_to(ROOT)))
    # compression is in the standard library since Python 3.14
    ours = {*sys.stdlib_module_names, "compression", "newsbot", "tests", "testbed", "benchmarks", "training"}
    return {top: file for top, file in found.items() if top not in ours}


OPTIONAL = {"pyarrow", "numba", "playwright", "pdfminer", "striprtf", "markdown_it"}
"""Optional packages: imported only where they are needed, with a message on how to install them."""


NAMED_OTHERWISE = {
    "sklearn": ["scikit-learn"],
    "pdfminer": ["pdfminer.six"],
    "markdown_it": ["markdown-it-py"],
}
"""Packages that may be missing here, and whose distribution has another name than the import."""


@pytest.mark.parametrize("folder", ["newsbot", "tests", "testbed", "benchmarks", "training"])
def test_each_import_is_a_requirement(folder: str) -> None:
    wanted = named("requirements.txt")
    if folder != "newsbot":
        wanted |= named("requirements-dev.txt")
    if folder in ("benchmarks", "training"):
        wanted |= named("benchmarks/requirements.txt")
    distributions = NAMED_OTHERWISE | dict(packages_distributions())
    missing = {
        top: file
        for top, file in third_party(folder).items()
        if top not in OPTIONAL and not {plain(name) for name in distributions.get(top, [top])} & wanted.keys()
    }
    assert missing == {}
    assert named("requirements-dev.txt").keys() >= {
        plain(name) for top in OPTIONAL for name in NAMED_OTHERWISE.get(top, [top])
    }


def test_each_requirement_of_the_program_has_bounds_and_a_reason() -> None:
    reasons = {plain(name) for names in REASONS for name in names.split(", ")}
    for name, bounds in named("requirements.txt").items():
        assert re.fullmatch(r">=[0-9.]+,<[0-9.]+", bounds), f"{name}{bounds}"
        assert name in reasons, f"docs/decisions.md has no line for {name}"


def test_the_lock_file_matches_the_requirements() -> None:
    """The versions in it may be older than the newest allowed versions, but must be within the bounds."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))
    locked = {plain(name): Version(version) for name, version in pinned.items()}
    wrong = {
        name: bounds
        for name, bounds in named("requirements.txt").items()
        if name not in locked or locked[name] not in SpecifierSet(bounds)
    }
    assert wrong == {}, "update requirements.lock as described in its first lines"
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text)[1:]:
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.parametrize(
    ("extra", "file"),
    [
        ("apprise", "requirements-sinks.txt"),
        ("datasketch", "requirements.txt"),
        ("documents", "requirements-documents.txt"),
        ("kafka", "requirements-sinks.txt"),
        ("mcp", "requirements-mcp.txt"),
        ("parquet", "requirements-simulator.txt"),
        ("places", "requirements-places.txt"),
        ("postgresql", "requirements-sinks.txt"),
        ("rabbitmq", "requirements-sinks.txt"),
        ("render", "requirements-render.txt"),
        ("simulator", "requirements-simulator.txt"),
        ("sso", "requirements-sso.txt"),
    ],
)
def test_extras_have_the_bounds_of_the_requirements(extra: str, file: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    asked = project["optional-dependencies"][extra]
    assert asked
    assert set(asked) <= {line.partition(" #")[0].strip() for line in lines}
