"""Steps that the contract tests of frontiers share."""

from __future__ import annotations

from collections.abc import Callable

from newsbot.frontier.base import Frontier, Lease
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of

TTL = 60.0


def lease(
    frontier: Frontier,
    clock: FakeClock,
    limit: int = 10,
    *,
    owner: str = "one",
    horizon: float | None = None,
    accept: Callable[[str], bool] | None = None,
    alone: bool = False,
) -> list[Lease]:
    return frontier.lease(
        owner,
        limit,
        horizon=clock.now if horizon is None else horizon,
        ttl=TTL,
        accept=accept,
        alone=alone,
    )


def names(leases: list[Lease]) -> list[str]:
    return [name_of(one.entry) for one in leases]


def state(frontier: Frontier, name: str) -> str:
    return frontier.known([key_of(name)])[key_of(name)].state


def fetch(frontier: Frontier, clock: FakeClock, name: str, *, next_due: float | None = None) -> None:
    """Move an entry to the state done."""
    frontier.add([make_entry(name, host=f"{name}.example")])
    (one,) = [one for one in lease(frontier, clock, 100) if name_of(one.entry) == name]
    assert frontier.ack(one, next_due=next_due)
