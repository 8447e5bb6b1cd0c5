"""Every error that newsbot raises on purpose.

::

    NewsbotError
    ├── UserError                 somebody can put it right: one line, no traceback
    │   ├── ArgumentError         a wrong spider argument or command option
    │   ├── RulesError            problems in rule files, all at once
    │   └── DataError             the place where data are kept
    │       ├── DataUnavailable   cannot be opened, locked, server away: wait and try again
    │       ├── DataFull          disk or quota exhausted
    │       ├── RecordRefused     this one record cannot be kept, others can
    │       ├── RecordBusy        this one record is being written by another worker: try again
    │       └── SchemaError       written by a newer newsbot, or no newsbot file at all
    └── NotAnArticle              a page that holds no article (``reason`` says why)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class NewsbotError(Exception):
    """Base of all errors raised by newsbot."""


class UserError(NewsbotError):
    """Something that a person can put right; ``str(error)`` names the place and the remedy."""


class ArgumentError(UserError):
    """A wrong spider argument or command option; the text says what is allowed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a rule file: ``file:line: key: problem``. Line 0: the fault is of no line."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        return where + (f"{self.key}: {self.text}" if self.key else self.text)


class RulesError(UserError):
    """All problems of all rule files, one a line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = list(problems)


class DataError(UserError):
    """A fault of the place where newsbot keeps its data."""


class DataUnavailable(DataError):
    """The data cannot be reached now (locked, no permission, server away)."""


class DataFull(DataError):
    """There is no room left to write."""


class RecordRefused(DataError):
    """One record cannot be kept as it is (too large, no number); the place itself is well."""


class RecordBusy(DataError):
    """Another worker writes this record now, or died while it did; the place itself is well."""


class SchemaError(DataError):
    """The data were written by a newer newsbot, or are no newsbot data at all."""


class NotAnArticle(NewsbotError):
    """The page holds no article; ``reason`` is a short stable token such as ``section_front``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
