"""Packaging: the wheel and scrapyd's egg carry the rules and the Lua scripts beside the code."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
version = re.search(r'__version__ = "(.+)"', (HERE / "newsbot/__init__.py").read_text(encoding="utf8"))
assert version is not None


def listed(file: str, *without: str) -> list[str]:
    """Return the lines of a requirements file, without comments, other files, and some packages."""
    path = HERE / file
    lines = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    plain = [line.partition(" #")[0].strip() for line in lines if line[:1].isalnum()]
    return [line for line in plain if not line.startswith(without)]


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
    # datasketch needs scipy (143 MB); without it, newsbot/dedup/minhash.py computes the same signatures
    install_requires=listed("requirements.txt", "datasketch"),
    extras_require={
        "datasketch": [line for line in listed("requirements.txt") if line.startswith("datasketch")],
        "parquet": [line for line in listed("requirements-simulator.txt") if line.startswith("pyarrow")],
        **{
            extra: [line for line in listed("requirements-sinks.txt") if line.startswith(package)]
            for extra, package in (("kafka", "confluent"), ("postgresql", "psycopg"), ("rabbitmq", "pika"))
        },
        "mcp": [line for line in listed("requirements-mcp.txt") if line.startswith("mcp")],
        "render": listed("requirements-render.txt"),
        "simulator": listed("requirements-simulator.txt"),
        "web": [],  # included: an installation without aiohttp and jinja2 would be 12 MB smaller
    },
    entry_points={
        "console_scripts": ["newsbot = newsbot.__main__:main"],
        "scrapy": ["settings = newsbot.settings"],
    },
    zip_safe=True,
)
