"""Counts that describe the structure of ``newsbot/``: its size, its top level, import circles, private names.

Each count has a limit that must not be exceeded and a target (:data:`COUNTS`). When a change brings a count
down, its limit is lowered to the new value; in the end each limit is its target.
``python -m tests.test_house`` prints the table.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, DEDENT, ENCODING, ENDMARKER, INDENT, NEWLINE, NL, generate_tokens

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "newsbot"
SMALL = 25
"""A file with fewer lines of code counts as small: it is usually only a part of an idea."""

Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class Count:
    """A description of what is counted, the highest allowed value, and the desired value."""

    limit: int
    target: int
    what: str


COUNTS: Mapping[str, Count] = {
    "lines": Count(
        59_521, 42_000, "lines of code: not blank, no comment, no docstring (nor a string below a name)"
    ),
    "core_lines": Count(16_000, 16_000, "lines of code of the core"),
    "library_lines": Count(11_681, 10_500, "lines of code of the library, newsbot/pages/"),
    "app_lines": Count(4_500, 4_500, "lines of code of the largest app"),
    "files": Count(300, 300, "Python files, __init__.py included"),
    "top_modules": Count(7, 7, "modules at the top of newsbot/, without __init__.py and __main__.py"),
    "module_circles": Count(0, 0, "modules that are in an import circle"),
    "unit_circles": Count(0, 0, "modules and packages at the top that import each other in a circle"),
    "part_circles": Count(0, 0, "parts of one package that import each other in a circle, over all packages"),
    "small_files": Count(0, 0, f"files under {SMALL} lines of code that are not in SMALL_ALLOWED"),
}

SMALL_ALLOWED: Mapping[str, str] = {
    "newsbot/settings.py": "Scrapy's settings module",
    "newsbot/apps/followers/extension.py": "Scrapy's settings name it",
    "newsbot/apps/numbers.py": "shared by apps that have nothing else in common",
    "newsbot/apps/optional.py": "one function, shared by most apps",
}
"""Small files that are allowed, with the reason. ``__init__.py`` is never counted."""


@dataclass(frozen=True)
class Private:
    """A private name of another package that newsbot uses: where, and why there is no public alternative."""

    owner: str
    """``module:name`` or ``module:Class.name``; empty if only type checkers know the name."""
    reason: str


PRIVATE: Mapping[str, Private] = {
    "_Attrib": Private(
        "lxml.etree:_Attrib", "the type of element.attrib in annotations; lxml has no other name"
    ),
    "_Decompress": Private(
        "", "the type of zlib.decompressobj() in an annotation, known to type checkers only"
    ),
    "_Element": Private("lxml.etree:_Element", "the type of elements; lxml has no other name for it"),
    "_LenientHTTPClientParser": Private(
        "scrapy.core.downloader.handlers.http11:_LenientHTTPClientParser",
        "the parser of responses, which closes the connection after an odd header",
    ),
    "_LenientHTTP11ClientProtocol": Private(
        "scrapy.core.downloader.handlers.http11:_LenientHTTP11ClientProtocol",
        "the one place where a request is sent after its connection is open",
    ),
    "_LenientHTTP11ClientFactory": Private(
        "scrapy.core.downloader.handlers.http11:_LenientHTTP11ClientFactory", "makes the protocol"
    ),
    "_factory": Private(
        "twisted.web.client:HTTPConnectionPool._factory",
        "the factory of connections, which Scrapy replaces as well",
    ),
    "_parser": Private(
        "twisted.web._newclient:HTTP11ClientProtocol._parser", "its class is replaced, as Scrapy does"
    ),
    "_quiescentCallback": Private(
        "twisted.web._newclient:HTTP11ClientProtocol._quiescentCallback",
        "what the pool passes to each connection; Twisted has no other name for it",
    ),
    "_actions": Private(
        "argparse:ArgumentParser._actions", "names of all options, to suggest one that is near"
    ),
    "_build_redirect_request": Private(
        "scrapy.downloadermiddlewares.redirect:BaseRedirectMiddleware._build_redirect_request",
        "makes the next request as Scrapy does for redirects; pages that forward are not among them",
    ),
    "_cache": Private("encodings:_cache", "names of unknown encodings, which Python keeps without a limit"),
    "_connections": Private(
        "twisted.web.client:HTTPConnectionPool._connections", "keys of hosts, which are never removed"
    ),
    "_createConnection": Private(
        "twisted.internet._sslverify:ClientTLSOptions._createConnection",
        "makes connections with the authorities of the system, which take 20 ms and more to read for each",
    ),
    "_create_crawler": Private(
        "scrapy.crawler:CrawlerProcess._create_crawler",
        "what Scrapy's own crawl command calls; the public create_crawler() does the same and can replace it",
    ),
    "_default_executor": Private(
        "asyncio.base_events:BaseEventLoop._default_executor",
        "the threads of asyncio.to_thread, which asyncio can only replace",
    ),
    "_max_size": Private(
        "scrapy.downloadermiddlewares.httpcompression:HttpCompressionMiddleware._max_size",
        "DOWNLOAD_MAXSIZE as the base class has read it",
    ),
    "_verify_certificates": Private(
        "scrapy.core.downloader.contextfactory:_ScrapyClientContextFactory._verify_certificates",
        "the setting DOWNLOAD_VERIFY_CERTIFICATES, which a rule changes for its hosts",
    ),
    "_pool": Private(
        "scrapy.core.downloader.handlers.http11:HTTP11DownloadHandler._pool",
        "Scrapy's pool of connections to sites, which has no limit of idle ones",
    ),
    "_print_unknown_command": Private(
        "scrapy.cmdline:_print_unknown_command", "what Scrapy prints for a mistyped command; no hint there"
    ),
    "_redirect": Private(
        "scrapy.downloadermiddlewares.redirect:BaseRedirectMiddleware._redirect",
        "counts the hop against the same limit as redirects",
    ),
    "_replace": Private("", "a documented method of named tuples (urlsplit), no private one"),
    "_slot": Private(
        "scrapy.core.engine:ExecutionEngine._slot",
        "the one place where the end of a request and of all that it yielded is seen",
    ),
    "_timeouts": Private(
        "twisted.web.client:HTTPConnectionPool._timeouts", "closes idle connections, the oldest first"
    ),
    "_update_root_log_handler": Private(
        "scrapy.crawler:Crawler._update_root_log_handler",
        "Scrapy makes its log handler anew there, and ours has to give it its form again",
    ),
}
"""The keys are the names, as they are written in newsbot's code."""


