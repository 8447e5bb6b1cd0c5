"""Makes docs/settings.md from the table of settings: ``python -m tests.settings_page > docs/settings.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from newsbot.config.settings import AGE, ANY, COMMAND, PATH, SECTIONS, SWITCH, TEXT, URL, Setting

BEGINNING = """\
# Settings

You can set a setting in `newsbot/settings.py`, with an environment variable (if the setting is marked with
*env*), or with `-s NAME=VALUE` on the command line. The command line overrides environment variables, which
override `newsbot/settings.py`. An empty environment variable counts as not set. If a value is invalid, the
command fails at the start. Unknown names, and environment variables that newsbot does not read, are reported
on stderr. Scrapy's settings work as in Scrapy. The delay, the concurrency and the intervals of a site are set
in its [rule](rules.md).

Settings without a default are empty. Switches are `1` (on) or `0` (off). Durations such as `36h`, `90d` or
`4w` must be at least one hour.
"""
_EXPLAINED = (ANY, SWITCH, TEXT, PATH, URL, AGE, COMMAND)
"""Kinds whose values are clear from the beginning of the page or from the meanings of their settings."""


def document() -> str:
    """Return the content of docs/settings.md."""
    return "\n".join([BEGINNING, *_sections()]).rstrip("\n") + "\n"


def _sections() -> Iterator[str]:
    for section in SECTIONS:
        yield f"## {section.title}\n"
        if section.text:
            yield f"{section.text}\n"
        yield from map(_item, section.settings)
        yield ""


def _item(setting: Setting) -> str:
    kind = "" if setting.kind in _EXPLAINED else setting.kind.must
    default = _default(setting)
    remarks = (
        "*env*" if setting.environment else "",
        kind.removeprefix("a ").removeprefix("whole ").removeprefix("number, "),
        default and f"default {default}",
    )
    about = "; ".join(filter(None, remarks))
    return f"- `{setting.environment or setting.name}`{about and f' ({about})'}: {setting.meaning}"


def _default(setting: Setting) -> str:
    if setting.listed:
        return setting.listed
    if setting.default in {None, ""}:
        return ""
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    if isinstance(setting.default, float):
        return f"`{setting.default:g}`"
    return f"`{setting.default}`"


if __name__ == "__main__":
    sys.stdout.write(document())
