"""Secret values of rules: names and passwords, cookies and headers. They never stand in outputs."""

from __future__ import annotations

import os
import re
from pathlib import Path

MAX_SECRET = 64 * 1024
"""Maximum length of a secret, in bytes."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_FILE = "file:"


class Secret(str):
    """A secret as it is shown: the variable or file that contains it, or ``***``.

    So a rule can be printed, exported and logged. :meth:`read` returns the secret itself.
    """

    __slots__ = ("_written",)
    _written: str

    def __new__(cls, written: str) -> Secret:
        """``written`` is ``$NAME`` (environment variable), ``file:PATH``, or the secret itself."""
        is_reference = _VARIABLE.fullmatch(written) is not None or written.startswith(_FILE)
        secret = super().__new__(cls, written if is_reference else "***")
        secret._written = written
        return secret

    def read(self) -> str:
        """Return the secret. Raises ``ValueError`` if the variable or the file is missing."""
        text = self._written
        if variable := _VARIABLE.fullmatch(text):
            text = os.environ.get(variable[1], "")
            if not text:
                raise ValueError(f"the environment variable {variable[1]} is not set")
        elif text.startswith(_FILE):
            text = _content(Path(text.removeprefix(_FILE)).expanduser())
        return text.strip()

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        """Copy the secret, and not only what is shown."""
        return Secret, (self._written,)


def _content(path: Path) -> str:
    if not path.is_absolute():
        raise ValueError(f"{path} is not an absolute path; write for example file:/etc/newsbot/cookies.txt")
    try:
        with path.open("rb") as file:
            return file.read(MAX_SECRET).decode("utf-8", "replace")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from error