# --- reading the tree
@dataclass(frozen=True)
class Module:
    """One file of newsbot."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def file(self) -> str:
        return self.path.relative_to(PACKAGE.parent).as_posix()


@cache
def modules() -> Mapping[str, Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found[name] = Module(name, path, text, ast.parse(text))
    return found


@cache
def lines_of_code(text: str) -> int:
    """Count the lines of code; strings that stand alone are docstrings and are not counted."""
    strings = {
        (node.lineno, node.end_lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    docstrings = {line for first, last in strings for line in range(first, (last or first) + 1)}
    no_code = {COMMENT, DEDENT, ENCODING, ENDMARKER, INDENT, NEWLINE, NL}
    lines: set[int] = set()
    for token in generate_tokens(StringIO(text).readline):
        if token.type not in no_code:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def imports_of(module: Module, known: Iterable[str]) -> set[str]:
    """Return the modules of newsbot that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found |= {one for one in (inner if inner in known else node.module,) if one in known}
    return found - {module.name, "newsbot"}


@cache
def import_graph() -> Graph:
    known = modules()
    return {name: imports_of(module, known) for name, module in known.items() if name != "newsbot"}


def circles(graph: Graph) -> list[list[str]]:
    """Return groups of nodes that can all reach each other, the largest first."""
    reach = {node: _reachable(graph, node) for node in graph}
    groups = {tuple(sorted(other for other in reach[node] if node in reach.get(other, ()))) for node in graph}
    return sorted((list(group) for group in groups if len(group) > 1), key=len, reverse=True)


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def collapsed(graph: Graph, package: str) -> Graph:
    """Return the graph of the direct parts of a package, without imports from or to other packages.

    The content of the package's ``__init__.py`` is the part ``__init__``.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        part = _part(name, package)
        if part is not None:
            found[part] |= {to for other in others if (to := _part(other, package)) and to != part}
    return found


def _part(name: str, package: str) -> str | None:
    if name == package:
        return "__init__"
    return name[len(package) + 1 :].partition(".")[0] if name.startswith(f"{package}.") else None


# --- counts
def top_modules() -> list[str]:
    return [
        name
        for name, one in modules().items()
        if name.count(".") == 1 and not one.is_package and name != "newsbot.__main__"
    ]


def module_circles() -> list[str]:
    return [name for group in circles(import_graph()) for name in group]


def unit_circles() -> list[str]:
    return [name for group in circles(collapsed(import_graph(), "newsbot")) for name in group]


def part_circles() -> list[str]:
    packages = [name for name, one in modules().items() if one.is_package and name != "newsbot"]
    return [
        f"{package}: {part}"
        for package in packages
        for group in circles(collapsed(import_graph(), package))
        for part in group
    ]


def small_files() -> list[str]:
    return [
        one.file
        for one in modules().values()
        if not one.is_package and one.file not in SMALL_ALLOWED and lines_of_code(one.text) < SMALL
    ]


def lines_by_storey() -> Mapping[str, int]:
    """Return the lines of code of the core, of the library, and of each app (``apps.search``)."""
    found: dict[str, int] = defaultdict(int)
    for name, one in modules().items():
        _root, first, second = (*name.split("."), "", "")[:3]
        storey = {"pages": "library", "apps": f"apps.{second}"}.get(first, "core")
        found[storey] += lines_of_code(one.text)
    return found


def measured(name: str) -> tuple[int, list[str]]:
    """Return the value of a count, and the counted items if it is a list."""
    if name == "lines":
        return sum(lines_of_code(one.text) for one in modules().values()), []
    if name in ("core_lines", "library_lines"):
        return lines_by_storey()[name.removesuffix("_lines")], []
    if name == "app_lines":
        sizes = {storey: lines for storey, lines in lines_by_storey().items() if storey.startswith("apps.")}
        return max(sizes.values()), [f"{storey}: {lines}" for storey, lines in sorted(sizes.items())]
    if name == "files":
        return len(modules()), []
    listed: Mapping[str, Callable[[], list[str]]] = {
        "top_modules": top_modules,
        "module_circles": module_circles,
        "unit_circles": unit_circles,
        "part_circles": part_circles,
        "small_files": small_files,
    }
    found = listed[name]()
    return len(found), found


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_stays_within_its_limit(name):
    value, listed = measured(name)
    assert value <= COUNTS[name].limit, f"{COUNTS[name].what}: {value}\n" + "\n".join(listed)


NO_MAP = "storage/sqlite"
"""The end of a package whose docstring need not list its files: their names follow another list."""


@pytest.mark.parametrize(
    "package",
    [
        init.parent
        for init in sorted(PACKAGE.rglob("__init__.py"))
        if not str(init.parent.relative_to(PACKAGE)).endswith(NO_MAP)
    ],
    ids=lambda package: str(package.relative_to(PACKAGE)),
)
def test_the_docstring_of_a_package_names_its_files(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    files = {file.stem for file in package.glob("*.py")} | {
        file.parent.name for file in package.glob("*/__init__.py")
    }
    assert files - {"__init__"} <= set(re.findall(r"``(\w+)``", text))
    first = re.findall(r"^\* (.*?):", text, re.MULTILINE)
    assert {name for line in first for name in re.findall(r"``(\w+)``", line)} <= files


def broken_references(module: Module) -> list[str]:
    """Return the names in references such as ``:func:`name``` of which a module knows nothing."""
    known: set[str] = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                known.add(name)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                known.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                known |= {one.asname or one.name.partition(".")[0] for one in names}
    named = re.findall(r":(?:func|class|data|meth|attr|exc|mod):`([\w.]+)`", module.text)
    return [name for name in named if not _is_known(name, known)]


def _is_known(name: str, known: set[str]) -> bool:
    first = name.partition(".")[0]
    if first != "newsbot":
        return first in known or first in sys.stdlib_module_names
    if name in modules():
        return True
    place = next(one for one in (name.rsplit(".", count)[0] for count in (1, 2, 3)) if one in modules())
    member = name.removeprefix(f"{place}.").partition(".")[0]
    return re.search(rf"\b{member}\b", modules()[place].text) is not None


@pytest.mark.parametrize("name", sorted(modules()))
def test_references_in_docstrings_name_what_exists(name: str) -> None:
    assert broken_references(modules()[name]) == []


def test_small_files_that_are_allowed_exist_and_are_small():
    small = {one.file for one in modules().values() if lines_of_code(one.text) < SMALL}
    assert set(SMALL_ALLOWED) <= small, "remove files that are not small any more from SMALL_ALLOWED"


# --- private names of other packages
def is_private(name: str) -> bool:
    return (
        name.startswith("_") and not (name.startswith("__") and name.endswith("__")) and name.strip("_") != ""
    )


def own_private_names(tree: ast.Module) -> set[str]:
    """Return the private names that a module defines, including attributes of ``self``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return {name for name in found if is_private(name)}


