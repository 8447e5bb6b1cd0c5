"""Several processes insert similar texts at the same moment: of each pair, one finds the other text."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier

import numpy as np

from newsbot.dedup.index import PERMUTATIONS, Signature
from tests import warm
from tests.contracts.index_backends import IndexPlace, made_up

PROCESSES = 4
ROUNDS = 200
NOW = 1_700_000_000.0


def text_of_round(round_: int, process: int) -> Signature:
    """In even rounds all processes have the same text, in odd rounds each has its own version."""
    values = np.random.default_rng(round_).integers(0, 2**32, PERMUTATIONS, dtype=np.uint32)
    if round_ % 2:
        values[process * 3 : process * 3 + 3] += 1
    return made_up(values, 300)


def insert_at_once(
    place: IndexPlace, barrier: Barrier, process: int, answers: multiprocessing.Queue[tuple[int, int]]
) -> None:
    index = place.open()
    try:
        for round_ in range(ROUNDS):
            text = text_of_round(round_, process)
            barrier.wait(60)
            near = index.check_and_insert(f"{round_}/{process}", f"s{process}.org", text, NOW + round_)
            assert {one.doc_id.split("/")[0] for one in near} <= {f"{round_}"}
            answers.put((round_, len(near)))
    finally:
        index.close()


def test_processes_that_insert_similar_texts_at_once_find_each_other(index_place: IndexPlace) -> None:
    index_place.open().close()
    context = warm.context()
    barrier, answers = context.Barrier(PROCESSES), context.Queue()
    workers = [
        context.Process(target=insert_at_once, args=(index_place, barrier, number, answers))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    got: list[list[int]] = [[] for _ in range(ROUNDS)]
    for _ in range(PROCESSES * ROUNDS):
        round_, seen = answers.get(timeout=120)
        got[round_].append(seen)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert [sorted(seen) for seen in got] == [list(range(PROCESSES))] * ROUNDS
