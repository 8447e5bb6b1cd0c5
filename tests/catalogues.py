"""Finds the messages of the pages, and writes the catalogues (``python -m tests.catalogues``).

Messages come from three places: calls in templates, calls in the Python files of the app ``web``, and
sentences that other parts of newsbot make and pages show. The values of such a sentence get numbers: the
f-string ``f"{one} of {other} sites"`` is the message ``{0} of {1} sites``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import extract_from_ast

from newsbot.apps.web.dashboard.rendering import make_environment
from newsbot.items import EventKind, Where

ROOT = Path(__file__).resolve().parent.parent / "newsbot"
FOLDER = ROOT / "apps/web/catalogues"
Message = tuple[str, str]
"""The singular and the plural; the plural is often empty."""
CALLS = {"_": 1, "n_": 2, "message": 1, "translate": 1, "plain": 1, "count": 2}
"""Names of functions whose first arguments are a message -> the number of these arguments."""
SENTENCES = (
    "apps/operations/verdict.py",
    "apps/operations/explain.py",
    "sites/health.py",
    "ranking/families.py",
    "apps/alerts/rules.py",
    "apps/web/dashboard/endpoints.py",
    "apps/web/dashboard/service.py",
    "apps/web/readers.py",
    "apps/sso/provider.py",
)
"""Modules whose sentences pages show."""
PARTS = {
    "apps/alerts/saved.py": "ArgumentError",
    "apps/team/people.py": "Reading State",
    "apps/web/dashboard/proposals.py": "Proposals Proposal",
    "apps/web/dashboard/articles.py": "Marks",
    "apps/search/query.py": "_note",
    "apps/search/articles.py": "explain signs",
    "apps/operations/sources.py": "ArgumentError",
    "urls.py": "ValueError",
    "errors.py": "did_you_mean",
    "apps/authoring/learn.py": "site_named",
    "apps/authoring/importing.py": "ArgumentError read_opml read_addresses read_news_please _bounded",
}
"""Modules of which only some sentences are shown: those in these calls and in these functions."""
WORDS = """
    ok quiet failing dead unreachable paused unknown idle starting running indexing broken pending finished
    once continuous feed sitemap section article crawl disk open closed waiting trial fetched discovered
    dropped left allowed new member derived revision cause reason status where why referrer error version
    depth missing story kept body nav home hub read
"""
"""Single words that other parts store, and that pages show."""


IGNORED = re.compile(
    r"event=\{|.*JSON Schema|Basic realm|public, max|\d+: |\{0\}\n|\{0\} (add|remove|articles|rules|crawl) |"
    r"\{0\} is \{1\}\.$|\{0\}: (no crawl has run|cannot be read)|next source due|\{0\} of \{1\} at \{2\}|"
    r"of \{0\}$|\{0\} of \{1\} more families|\{0\} and \{1\} more$|the rules are inside|exit code|since: |"
    r"openid email|Basic \{"
)
"""Texts that no page shows: log lines, headers, e-mails, commands, output of the terminal."""


COUNTED = re.compile(r"counted\('([\w ]+)'(?:, '([\w ]+)')?\)")
"""Matches a filter with a noun in a template."""


def messages() -> dict[Message, None]:
    """Return all messages, in a stable order."""
    found: dict[Message, None] = {}
    environment = make_environment()
    for path in sorted((ROOT / "apps/web/dashboard/templates").glob("*.html")):
        template = environment.parse(path.read_text(encoding="utf-8"))
        for _, function, texts in extract_from_ast(
            template, gettext_functions=("_", "n_"), babel_style=False
        ):
            given = (texts,) if isinstance(texts, str) else tuple(one for one in texts or () if one)
            found[(str(given[0]), str(given[1]) if function == "n_" else "")] = None
        for noun, plural in re.findall(
            r"counted\('([\w ]+)'(?:, '([\w ]+)')?\)", path.read_text(encoding="utf-8")
        ):
            found[counted(noun, plural)] = None
    for path in sorted((ROOT / "apps/web").rglob("*.py")):
        for one in in_calls(path):
            found[one] = None
    for name in SENTENCES:
        found |= dict.fromkeys(sentences(ast.parse((ROOT / name).read_text(encoding="utf-8"))))
    for name, chosen in PARTS.items():
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if called(node) in chosen.split() or getattr(node, "name", "") in chosen.split():
                found |= dict.fromkeys(sentences(node))
    kinds = (str(one).replace("_", " ") for one in (*EventKind, *Where))
    found |= dict.fromkeys((word, "") for word in (*WORDS.split(), *kinds))
    return {one: None for one in found if one[0] and not IGNORED.match(one[0])}


def called(node: ast.AST) -> str:
    """Return the name of the function that a node calls; empty if it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def counted(noun: str, plural: str) -> Message:
    """Return the message of a number with a noun."""
    return f"{{0}} {noun}", f"{{0}} {plural or noun + 's'}"


