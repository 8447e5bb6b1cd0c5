"""docs/rules.md is complete, and its examples are correct."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from newsbot.apps.authoring.command import find_hints
from newsbot.items import KINDS
from newsbot.pages.rules.keys import KEYS
from newsbot.pages.rules.load import INTERVALS, duration, read_folder
from newsbot.pages.rules.rule import FIELDS, FOLLOW, MAX_LENGTH, RECRAWL, TLS, Rule, compile_pattern

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "rules.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLES = [
    re.sub(r"(?m)^ {3}", "", found) if indent else found
    for indent, found in re.findall(r"^( *)```yaml\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
]
REFUSALS = re.findall(r"^\| (`.+?) \| .+ \| (.+?) \|$", TEXT, re.MULTILINE)


def code(cell: str) -> list[str]:
    return [text.replace("\\|", "|") for text in re.findall(r"`(.+?)`", cell)]


def test_every_section_describes_one_key() -> None:
    assert list(SECTIONS) == list(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_type_default_and_example(key: str) -> None:
    text = SECTIONS[key]
    assert re.match(
        r"(?:Required\. )?(?:Text|List|Whole number|A duration|Duration|Language code|Name|For each|`true`)",
        text,
    )
    assert "default" in text or "Required" in text
    assert any(re.search(rf"^{key}:", example, re.MULTILINE) for example in EXAMPLES)


def test_every_allowed_value_is_documented() -> None:
    for key, words in (
        ("extract", FIELDS),
        ("follow", FOLLOW),
        ("tls", get_args(TLS)),
        ("interval", [kind.value for kind in KINDS]),
        ("recrawl", sorted({word for some in RECRAWL.values() for word in some})),
    ):
        assert [word for word in words if f"`{word}`" not in SECTIONS[key]] == []


def test_documented_defaults_are_correct() -> None:
    intervals = ", ".join(duration(INTERVALS[kind]).replace("1w", "7d") for kind in KINDS)
    assert f"default {intervals}." in SECTIONS["interval"]
    assert f"default {Rule(domain='').max_depth}." in SECTIONS["max_depth"]
    assert f"default {Rule(domain='').concurrency}." in SECTIONS["concurrency"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_valid_without_hints(tmp_path: Path, example: str) -> None:
    domain = "" if example.startswith("domain:") else "domain: example.org\n"
    (tmp_path / "example.org.yaml").write_text(domain + example, encoding="utf-8")
    loaded = read_folder(tmp_path)
    assert [str(problem) for problem in loaded.problems] == []
    assert [str(hint) for hint in find_hints(loaded)] == []


def test_examples_are_found() -> None:
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize(("refused", "better"), REFUSALS)
def test_the_table_of_refused_patterns_is_correct(refused: str, better: str) -> None:
    for text in code(refused):
        with pytest.raises(ValueError, match="bad pattern"):
            compile_pattern(text)
    for text in code(better):
        if text not in KEYS:
            compile_pattern(text)


def test_the_table_was_found() -> None:
    assert len(REFUSALS) == 5
    assert f"{MAX_LENGTH:,} characters" in TEXT
