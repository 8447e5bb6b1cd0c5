"""The files of the wheel and of scrapyd's egg, and the packages they need; pyproject.toml has the rest."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.bdist_egg import bdist_egg

HERE = Path(__file__).parent


def requirements() -> list[str]:
    """Return the lines of requirements.txt, without comments and the extra ``datasketch``."""
    path = HERE / "requirements.txt"
    lines = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    plain = [line.partition(" #")[0].strip() for line in lines if line[:1].isalnum()]
    return [line for line in plain if not line.startswith("datasketch")]


class Egg(bdist_egg):
    """An egg with its compiled files where Python reads them in a zip file: beside the source files.

    Otherwise each job of scrapyd compiles all modules again, which takes more than half a second.
    """

    exclude_source_files: bool

    def finalize_options(self) -> None:
        """Request the step that moves the compiled files."""
        super().finalize_options()
        self.exclude_source_files = True

    def zap_pyfiles(self) -> None:
        """Move the compiled files; keep the source files for other versions of Python."""
        for path in list(Path(self.bdist_dir).rglob("__pycache__/*.pyc")):
            path.rename(path.parent.parent / f"{path.name.partition('.')[0]}.pyc")


setup(
    cmdclass={"bdist_egg": Egg},
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
