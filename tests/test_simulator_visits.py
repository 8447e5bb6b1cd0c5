"""Visits in a world of sources agree with theory where it has a closed form."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from newsbot.apps.simulator import strategies
from newsbot.apps.simulator.site_world import (
    HEADERS,
    PAGE,
    SiteSettings,
    SiteWorld,
    Visits,
    costs,
    history_of,
    make_sites,
    measure,
    run_policy,
)
from newsbot.apps.simulator.strategies import MOST_A_DAY, STRATEGIES, PushSettings, capped
from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Polled
from tests.simulatedsites import WAY, changed, even_world, visit

FIVE = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 80)


@pytest.fixture(scope="module")
def five() -> SiteWorld:
    """The rates of the published example, with eighty pages each."""
    return even_world(FIVE, 60)


@pytest.mark.parametrize("x", [0.2, 1.0, 4.0])
def test_cyclic_visits(x: float) -> None:
    """Freshness is (1 - e^-x) / x for x changes per visit. The age is checked, too."""
    world = even_world([4 * x] * 200, 60)
    found = measure(world, visit(world, "cyclic", 4), WAY).figures
    assert found["freshness"] / 100 == pytest.approx((1 - exp(-x)) / x, abs=0.006)
    age = strategies.age([4 * x], [4.0])[0] * 24 * 60
    assert found["age"] == pytest.approx(age, rel=0.04)
    assert found["mean"] == pytest.approx(3 * 60, rel=0.02)
    assert found["useful"] / 100 == pytest.approx(1 - exp(-x), abs=0.01)


@pytest.mark.parametrize("rate", [1.0, 4.0, 12.0])
def test_random_visits(rate: float) -> None:
    """Freshness is f / (f + λ); visits are at least 5 minutes apart."""
    world = even_world([rate] * 200, 60)
    found = measure(world, visit(world, "random", 4), WAY).figures
    assert found["freshness"] / 100 == pytest.approx(4 / (4 + rate), abs=0.01)


def test_the_published_optimum_in_the_simulator(five: SiteWorld) -> None:
    """Cho and Garcia-Molina: five pages, five visits a day; proportional <= uniform <= optimal."""
    assert capped(strategies.freshest, np.arange(1.0, 6), 5) == pytest.approx(
        [1.15, 1.36, 1.35, 1.14, 0], abs=0.005
    )
    names = {"proportional": "proportional", "cyclic": "uniform", "freshest": "freshest"}
    found = {name: measure(five, visit(five, name, 1), WAY).figures["freshness"] / 100 for name in names}
    for name, share in names.items():
        theory = strategies.freshness(FIVE, getattr(strategies, share)(FIVE, len(FIVE))).mean()
        assert found[name] == pytest.approx(theory, abs=0.01)
    assert found["proportional"] < found["cyclic"] < found["freshest"]


def test_youngest_reduces_the_age_and_azar_increases_the_freshness_of_random_visits(five: SiteWorld) -> None:
    found = {
        name: measure(five, visit(five, name, 1), WAY).figures
        for name in ("cyclic", "youngest", "azar", "random")
    }
    assert found["youngest"]["age"] < found["cyclic"]["age"]
    assert found["azar"]["freshness"] > found["random"]["freshness"]


def test_delays_of_uniform_proportional_and_square_root(five: SiteWorld) -> None:
    """Uniform and proportional have equal delays; that of square-root is (E√λ)² / Eλ times as long."""
    delay = {
        name: measure(five, visit(five, name, 4), WAY).figures["mean"]
        for name in ("cyclic", "proportional", "square_root")
    }
    assert delay["proportional"] == pytest.approx(delay["cyclic"], rel=0.03)
    better = np.sqrt(FIVE).mean() ** 2 / FIVE.mean()
    assert delay["square_root"] / delay["cyclic"] == pytest.approx(better, rel=0.02)


def test_overflow_of_windows() -> None:
    """If X items appear between two visits, max(X - K, 0) are lost; X is Poisson."""
    mean, window = 10.0, 8
    world = even_world([mean * 4] * 50, 60, window=window)
    found = measure(world, visit(world, "cyclic", 4), WAY).figures
    chances = exp(-mean) * np.cumprod([1, *(mean / k for k in range(1, 100))])
    lost = (chances * np.maximum(np.arange(100) - window, 0)).sum()
    assert found["lost"] / 100 == pytest.approx(lost / mean, rel=0.03)


def test_the_history_has_each_event_that_was_found() -> None:
    world = even_world([4.0] * 50, 60, window=2)
    visits = visit(world, "cyclic", 4)
    history, figures = history_of(world, visits), measure(world, visits, WAY).figures
    counted = history["changed"] >= world.learned
    assert 100 * history["lost"][counted].mean() == pytest.approx(figures["lost"], rel=0.02)
    delays = (history["seen"] - history["changed"])[counted]
    assert delays.mean() / 60 == pytest.approx(figures["mean"], rel=0.02)
    assert set(history["source"]) == set(range(1, 51))


def test_day_and_night_differ_from_the_homogeneous_formula() -> None:
    """If most changes are in a few hours, more visits find nothing, and copies are fresh for longer."""
    same = {"feeds": 300, "sections": 0, "days": 20, "learn": 2, "sigma": 0.0, "median": 8.0, "batching": 0.0,
            "bursts": 0.0, "response": 0.0, "host_delay": 0.0, "weekly": 0.0}  # fmt: skip
    homogeneous = 100 * (1 - exp(-1))
    freshness = {}
    for diurnal in (0.0, 3.0):
        world = make_sites(SiteSettings(**same, diurnal=diurnal), 1)  # type: ignore[arg-type]
        freshness[diurnal] = measure(world, visit(world, "cyclic", 8), WAY).figures["freshness"]
    assert freshness[0.0] == pytest.approx(homogeneous, abs=1)
    assert freshness[3.0] > homogeneous + 5


def test_the_wait_for_one_server_matches_the_pollaczek_khinchine_formula() -> None:
    """The mean wait is λ E[S²] / (2 (1 - ρ)) for Poisson arrivals of notices and downloads of any length."""
    rates, draw = np.full(3000, 2.0), np.random.default_rng(3)
    world = even_world(rates, 30)
    seconds = draw.lognormal(1.8, 0.9, len(rates))
    world = changed(world, response=seconds)
    push = PushSettings(loss=0.0, notice=0.0, safety=365 * DAY, servers=1)
    arrivals = rates.sum() / DAY
    busy = arrivals * seconds.mean()
    assert 0.5 < busy < 0.8
    found = visit(world, "push_queue", 1, push)
    wait = found.wait[found.at > DAY].mean()
    assert wait == pytest.approx(arrivals * (seconds**2).mean() / 2 / (1 - busy), rel=0.08)
    assert visit(world, "push_queue", 1, PushSettings(loss=0, notice=0, servers=50)).wait.mean() < wait / 50
    # M/G/∞: without a queue the number of concurrent downloads is Poisson, with mean arrivals * service
    free = visit(world, "push", 1, push)
    at = np.arange(DAY, world.end, 50.0)
    begun = np.searchsorted(np.sort(free.at), at, side="right")
    ended = np.searchsorted(np.sort(free.at + seconds[free.rows]), at, side="right")
    assert (begun - ended).mean() == pytest.approx(busy, rel=0.03)
    assert (begun - ended).var() == pytest.approx(busy, rel=0.06)


def test_lost_notices_wait_for_the_safety_poll_or_the_next_notice() -> None:
    world = even_world([0.05] * 4000, 30)
    push = PushSettings(loss=0.3, notice=0.0, safety=6 * HOUR)
    found = measure(world, visit(world, "push", 1, push), WAY).figures
    assert found["median"] == 0
    assert found["mean"] == pytest.approx(0.3 * 3 * 60, rel=0.1)
    every = measure(world, visit(world, "push", 1, PushSettings(loss=0.0, notice=60.0)), WAY).figures
    assert every["mean"] == pytest.approx(1, rel=0.1)


def test_hosts_get_one_request_at_a_time() -> None:
    world = changed(
        even_world([3.0] * 40, 4, window=5), host=np.arange(40) % 2, hosts=["a", "b"], host_delay=60.0
    )
    for name in ("cyclic", "push", "push_queue"):
        found = visit(world, name, 12)
        for host in (0, 1):
            times = np.sort(found.at[world.host[found.rows] == host])
            assert np.diff(times).min() >= 60 - 1e-6
        assert found.wait.max() > 0
    figures = measure(world, visit(world, "cyclic", 12), WAY).figures
    assert figures["host_mean"] == pytest.approx(10, rel=0.03)
    assert 10 < figures["host_peak"] <= 60


def test_costs_of_visits() -> None:
    at = np.array([0.0, HOUR, 2 * HOUR, 30 * HOUR])
    counts = np.array([0, 0, 1, 1])
    visits = Visits(np.zeros(4, int), at, np.array([0, 0, 0, 1]), counts, np.zeros(4))
    world = even_world([1.0], 3)
    whole = HEADERS + 1000
    requests, size = costs(world, visits, "conditional")
    assert (requests.tolist(), size.tolist()) == ([1, 1, 1, 1], [whole, HEADERS, whole, whole])
    requests, size = costs(world, visits, "head")
    assert requests.tolist() == [2, 1, 2, 1]
    assert size.tolist() == [whole + HEADERS, HEADERS, whole + HEADERS, HEADERS]
    assert costs(world, visits, "plain")[1].tolist() == [whole] * 4
    rude = changed(world, ignores=np.array([True]))
    assert costs(rude, visits, "conditional")[1].tolist() == [whole] * 4
    assert costs(rude, visits, "head")[0].tolist() == [2] * 4


def test_dead_pages_are_visited_once_more() -> None:
    settings = SiteSettings(feeds=0, sections=0, pages=120, days=6, learn=1, deaths=0.1)
    world = make_sites(settings, 4)
    assert (np.diff(world.first) > 0).any()
    for name in STRATEGIES:
        found = visit(world, name, 2)
        late = found.at >= world.gone[found.rows]
        assert np.bincount(found.rows[late], minlength=1).max() <= 1, name
        assert (found.at >= world.born[found.rows]).all()
        assert np.diff(found.at)[np.diff(found.rows) == 0].min() >= (0 if "push" in name else SHORTEST - 1e-6)


def by_hand(world: SiteWorld, visits: Visits) -> tuple[float, float]:
    """Compute freshness and age in steps of ten seconds."""
    times = np.arange(world.learned, world.end, 10.0)
    stale, age = 0.0, 0.0
    for row in range(world.sources):
        events = world.moments[world.first[row] : world.first[row + 1]]
        mine = visits.rows == row
        known = np.r_[0, visits.until[mine]][
            np.searchsorted(visits.at[mine] + world.response[row], times, side="right")
        ]
        happened = np.searchsorted(events, times, side="right")
        old = happened > known
        stale += old.sum()
        age += (times[old] - events[known[old]]).sum()
    return 100 * (1 - stale / len(times) / world.sources), age / len(times) / world.sources / 60


def test_freshness_and_age_match_a_simple_computation() -> None:
    world = changed(even_world([0.5, 3.0, 20.0], 6, window=4), response=np.array([0.0, 200.0, 30.0]))
    for name in ("cyclic", "newsbot", "nutch", "push"):
        visits = visit(world, name, 8)
        found = measure(world, visits, WAY).figures
        freshness, age = by_hand(world, visits)
        assert found["freshness"] == pytest.approx(freshness, abs=0.1), name
        assert found["age"] == pytest.approx(age, rel=0.02, abs=0.1), name
        no = np.zeros(0, np.intp)
        none = Visits(no, np.zeros(0), no, no, np.zeros(0))
        assert measure(world, none, WAY).figures["freshness"] == pytest.approx(
            by_hand(world, none)[0], abs=0.1
        )


def test_no_share_exceeds_one_visit_per_five_minutes() -> None:
    rates = np.array([1.0, 1e6, 1e6])
    found = capped(strategies.proportional, rates, 600)
    assert found == pytest.approx([24, MOST_A_DAY, MOST_A_DAY])


def test_a_policy_with_an_invalid_result_is_reported() -> None:
    class Wrong:
        """Returns one number."""

        def next_polls(self, polled: Polled) -> np.ndarray:
            return polled.at[:1]

        def spend(self, requests: float, hours: float) -> None: ...

    world = even_world([1.0] * 3, 3)
    with pytest.raises(Exception, match="policy Wrong: next_polls must return one time"):
        run_policy(world, Wrong(), np.zeros(3))


def test_worlds_match_their_settings() -> None:
    settings = SiteSettings(feeds=30, sections=20, pages=200, days=10, hosts=7, deaths=0.05, ignoring=0.5)
    world, again = make_sites(settings, 5), make_sites(settings, 5)
    assert np.array_equal(world.moments, again.moments)
    assert not np.array_equal(world.moments[:20], make_sites(settings, 6).moments[:20])
    assert np.bincount(world.kinds).tolist() == [30, 20, 200]
    page = world.kinds == PAGE
    assert (world.window[page] == 0).all()
    assert np.isinf(world.gone[~page]).all()
    assert 0.3 < (world.born[page] > 0).mean() < 0.7
    died = world.gone < world.end
    last = world.moments[world.first[1:][died] - 1]
    assert last == pytest.approx(world.gone[died])
    assert len(world.hosts) == 7
