"""Packaging for scrapyd: the egg carries the rules and the Lua scripts beside the code."""

import re
from pathlib import Path

from setuptools import find_packages, setup

version = re.search(r'__version__ = "(.+)"', Path("newsbot/__init__.py").read_text(encoding="utf8"))
assert version is not None

setup(
    name="newsbot",
    version=version[1],
    packages=[*find_packages(include=["newsbot", "newsbot.*"]), "newsbot.site_rules"],
    package_dir={"newsbot.site_rules": "rules"},
    package_data={
        "newsbot.site_rules": ["*.yaml"],
        "newsbot": [
            *(
                f"**/*.{kind}"
                for kind in ("lua", "sql", "txt", "json", "yaml", "html", "xml", "css", "js", "svg")
            ),
            "py.typed",
        ],
    },
    entry_points={"scrapy": ["settings = newsbot.settings"]},
    zip_safe=True,
)
