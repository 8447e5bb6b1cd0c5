"""``newsbot init``: makes a project, which is a folder with rules, settings and ``scrapy.cfg``."""

from __future__ import annotations

import sys
from pathlib import Path

from newsbot.apps.authoring.importing import MAX_LIST_BYTES, Sites, read_list
from newsbot.apps.authoring.learn import STARTER, add_rules, add_starter, starter_sites
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.errors import ArgumentError

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
SHOWN = 20
"""Maximum number of addresses without a rule that are printed."""


def init(call: Call) -> int:
    """Run ``newsbot init``. The exit code is 1 if an address could not be used."""
    folder: Path = call.options.folder.expanduser()
    chosen: Path | None = call.options.sites
    # A file with this name can be given as ./starter
    starter = chosen is not None and str(chosen) == STARTER
    sites = Sites() if chosen is None or starter else _read(chosen)
    made = [name for name in FILES if _write(folder / name, FILES[name])]
    place = folder / "rules"
    rules = add_starter(place) if starter else add_rules(place, sites.rules())[0]
    if call.json:
        where = str(folder.absolute())
        call.document({"folder": where, "files": made, "rules": rules, "left_out": sites.left_out})
    else:
        _tell(call, folder.absolute(), rules)
        for reason in sites.left_out[:SHOWN]:
            call.note(reason)
    return 1 if sites.left_out else 0


def _read(path: Path) -> Sites:
    try:
        return read_list(sys.stdin.buffer.read(MAX_LIST_BYTES + 1) if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}") from error


def _write(path: Path, text: str) -> bool:
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
