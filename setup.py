"""The files of the wheel and of scrapyd's egg, and the packages they need; pyproject.toml has the rest."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent


def requirements() -> list[str]:
    """Return the lines of requirements.txt, without comments and the extra ``datasketch``."""
    path = HERE / "requirements.txt"
    lines = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    plain = [line.partition(" #")[0].strip() for line in lines if line[:1].isalnum()]
    return [line for line in plain if not line.startswith("datasketch")]


setup(
    packages=[*find_packages(include=["newsbot", "newsbot.*"]), "newsbot.site_rules"],
    package_dir={"newsbot.site_rules": "rules"},
    package_data={
        "newsbot.site_rules": ["*.yaml"],
        "newsbot": [
            *(
                f"**/*.{kind}"
                for kind in ("lua", "sql", "txt", "json", "yaml", "html", "xml", "css", "js", "svg", "po")
            ),
            "py.typed",
        ],
    },
    install_requires=requirements(),
    zip_safe=True,
)