@cache
def private_names_of_package(folder: Path) -> frozenset[str]:
    """Return the private names that the modules of one package define, without its sub-packages."""
    return frozenset(
        name
        for module in modules().values()
        if module.path.parent == folder
        for name in own_private_names(module.tree)
    )


def foreign_private_names(tree: ast.Module, folder: Path = PACKAGE) -> Iterator[tuple[int, str]]:
    """Return lines and names of private modules, functions and attributes of other packages.

    An attribute of ``self`` is newsbot's own if a module of the package in ``folder`` defines the name,
    possibly in a base class. Any other attribute is newsbot's own only if this module defines it.
    """
    own = own_private_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = _imported(node)
        elif isinstance(node, ast.Attribute):
            names = [node.attr] if node.attr not in own else []
            if _is_self(node.value) and node.attr in private_names_of_package(folder):
                names = []
        elif (name := _asked_for(node)) is not None:
            names = [name] if name not in own else []
        else:
            continue
        line = getattr(node, "lineno", 0)
        yield from ((line, name) for name in names if is_private(name))


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [part for alias in node.names for part in alias.name.split(".")]
    parts = (node.module or "").split(".")
    if parts[0] in ("__future__", "newsbot"):
        return []
    return [*parts, *(alias.name for alias in node.names)]


