"""Prints tables and lines for people, on a terminal or into a pipe.

On a terminal, the library rich draws the tables. Wide columns wrap. If the terminal is too narrow, the least
important columns are left out. In a pipe or a file each row is one line, nothing is cut, and there are no
colours, so that ``grep`` and ``cut`` work.

Control characters are removed, because text from the web could use them to change the terminal. Secrets in
URLs are masked, and international host names are shown in their own script. Rich is imported inside
functions, because most output does not need it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TextIO, cast

from rich.cells import cell_len

from newsbot.cli.log_lines import redacted
from newsbot.clock import utc
from newsbot.urls import host_in_letters

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# C0 without tab and line feed, DEL, C1, and the characters that change the direction of writing.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
READABLE = 24
"""Minimum width of a wide column in characters. If there is less space, the text is printed below the row."""
_BLANK = re.compile(r"[\s\u2028\u2029]+")
_IDN_LABEL = re.compile(r"(?<![\w%-])xn--[a-z0-9-]{1,59}(?![\w-])", re.IGNORECASE)
"""Matches a host name label in ASCII form (RFC 5890) that is not part of a longer word."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    ``wide`` columns wrap, and share the space that the other columns leave. On a narrow terminal the columns
    with the highest ``spare`` are left out first. Columns with ``spare`` 0 stay.
    """

    title: str
    align: Literal["left", "right"] = "left"
    wide: bool = False
    spare: int = 0


_COLUMN = re.compile(r"\s*(.*?)\s*(>?)\s*(\*?)\s*(\d?)\s*")


def columns(text: str) -> list[Column]:
    """Return the columns that a text names, for example ``kind | polls > 3 | source *``.

    After the title of a column, ``>`` aligns it to the right, ``*`` makes it wide, and a digit is its
    ``spare``.
    """
    found = [cast("re.Match[str]", _COLUMN.fullmatch(part)).groups() for part in text.split("|")]
    return [
        Column(title, "right" if right else "left", wide=bool(wide), spare=int(spare or 0))
        for title, right, wide, spare in found
    ]


def printable(text: str) -> str:
    """Return ``text`` without control characters and characters that change the direction of writing.

    Line feeds and tabs are kept.
    """
    return _CONTROL.sub("", text)


def clean(text: str) -> str:
    """Return ``text`` in a form for people.

    Control characters are removed (:func:`printable`), secrets are masked, and international host names are
    shown in their own script.
    """
    if "xn--" in text.lower():
        text = _IDN_LABEL.sub(lambda match: host_in_letters(match[0]), text)
    return redacted(printable(text))


def one_line(value: object) -> str:
    """Return ``value`` as one clean line. None gives an empty string."""
    return "" if value is None else clean(_BLANK.sub(" ", str(value))).strip()


def is_pipe(stream: TextIO) -> bool:
    """Return True if rich will certainly not treat the stream as a terminal.

    Environment variables can make rich treat a pipe as a terminal.
    """
    return not (stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"))


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console of rich that prints text unchanged, without markup, emoji codes and highlighting."""
    from rich.console import Console

    return Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_table(console: Console, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table for a terminal or a pipe (see the docstring of this module)."""
    cells = [[one_line(value) for value in row] for row in rows]
    if not console.is_terminal:
        for line in plain_table(columns, cells):
            console.file.write(line + "\n")
        return
    shown = _choose(console.width, columns, cells)
    left_out = [column.title for at, column in enumerate(columns) if at not in shown]
    columns, cells = _only(shown, columns, cells)
    if _room(columns, cells) <= console.width:
        console.print(_rich_table(columns, cells))
    else:
        _print_stacked(console, columns, cells)
    if left_out:
        console.print(f"columns that do not fit: {', '.join(left_out)}", style="dim")


def _choose(width: int, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the indexes of the columns to show on a terminal with this width.

    The column with the highest ``spare`` is left out first, and so on, until the table fits. If the table
    does not fit even then, wide columns will be printed below their rows, and only the other columns must
    fit.
    """
    everything = range(len(columns))
    for chosen in _ever_fewer(everything, columns):
        if _room(*_only(chosen, columns, cells)) <= width:
            return chosen
    narrow = list(_ever_fewer([at for at in everything if not columns[at].wide], columns))
    # As a last resort, columns that should stay are left out, beginning at the right.
    narrow += [narrow[-1][:count] for count in range(len(narrow[-1]) - 1, 0, -1)]
    for chosen in narrow:
        if max(map(cell_len, plain_table(*_only(chosen, columns, cells)))) <= width:
            break
    return [at for at in everything if columns[at].wide or at in chosen]


def _ever_fewer(chosen: Iterable[int], columns: Sequence[Column]) -> Iterator[list[int]]:
    """Yield the indexes of all columns, then repeatedly remove the column with the highest ``spare``."""
    left = list(chosen)
    yield left
    for at in sorted(left, key=lambda at: -columns[at].spare):
        if columns[at].spare:
            left = [one for one in left if one != at]
            yield left


def _only(
    chosen: Sequence[int], columns: Sequence[Column], cells: Sequence[Sequence[str]]
) -> tuple[list[Column], list[list[str]]]:
    return [columns[at] for at in chosen], [[row[at] for at in chosen] for row in cells]


def _room(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> int:
    """Return the smallest width at which wide columns are readable and other columns need no line breaks."""
    needed = []
    for at, column in enumerate(columns):
        longest = max((cell_len(row[at]) for row in cells), default=0)
        heading = max(map(cell_len, _heading(column, longest)))
        needed.append(max(min(longest, READABLE), heading) if column.wide else max(longest, heading))
    return sum(needed) + 2 * (len(columns) - 1)


def _rich_table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> Table:
    """Return the table for a terminal. Long words such as URLs continue on the next line; nothing is cut."""
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
    """Return the title in one line, or in two lines if it is longer than the cells of its column."""
    if column.wide or cell_len(column.title) <= longest:
        return [column.title]
    # This finds the smallest width at which the title has at most two lines.
    for width in range(max(longest, 1), len(column.title)):
        lines = wrap(column.title, width, break_long_words=False)
        if len(lines) <= 2:
            return lines
    return [column.title]


def _print_stacked(console: Console, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    """Print each row with its wide columns below it, one per line. This is for narrow terminals."""
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
    """Return the table as lines: a header, then one line per row. Columns are separated by two spaces."""
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


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 URL``, ``2 URLs``. ``plural`` is for irregular plurals."""
    return f"1 {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def when(seconds: float | None, now: float) -> str:
    """Return a time in words, such as ``5 min ago`` or ``in 2 h``.

    A time that is far from ``now`` becomes a date, and None becomes ``-``. Both arguments are POSIX seconds.
    """
    if seconds is None:
        return "-"
    distance = abs(now - seconds)
    for unit, size, limit in _UNITS:
        if distance < limit:
            amount = f"{int(distance / size)} {unit}"
            return f"{amount} ago" if seconds <= now else f"in {amount}"
    return utc(seconds).strftime("%Y-%m-%d")


# Units of time: name, number of seconds, and the distance in seconds below which the unit is used.
_UNITS = (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172800), ("d", 86400, 60 * 86400))


LINE_EVERY = 10_000
"""Number of items after which a line of progress is written, if the output is not a terminal."""
Totals = Mapping[str, int]
"""Approximate number of items by kind. The total of a missing kind is unknown."""
Report = Callable[[str, int], None]
"""A function that is called with a kind and the number of its items that are done so far."""


def lines(write: Callable[[str], None], totals: Totals) -> Report:
    """Return a function that writes a line every :data:`LINE_EVERY` items of a kind."""
    written: dict[str, int] = {}

    def show(kind: str, number: int) -> None:
        if number // LINE_EVERY > written.get(kind, 0):
            written[kind] = number // LINE_EVERY
            write(f"{kind}: {number} of {totals[kind]}" if kind in totals else f"{kind}: {number}")

    return show