def in_calls(path: Path) -> Iterator[Message]:
    """Yield the messages in the calls of a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = called(node)
        if name in CALLS and isinstance(node, ast.Call):
            texts = [one.value for one in node.args[: CALLS[name]] if isinstance(one, ast.Constant)]
            if len(texts) == CALLS[name] and all(isinstance(one, str) for one in texts):
                yield str(texts[0]), str(texts[1]) if CALLS[name] == 2 else ""
        if name == "counted_text" and isinstance(node, ast.Call) and isinstance(node.args[1], ast.Constant):
            yield counted(str(node.args[1].value), "")


def sentences(tree: ast.AST) -> Iterator[Message]:
    """Yield the sentences in a part of a Python file: texts with at least two words, but no docstrings."""
    hidden = {id(one) for node in ast.walk(tree) for one in _hidden(node)}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if called(node) == "counted" and isinstance(node, ast.Call):
            nouns = [one.value for one in node.args[1:] if isinstance(one, ast.Constant)]
            yield counted(str(nouns[0]), str(nouns[1]) if len(nouns) > 1 else "")
        if called(node) == "_line" and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), ""
        text = ""
        if isinstance(node, ast.JoinedStr):
            place = iter(range(99))
            parts = [
                one.value if isinstance(one, ast.Constant) else f"{{{next(place)}}}" for one in node.values
            ]
            text = "".join(map(str, parts))
            hidden |= {id(one) for one in node.values if isinstance(one, ast.Constant)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        text = text.strip().lstrip(",;: ")
        if re.search(r"[A-Za-z]{2,}[,:;]? (\S+ )*?\(?[A-Za-z]{2,}|\}.* [a-z]{2,}|[a-z]{2,}[:,]? .*\{", text):
            yield text, ""


UNSEEN = (
    "words",
    "one_of",
    "number",
    "date",
    "several",
    "flag",
    "exception",
    "error",
    "debug",
    "warning",
    "Action",
)
"""Names of functions whose texts are for programs or for the log."""


def _hidden(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the texts that nobody sees: docstrings, texts for the API, names and formats."""
    for one in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            yield one.value
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        yield from ast.walk(node.format_spec)
    if called(node) in UNSEEN:
        yield from (one for part in getattr(node, "args", ()) for one in ast.walk(part))


def main() -> None:
    """Add new messages to the catalogues, and remove those that are gone."""
    for path in sorted(FOLDER.glob("*.po")):
        with path.open("rb") as file:
            catalogue = read_po(file, locale=path.stem)
        template = Catalog()
        for one, many in messages():
            template.add((one, many) if many else one)
        catalogue.update(template, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            write_po(file, catalogue, width=0, omit_header=False, no_location=True)
        texts = [one.string for one in catalogue if one.id]
        print(
            path.name, sum(not one or (not isinstance(one, str) and not all(one)) for one in texts), "missing"
        )


if __name__ == "__main__":
    main()
