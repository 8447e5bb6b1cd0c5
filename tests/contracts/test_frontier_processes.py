"""Several processes share the same data, and some of them are killed: no page is done twice, and no page is
lost."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from newsbot.frontier.base import Frontier
from tests import warm
from tests.contracts.frontier_backends import FrontierPlace, key_of, make_entry

ROOT = Path(__file__).parents[2]
HOSTS = 8
PAGES = 1000


def start(place: FrontierPlace, owner: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.contracts.frontier_worker",
        place.backend,
        str(place.folder),
        owner,
    ]
    worker = warm.Popen[str](command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def go(*workers: subprocess.Popen[str]) -> None:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()


def fill(frontier: Frontier, pages: int) -> list[str]:
    """Queue pages on several hosts; return the names of all pages that will have been fetched at the end."""
    for host in range(HOSTS):
        frontier.set_politeness(f"h{host}", delay=0.0, concurrency=4)
    frontier.add([make_entry(f"page-{n}", host=f"h{n % HOSTS}") for n in range(pages)])
    return [f"page-{n}" for n in range(pages)] + [f"child-page-{n}" for n in range(pages)]


def test_four_processes_share_the_work(frontier_place: FrontierPlace) -> None:
    frontier = frontier_place.open()
    expected = fill(frontier, PAGES)
    workers = [start(frontier_place, f"worker-{n}") for n in range(4)]
    go(*workers)
    printed = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0, 0]
    done = [name for names in printed for name in names]
    assert len(done) == len(set(done)), "a page was done twice"
    assert sorted(done) == sorted(expected)
    assert frontier.counts() == {"pending": 0, "leased": 0, "done": 2 * PAGES, "aside": 0, "hosts": HOSTS}
    assert sum(bool(names) for names in printed) > 1, "one process did all the work, so the test is not valid"
    frontier.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_process_killed_at_any_moment_loses_nothing(frontier_place: FrontierPlace, seed: int) -> None:
    chance = random.Random(seed)
    frontier = frontier_place.open()
    expected = fill(frontier, 250)
    printed: list[str] = []
    for round_ in range(5):
        owner = f"worker-{round_}"
        worker = start(frontier_place, owner)
        assert worker.stdout is not None
        go(worker)
        # On a busy machine, a worker may finish all pages before it is killed: the next ones print nothing.
        printed += "".join(worker.stdout.readline() for _ in range(chance.randrange(1, 80))).split()
        worker.kill()
        printed += worker.communicate(timeout=60)[0].split()
        assert set(frontier.owners()) <= {owner}
        frontier.release(owner)
        known = frontier.known([key_of(name) for name in expected])
        counts = frontier.counts()
        assert counts["leased"] == counts["aside"] == 0
        assert counts["pending"] + counts["done"] == len(known) >= 250
        assert all(known[key_of(name)].state == "done" for name in printed), "an acknowledged page came back"
    last = start(frontier_place, "last")
    go(last)
    printed += last.communicate(timeout=120)[0].split()
    assert last.returncode == 0
    assert len(printed) == len(set(printed)), "a page was acknowledged twice"
    known = frontier.known([key_of(name) for name in expected])
    assert len(known) == len(expected), "a link was lost"
    assert {one.state for one in known.values()} == {"done"}
    frontier.close()
