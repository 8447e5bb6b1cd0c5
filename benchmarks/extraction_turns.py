"""CPU time of extraction in several checkouts and other programs, which take turns page by page.

A busy machine can be twice as fast in one minute as in the next, so times that were measured one after the
other are not comparable. Times of alternating turns are comparable. Each checkout or program runs in a
process of its own. While one process reads a page, the others wait. Each pass starts new processes, so that
no page is cached. For each page, the shortest time of all passes counts. The other programs are those of
benchmarks/extractors.py.

    git worktree add ../before REVISION
    python -m benchmarks.extraction_turns [--data FOLDER] [--set fundus] [--passes 4] ../before . trafilatura
        newspaper4k
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent.parent
DATA = HERE.parent / "shared" / "extraction"


def take_turns(data: Path, name: str, side: str) -> None:
    """Read one page per line of stdin; print CPU milliseconds."""
    from benchmarks.extraction import load_definitions, newsbot  # noqa: PLC0415  (of the checkout in turn)
    from benchmarks.extractors import public_extractors  # noqa: PLC0415

    extract = newsbot if Path(side).is_dir() else public_extractors()[0][side]
    pages = list(load_definitions(data).ds_flat(str(data / name)))
    with suppress(Exception):  # loading happens once and is not counted
        extract(pages[0]["read"](), pages[0]["url"])
    for page in pages:
        html, url = page["read"](), page["url"]
        print("ready", flush=True)
        if not sys.stdin.readline():  # the parent process is gone
            return
        begin = time.process_time()
        with suppress(Exception):  # some programs fail on some pages
            extract(html, url)
        print((time.process_time() - begin) * 1e3, flush=True)


class Side:
    """A checkout or another program, run by a process of its own."""

    def __init__(self, name: str, data: Path, pages: str) -> None:
        folder = Path(name).resolve() if Path(name).is_dir() else HERE
        name = str(folder) if Path(name).is_dir() else name
        command = [sys.executable, __file__, "--wait", "--data", str(data.resolve()), "--set", pages, name]
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turns(self) -> Iterator[float]:
        """Yield the milliseconds for each page. A page is read only when its value is requested."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        while self._process.stdout.readline():
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            yield float(self._process.stdout.readline())
        if self._process.wait():
            sys.exit("a side ended with an error, see above")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sides", nargs="+", help="checkouts, or names of other programs")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with score.py and the sets")
    parser.add_argument("--set", default="fundus", help="set to read")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--wait", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.wait:
        take_turns(arguments.data, arguments.set, arguments.sides[0])
        return
    passes = []
    for _ in range(arguments.passes):
        sides = [Side(name, arguments.data, arguments.set) for name in arguments.sides]
        passes.append(list(zip(*(side.turns() for side in sides), strict=True)))
    least = [tuple(map(min, *page)) if len(passes) > 1 else page[0] for page in zip(*passes, strict=True)]
    for name, took in zip(arguments.sides, zip(*least, strict=True), strict=True):
        mean, median = statistics.mean(took), statistics.median(took)
        print(f"{name:30} {mean:.1f} ms per page (mean), {median:.1f} ms (median)")


if __name__ == "__main__":
    main()
