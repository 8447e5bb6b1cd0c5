"""``scrapy rules test``: the saved pages of sites, read by their rules as they are now."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from newsbot.authoring.cases import find_cases
from newsbot.backends import open_rules, rules_folder
from newsbot.cli.command import FAULT, Call
from newsbot.cli.terminal import Column
from newsbot.errors import ArgumentError

_SHOWN = 200


def test_rules(call: Call) -> int:
    """Compare each field of each case; exit code 1 if one differs."""
    folder = call.options.fixtures or _beside(call)
    rules = open_rules(call.settings)
    rows: list[dict[str, Any]] = []
    number = 0
    for case in find_cases(folder, call.options.domains):
        number += 1
        rule = rules.for_url(f"https://{case.domain}/")
        rows += [{"domain": case.domain, "case": case.name, **asdict(one)} for one in case.check(rule)]
    if call.json:
        call.document({"cases": number, "differences": rows})
        return FAULT if rows else 0
    if rows:
        names = ("domain", "case", "field", "expected", "got")
        columns = [Column(name, wide=name in names[3:]) for name in names]
        call.table(columns, [[_short(row[name]) for name in names] for row in rows])
    call.text(f"{number} saved pages, {len(rows)} fields differ")
    return FAULT if rows else 0


def _beside(call: Call) -> Path:
    folder = rules_folder(call.settings)
    if not isinstance(folder, Path):
        raise ArgumentError(
            "the rules are inside the package; name the folder of saved pages with --fixtures"
        )
    return folder.parent / "tests" / "sites"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
