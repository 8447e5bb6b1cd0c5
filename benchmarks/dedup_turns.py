"""Compares the near-duplicate indexes of several checkouts, in alternating turns of 500 texts.

A busy machine can be twice as fast in one minute as in the next, so rates that were measured one after the
other are not comparable. Rates of alternating turns are comparable. Each checkout has its own client and its
own Redis (``--where sqlite``: a file), and waits while another one has its turn.

    git worktree add ../before REVISION
    python -m benchmarks.dedup_turns [--documents 20000] [--where redis] ../before .
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

TURN = 500  # texts
WARM = 4  # the texts have this many parts; the first part is the warm-up


@contextmanager
def place(where: str) -> Iterator[str]:
    """Yield a new Redis or a new file."""
    from benchmarks.servers import own_redis  # noqa: PLC0415  (of the checkout that this process measures)

    with tempfile.TemporaryDirectory() as folder, own_redis() if where == "redis" else nullcontext() as url:
        yield url or str(Path(folder) / "newsbot.db")


def take_turns(where: str, documents: int) -> None:
    """For each line of stdin, insert the texts of one turn. Print the seconds, the CPU seconds, and the CPU
    seconds of Redis."""
    from benchmarks.dedup_index import NOW, address, open_index, server_seconds, signatures  # noqa: PLC0415

    with place(where) as spot:
        index = open_index(spot)
        for start in range(0, documents, TURN):
            some = enumerate(signatures(start, start + TURN), start)
            ready = [(*address(number), one) for number, one in some]
            sys.stdin.readline()
            served, busy, begin = server_seconds(spot), time.process_time(), time.perf_counter()
            for url, site, signature in ready:
                index.check_and_insert(url, site, signature, NOW)
            took = time.perf_counter() - begin, time.process_time() - busy, server_seconds(spot) - served
            print(json.dumps(took), flush=True)
        index.close()


class Side:
    """A checkout, run by a process of its own."""

    def __init__(self, folder: Path, where: str, documents: int) -> None:
        self.took: list[list[float]] = []
        command = [sys.executable, __file__, "--documents", str(documents), "--where", where, "--wait"]
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def take_turn(self) -> None:
        """Run one turn. Raises ``ValueError`` if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.took.append(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def as_text(self) -> str:
        """Return the figures as a line of text."""
        counted = self.took[len(self.took) // WARM :]
        took, busy, served = (sum(column) / len(counted) / TURN for column in zip(*counted, strict=True))
        return f"{1 / took:,.0f} per second, CPU {busy * 1e6:.0f} µs + Redis {served * 1e6:.0f} µs"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, help="checkouts")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--where", choices=("redis", "sqlite"), default="redis")
    parser.add_argument("--wait", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.wait:
        take_turns(arguments.where, arguments.documents)
        return
    with ExitStack() as stack:
        sides = [Side(one.resolve(), arguments.where, arguments.documents) for one in arguments.folders]
        for side in sides:
            stack.callback(side.close)
        for _ in range(0, arguments.documents, TURN):
            for side in sides:
                side.take_turn()
    for folder, side in zip(arguments.folders, sides, strict=True):
        print(f"{folder!s:30} {side.as_text()}")


if __name__ == "__main__":
    main()
