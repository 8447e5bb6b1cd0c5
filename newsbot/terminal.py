"""What people see: tables and lines on a terminal or in a pipe.

On a terminal a table is drawn by rich and wide columns wrap. In a pipe or a file every row is one
line, nothing is cut, and there are no colours: ``grep`` and ``cut`` work. Text from the web is
cleaned of control characters first, so that no page can steer the terminal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from newsbot.clock import utc

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_BLANK = re.compile(r"[\s\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. ``wide`` ones share the room that the others leave, and wrap."""

    title: str
    align: Literal["left", "right"] = "left"
    wide: bool = False


def clean(text: str) -> str:
    """Return ``text`` without control characters and marks that turn the writing direction.

    Line ends and tabs stay.
    """
    return _CONTROL.sub("", text)


def one_line(value: object) -> str:
    """Return ``value`` as one clean line; None is the empty string."""
    return "" if value is None else clean(_BLANK.sub(" ", str(value))).strip()


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console that prints what it is given: no markup, no emoji codes, no guessing of colours."""
    return Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_table(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table the way the console's stream wants it (see the module's text)."""
    cells = [[one_line(value) for value in row] for row in rows]
    if console.is_terminal:
        console.print(rich_table(columns, cells))
    else:
        for line in plain_table(columns, cells):
            console.file.write(line + "\n")


def rich_table(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> Table:
    """Return the table for a terminal; long words such as URLs fold, nothing is cut."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(
            column.title,
            justify=column.align,
            overflow="fold",
            no_wrap=not column.wide,
            ratio=1 if column.wide else None,
        )
    for row in rows:
        table.add_row(*(Text(one_line(value)) for value in row))
    return table


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the table as lines: a header, then one line a row, columns two blanks apart."""
    lines = [[column.title for column in columns], *([one_line(value) for value in row] for row in rows)]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
    return [
        "  ".join(
            _pad(cell, width, column.align) for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


def _pad(cell: str, width: int, align: str) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if align == "right" else cell + blanks


def when(seconds: float | None, now: float) -> str:
    """Return a moment (POSIX seconds) as people say it: ``5 min ago``, ``in 2 h``, ``-`` for None."""
    if seconds is None:
        return "-"
    distance = abs(now - seconds)
    for unit, size, limit in _UNITS:
        if distance < limit:
            amount = f"{int(distance / size)} {unit}"
            return f"{amount} ago" if seconds <= now else f"in {amount}"
    return utc(seconds).strftime("%Y-%m-%d")


_UNITS = (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172800), ("d", 86400, 60 * 86400))
