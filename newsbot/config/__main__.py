"""``python -m newsbot.config`` prints docs/settings.md from the table of settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from newsbot.config.kinds import ANY
from newsbot.config.table import SECTIONS, Setting

BEGINNING = """\
# Settings

This page is printed by `python -m newsbot.config`; the table of settings is `newsbot/config/table.py`.

There are three ways to give a setting, the later wins: `newsbot/settings.py`, environment variables (those
marked *env*; an empty variable is one that is not set), and `-s NAME=VALUE` on the command line. A value
that makes no sense is an error before anything begins. A name that newsbot does not know, and one in the
environment that is not read from there, is reported in a line on stderr. Settings of Scrapy keep Scrapy's
names and meaning (`DOWNLOAD_TIMEOUT`, `DOWNLOAD_MAXSIZE`, …). Politeness per site (delay, concurrency,
intervals) is set in the rule files, not here.
"""


def document() -> str:
    """Return docs/settings.md."""
    return "\n".join([BEGINNING, *_sections()]).rstrip("\n") + "\n"


def _sections() -> Iterator[str]:
    for section in SECTIONS:
        yield f"## {section.title}\n"
        if section.text:
            yield f"{section.text}\n"
        yield "| setting | default | value | meaning |\n|---|---|---|---|"
        yield from map(_row, section.settings)
        yield ""


def _row(setting: Setting) -> str:
    name = f"`{setting.environment}` (*env*)" if setting.environment else f"`{setting.name}`"
    kind = "" if setting.kind is ANY else setting.kind.must
    return f"| {name} | {_default(setting)} | {kind} | {setting.meaning} |"


def _default(setting: Setting) -> str:
    if setting.listed:
        return setting.listed
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    if isinstance(setting.default, float):
        return f"`{setting.default:g}`"
    return f"`{setting.default}`" if setting.default != "" else "empty"


if __name__ == "__main__":
    sys.stdout.write(document())
