"""``scrapy simulate compare`` and ``plan``: what a policy gives for a budget, what budget a target takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from newsbot.cli.command import Call
from newsbot.cli.terminal import Column, make_console
from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError
from newsbot.items import Kind
from newsbot.operations.reading import stored
from newsbot.simulator.files import make_folder
from newsbot.simulator.judging import UNITS
from newsbot.simulator.replaying import Recorded, from_pages, from_polls
from newsbot.simulator.sitemaking import require_memory
from newsbot.simulator.sitesettings import SiteSettings, read_settings
from newsbot.simulator.strategies.choosing import Choice, choose
from newsbot.simulator.strategies.task import MOST_A_DAY, PushSettings
from newsbot.simulator.targets import LEAST, read_targets, rounds, smallest
from newsbot.simulator.weighing import Tell, Weighed, as_document, weigh
from newsbot.simulator.weighingreport import cell, write_weighed
from newsbot.simulator.worlds import Generated, Worlds
from newsbot.storage.base import Storage

MAX_SEEDS = 200
MAX_SERVERS = 10_000
LONGEST = 30 * 86_400.0
SHOWN = (
    "freshness",
    "age",
    "median",
    "mean",
    "p95",
    "p99",
    "lost",
    "requests",
    "megabytes",
    "useful",
    "host_peak",
)
"""Figures of the table; JSON and the report have all."""


def compare(call: Call) -> int:
    """Run policies at one budget and show what each gives."""
    options = call.options
    choices, push, settings = _read(options)
    seeds = _seeds(options)
    worlds = _worlds(call, settings)
    if options.out:
        make_folder(options.out.expanduser())
    with _progress(len(choices) * len(seeds)) as tell:
        found = weigh(worlds, choices, options.budget, seeds, push, tell=tell)
    if options.out:
        about = _about(worlds, push, found, seeds)
        write_weighed(options.out.expanduser(), about, found, seeds)
    if call.json:
        call.document(as_document(worlds.about(), found, seeds))
        return 0
    _show(call, found)
    call.text(f"\n{worlds.about()}; {_of_seeds(seeds)}; budget {options.budget:g} visits of a source a day")
    if options.out:
        call.text(f"tables and report: {options.out}; open {options.out}/report.html")
    return 0


def plan(call: Call) -> int:
    """Find the smallest budget of each policy that meets the targets."""
    options = call.options
    targets = read_targets(options.target)
    choices, push, settings = _read(options)
    seeds = _seeds(options)
    worlds = _worlds(call, settings)
    answers = []
    with _progress(len(choices) * rounds()) as tell:
        for choice in choices:

            def run(a_day: float, choice: Choice = choice) -> Weighed:
                found = weigh(worlds, [choice], a_day, seeds, push)[0]
                tell()
                return found

            answers.append(smallest(run, targets, budgeted=choice.strategy.budgeted))
    if call.json:
        call.document(
            {
                "target": [target.text for target in targets],
                "policies": [
                    {
                        "budget": answer.budget,
                        **as_document(worlds.about(), [answer.weighed], seeds)["policies"][0],
                    }
                    for answer in answers
                ],
                "world": worlds.about(),
                "seeds": list(seeds),
            }
        )
        return 0
    _show(call, [answer.weighed for answer in answers], [answer.budget for answer in answers])
    call.text(f"\n{worlds.about()}; {_of_seeds(seeds)}; target {options.target}")
    missed = [answer.weighed.choice.label for answer in answers if answer.budget is None]
    if missed:
        call.text(f"not met at any budget up to {MOST_A_DAY:g} visits a day: {', '.join(missed)}")
    return 0


def budget(text: str) -> float:
    """Read visits of a source a day. Raises :class:`ArgumentError`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not LEAST <= value <= MOST_A_DAY:
        raise ArgumentError(f"--budget {text}: must be {LEAST:g} to {MOST_A_DAY:g} visits of a source a day")
    return value


def _read(options: Any) -> tuple[Sequence[Choice], PushSettings, SiteSettings]:
    """Read all options, so that a mistake is told before anything is opened or made."""
    if hasattr(options, "budget"):
        options.budget = budget(options.budget)
    if options.seeds > MAX_SEEDS:
        raise ArgumentError(f"--seeds {options.seeds}: at most {MAX_SEEDS}")
    if options.servers > MAX_SERVERS:
        raise ArgumentError(f"--servers {options.servers}: at most {MAX_SERVERS}")
    settings = read_settings(options.world)
    return choose(options.policies, options.request), _push(options), settings


def _push(options: Any) -> PushSettings:
    try:
        loss = float(options.loss.removesuffix("%")) / (100 if options.loss.endswith("%") else 1)
    except ValueError:
        loss = -1.0
    if not 0 <= loss <= 1:
        raise ArgumentError(f"--loss {options.loss}: must be a share such as 5% or 0.05")
    notice, safety = _seconds("notice", options.notice, 0.0), _seconds("safety", options.safety, 300.0)
    return PushSettings(loss=loss, notice=notice, safety=safety, servers=options.servers)


def _seconds(name: str, text: str, least: float) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ArgumentError(f"--{name} {error}") from error
    if not least <= seconds <= LONGEST:
        raise ArgumentError(f"--{name} {text}: must be {least:g} seconds to 30 days")
    return seconds


def _seeds(options: Any) -> list[int]:
    return list(range(options.seed, options.seed + options.seeds))


def _worlds(call: Call, settings: SiteSettings) -> Worlds:
    if not call.options.from_data:
        require_memory(settings)
        return Generated(settings)
    with stored(call.settings) as storage:
        return _recorded(storage, settings)


def _recorded(storage: Storage, settings: SiteSettings) -> Recorded:
    kinds = {one.url: one.kind for one in storage.sources.all()}
    sources = from_polls(storage.sources.polls(), kinds)
    return Recorded([*sources, *from_pages(storage.pages.iter(kind=Kind.ARTICLE))], settings)


def _about(worlds: Worlds, push: PushSettings, found: Sequence[Weighed], seeds: Sequence[int]) -> list[str]:
    return [
        f"{worlds.about()}.",
        f"Budget: {found[0].a_day:g} visits of a source a day; {_of_seeds(seeds)}; ±: half a 95 % interval.",
        (
            f"Push: {push.loss:.1%} of notices lost, {push.notice:g} s to arrive, safety poll each "
            f"{push.safety / 3600:g} h, {push.servers} downloads at one time in push_queue."
        ),
        "Made by: scrapy simulate compare. What the figures mean stands in docs/simulator.md.",
    ]


def _of_seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"means over {len(seeds)} seeds from {seeds[0]}"


def _show(call: Call, found: Sequence[Weighed], budgets: Sequence[float | None] | None = None) -> None:
    columns = [Column("policy"), *([Column("budget", "right")] if budgets else [])]
    columns += [Column(f"{name}{_unit(name)}", "right") for name in SHOWN]
    rows = []
    for place, one in enumerate(found):
        of_budget = [] if budgets is None else ["-" if budgets[place] is None else f"{budgets[place]:.2f}"]
        rows.append([one.choice.label, *of_budget, *(cell(one.figures[name]) for name in SHOWN)])
    call.table(columns, rows)


def _unit(name: str) -> str:
    return f" {UNITS[name]}" if UNITS[name] in ("%", "min") else ""


@contextmanager
def _progress(total: int) -> Iterator[Tell]:
    """Give what is called after each run: a bar on a terminal, silence elsewhere."""
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=make_console(sys.stderr), disable=quiet, transient=True) as progress:
        task = progress.add_task("runs", total=total)
        yield lambda: progress.update(task, advance=1)
