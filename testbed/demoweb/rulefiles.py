"""The rule files of the demo's hosts."""

from __future__ import annotations

from pathlib import Path

from testbed.demoweb.hosts import HOSTS

_DEFAULTS = """\
# Rules for the demo only: a loopback server needs no rest between requests.
delay: 0
concurrency: 4
max_depth: 5
interval: {feed: 10m, sitemap: 10m, section: 10m, article: 30d, other: 30d}
"""


def write_rules(folder: Path) -> None:
    """Write one file per host, and ``_defaults.yaml``, into ``folder``, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_defaults.yaml").write_text(_DEFAULTS, encoding="utf-8")
    for host in HOSTS:
        text = f"domain: {host.domain}\n{host.rule.lstrip()}"
        (folder / f"{host.domain}.yaml").write_text(text, encoding="utf-8")