def _asked_for(node: ast.AST) -> str | None:
    """Return the constant name in calls like ``getattr(x, "name")``."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr", "setattr", "delattr")
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
        and isinstance(node.args[1].value, str)
    ):
        return node.args[1].value
    return None


@cache
def used_private_names() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        for line, name in foreign_private_names(module.tree, module.path.parent):
            found[name].append(f"{module.file}:{line}")
    return found


def has(owner: str) -> bool:
    """Return True if another package still has a name: as an attribute, or set by a method."""
    module, _, path = owner.partition(":")
    try:
        one: object = import_module(module)
    except ImportError:
        return False
    for name in path.split(".") if path else ():
        if not hasattr(one, name):
            return inspect.isclass(one) and f"self.{name}" in inspect.getsource(one)
        one = getattr(one, name)
    return True


def test_private_names_of_other_packages_are_listed_with_a_reason():
    unknown = {name: places for name, places in used_private_names().items() if name not in PRIVATE}
    assert not unknown, f"use a public name, or list it in PRIVATE with the reason: {unknown}"


def test_unused_private_names_are_not_listed():
    assert not PRIVATE.keys() - used_private_names().keys(), "remove them from PRIVATE"


@pytest.mark.parametrize("name", PRIVATE)
def test_the_other_package_still_has_the_private_name(name):
    owner = PRIVATE[name].owner
    if owner:
        assert has(owner), (
            f"{owner} is gone in the version installed; it is used at {used_private_names()[name]}"
        )


# --- phases of a visit
PHASES: Mapping[str, tuple[str, ...]] = {
    r"visit\.check = ": ("middlewares/reprocessing.py", "crawl/completion.py"),
    r"visit\.answer = ": ("middlewares/reprocessing.py",),
    r"visit\.read\(": (
        "spiders/news.py",
        "spiders/reading.py",
        "spiders/sources.py",
        "apps/spam/middleware.py",
        "apps/posts/middleware.py",
    ),
    r"visit\.kept = ": ("crawl/completion.py",),
    r"visit\.settling\.\w+ \W?= ": ("crawl/",),
}
"""The files that make each phase of a visit (:mod:`newsbot.crawl.visit`), by a pattern of their code."""


@pytest.mark.parametrize("pattern", PHASES)
def test_each_phase_of_a_visit_is_made_in_few_places(pattern: str) -> None:
    files = {one.file.removeprefix("newsbot/") for one in modules().values() if re.search(pattern, one.text)}
    assert files
    assert not {file for file in files if not file.startswith(PHASES[pattern])}


# --- calls to servers
SERVERS = {"storage", "frontier", "index", "notes"}
"""Names of the objects whose methods may wait for a server."""


def calls_of_servers(tree: ast.Module) -> Iterator[int]:
    """Return the lines at which asynchronous functions call a server themselves."""
    for function in ast.walk(tree):
        inner = list(ast.iter_child_nodes(function)) if isinstance(function, ast.AsyncFunctionDef) else []
        while inner:
            node = inner.pop()
            if isinstance(node, ast.Call) and SERVERS & set(_chain(node.func)[1:]):
                yield node.lineno
            if not isinstance(node, ast.FunctionDef | ast.Lambda):
                inner += ast.iter_child_nodes(node)


def _chain(node: ast.AST) -> list[str]:
    """Return the attributes of an expression such as ``a.b().c``, the last one first."""
    if isinstance(node, ast.Attribute):
        return [node.attr, *_chain(node.value)]
    return _chain(node.func) if isinstance(node, ast.Call) else []


@pytest.mark.parametrize("package", ["crawl", "spiders", "middlewares", "pipelines", "extensions"])
def test_asynchronous_functions_of_a_crawl_do_not_call_servers_themselves(package: str) -> None:
    """They pass the call to ``calls.run`` or ``outage.patiently``, so their own lines never wait."""
    for name, one in modules().items():
        if name.split(".")[1:2] == [package]:
            assert not [f"{one.file}:{line}" for line in calls_of_servers(one.tree)]


def test_a_call_of_a_server_is_found():
    text = (
        "async def f(self):\n    self.storage.pages.get(1)\n    await run(self.storage.pages.get, 1)\n"
        "    def g():\n        self.notes.all('x')\n    await run(lambda: self.frontier.owners())\n"
    )
    assert list(calls_of_servers(ast.parse(text))) == [2]


# --- what stands beside newsbot/
IMPORTED_BY: Mapping[str, tuple[str, ...]] = {
    "newsbot": (),
    "testbed": ("newsbot",),
    "tests": ("newsbot", "testbed", "deploy"),
    "benchmarks": ("newsbot", "testbed"),
    "training": ("newsbot", "benchmarks"),
}
"""The packages of the repository that each of them may import."""


@pytest.mark.parametrize("package", IMPORTED_BY)
def test_tests_and_benchmarks_import_the_testbed_and_not_each_other(package: str) -> None:
    others = IMPORTED_BY.keys() - {package, *IMPORTED_BY[package]}
    pattern = re.compile(rf"^\s*(?:from|import) ({'|'.join(sorted(others))})\b", re.MULTILINE)
    for path in (PACKAGE.parent / package).rglob("*.py"):
        assert not pattern.search(path.read_text(encoding="utf-8")), path


# --- the counters themselves
def test_a_circle_is_found_at_each_level():
    graph = {"p.a.x": {"p.b"}, "p.b": {"p.a.y"}, "p.a.y": set(), "p.c": {"p.a.x"}}
    assert circles(graph) == []
    assert circles(collapsed(graph, "p")) == [["a", "b"]]
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_lines_of_code_do_not_include_docstrings_and_comments():
    text = (
        '"""Doc.\n\nmore."""\n\n# comment\nx = """a\nb"""\n\ndef f() -> int:\n    """Doc."""\n    return 1\n'
    )
    assert lines_of_code(text) == 4


def test_each_form_of_a_private_name_is_found():
    text = (
        "import re._foreign_one\nfrom re import _foreign_two\nfrom _foreign_three import x\n"
        "x._foreign_four\ngetattr(x, '_foreign_five')\nx.__class__\nfrom newsbot.urls import _own\n"
    )
    found = [name for _, name in foreign_private_names(ast.parse(text))]
    assert found == [f"_foreign_{number}" for number in ("one", "two", "three", "four", "five")]


def main() -> None:
    """Print each count with its limit and its target."""
    print(f"{'count':<16}{'now':>8}{'limit':>8}{'target':>8}  what")
    for name, count in COUNTS.items():
        value, _ = measured(name)
        print(f"{name:<16}{value:>8}{count.limit:>8}{count.target:>8}  {count.what}")
    print(f"private names of other packages: {len(used_private_names())}")
    for name, places in sorted(used_private_names().items()):
        print(f"  {name:<28}{', '.join(places)}")


if __name__ == "__main__":
    main()
