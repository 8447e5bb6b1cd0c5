"""All errors that newsbot raises on purpose.

::

    NewsbotError
    ├── UserError                 an error that a person can correct: one line, no traceback
    │   ├── ArgumentError         a wrong spider argument or command option
    │   ├── RulesError            problems in rule files, all at once
    │   └── DataError             an error of the file or server that stores the data
    │       ├── DataUnavailable   file locked or unreadable, or server not responding: wait and try again
    │       ├── DataFull          disk or quota exhausted
    │       ├── DataDamaged       the file cannot be read any more
    │       ├── RecordRefused     this record cannot be stored, others can
    │       ├── RecordBusy        another worker is writing this record: try again
    │       └── SchemaError       written by a newer newsbot, or not by newsbot
    └── NotAnArticle              a page that is not an article (``reason`` says why)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


class NewsbotError(Exception):
    """Base of all errors raised by newsbot."""


MAX_QUOTE = 100
"""Maximum number of characters of given text that a message repeats."""


def did_you_mean(word: str, allowed: Iterable[str], *, similarity: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the nearest allowed word, or an empty string.

    ``similarity`` is the least similarity of this word, from 0 to 1.
    """
    near = get_close_matches(word, list(allowed), n=1, cutoff=similarity)
    return f" (did you mean {near[0]!r}?)" if near else ""


class UserError(NewsbotError):
    """An error that a person can correct. ``str(error)`` names the place and the remedy."""


class ArgumentError(UserError):
    """A wrong spider argument or command option. The text says what is allowed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in a rule file, shown as ``file:line: key: problem``.

    Line 0 means that the problem does not belong to a single line.
    """

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        return where + (f"{self.key}: {self.text}" if self.key else self.text)


class RulesError(UserError):
    """All problems of all rule files, one per line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = list(problems)


class DataError(UserError):
    """An error of the file or server in which newsbot stores its data."""


class DataUnavailable(DataError):
    """The data cannot be reached now: the file is locked or not readable, or the server does not respond."""


class DataFull(DataError):
    """There is no space left to write: the disk is full, or the quota is used up."""


class DataDamaged(DataError):
    """The file that stores the data is damaged. Waiting does not help."""


class RecordRefused(DataError):
    """One record cannot be stored as it is, for example because it is too large or contains NaN.

    Other records can be stored.
    """


class RecordBusy(DataError):
    """Another worker is writing this record, or has died while it was writing.

    Other records can be stored.
    """


class SchemaError(DataError):
    """The data were written by a newer newsbot, or are not newsbot data at all."""


class NotAnArticle(NewsbotError):
    """The page is not an article.

    ``reason`` is a short token that never changes, such as ``section_front``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
