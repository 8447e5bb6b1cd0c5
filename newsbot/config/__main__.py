"""``python -m newsbot.config`` prints docs/settings.md from the table of settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from newsbot.config.table import ANY, SECTIONS, Setting

BEGINNING = """\
# Settings

`python -m newsbot.config` prints this page.

You can set a setting in `newsbot/settings.py`, with an environment variable (if the setting is marked with
*env*), or with `-s NAME=VALUE` on the command line. A value on the command line overrides an environment
variable, and an environment variable overrides `newsbot/settings.py`. An empty environment variable counts as
not set. If a value is invalid, the command fails at the start. Unknown names, and environment variables that
newsbot does not read, are reported on stderr. Scrapy's settings work as in Scrapy. The delay, the concurrency
and the intervals of a site are set in its [rule](rules.md).
"""


def document() -> str:
    """Return the content of docs/settings.md."""
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
    kind = "" if setting.kind is ANY else setting.kind.must.removeprefix("a ").removeprefix("an ")
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
