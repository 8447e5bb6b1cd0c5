"""Output for people: tables and lines on a terminal or in a pipe.

On a terminal a table is drawn by rich and wide columns wrap. In a pipe or a file every row is one
line, nothing is cut, and there are no colours: ``grep`` and ``cut`` work. Text from the web is
cleaned of control characters first, so that no page can steer the terminal. Rich is imported where
it is used: most output does not need it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TextIO

from rich.cells import cell_len

from newsbot.clock import utc

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
READABLE = 24
"""Characters that a wide column needs; with less it goes below its row."""
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


def is_pipe(stream: TextIO) -> bool:
    """Return True if a stream is certainly not a terminal for rich, whatever its variables say."""
    return not (stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"))


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console that prints what it is given: no markup, no emoji codes, no guessing of colours."""
    from rich.console import Console

    return Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_table(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table the way the console's stream wants it (see the module's text)."""
    cells = [[one_line(value) for value in row] for row in rows]
    if not console.is_terminal:
        for line in plain_table(columns, cells):
            console.file.write(line + "\n")
    elif _fits(console.width, columns, cells):
        console.print(_rich_table(columns, cells))
    else:
        _print_stacked(console, columns, cells)


def _fits(width: int, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> bool:
    """Return True if the wide columns keep enough room to be read beside the others."""
    longest = [max((cell_len(row[at]) for row in cells), default=0) for at in range(len(columns))]
    needed = [
        min(long, READABLE) if column.wide else max(long, *map(cell_len, _heading(column, long)))
        for column, long in zip(columns, longest, strict=True)
    ]
    return sum(needed) + 2 * (len(columns) - 1) <= width


def _rich_table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> Table:
    """Return the table for a terminal; long words such as URLs fold, nothing is cut."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        longest = max((cell_len(row[at]) for row in cells), default=0)
        table.add_column(
            "\n".join(_heading(column, longest)),
            justify=column.align,
            overflow="fold",
            no_wrap=not column.wide,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _heading(column: Column, longest: int) -> list[str]:
    """Return the title in one line or, over cells that are shorter, in two."""
    if column.wide or cell_len(column.title) <= longest:
        return [column.title]
    for width in range(max(longest, 1), len(column.title)):
        lines = wrap(column.title, width, break_long_words=False)
        if len(lines) <= 2:
            return lines
    return [column.title]


def _print_stacked(console: Console, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    """Print the wide columns of each row below it, one a line: too little room beside the others."""
    from rich.padding import Padding
    from rich.text import Text

    narrow = [at for at, column in enumerate(columns) if not column.wide]
    wide = [at for at, column in enumerate(columns) if column.wide]
    header, *lines = plain_table(
        [columns[at] for at in narrow], [[row[at] for at in narrow] for row in cells]
    )
    console.print(Text(header, style="bold", overflow="fold"))
    for line, row in zip(lines, cells, strict=True):
        console.print(Text(line, overflow="fold"))
        for at in wide:
            if row[at]:
                text = Text.assemble((f"{columns[at].title}: ", "dim"), row[at], overflow="fold")
                console.print(Padding(text, (0, 0, 0, 4)))


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
