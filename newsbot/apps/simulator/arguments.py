"""Declares the actions of ``scrapy simulate`` and their options; :mod:`newsbot.apps.simulator.command` runs
them."""

from __future__ import annotations

import argparse
from pathlib import Path

from newsbot.cli.command import Action, Argument, one_of, positive

MAX_INTENSITY = 10**6


def _action(name: str, help_text: str, *arguments: Argument) -> Action:
    return Action(name, help_text, f"newsbot.apps.simulator.command:{name}", *arguments)


def intensity(text: str) -> float:
    """Parse a number of events per page (``type`` of an argument)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MAX_INTENSITY:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to {MAX_INTENSITY}")
    return value


def _file(name: str, what: str) -> Argument:
    return Argument(f"--{name}", type=Path, required=True, metavar="FILE", help=f"{what} (Parquet)")


def _count(name: str, metavar: str, help_text: str, default: int | None = None) -> Argument:
    return Argument(
        f"--{name}",
        type=positive,
        default=default,
        required=default is None,
        metavar=metavar,
        help=help_text if default is None else f"{help_text} ({default})",
    )


def _number(name: str, default: float, help_text: str) -> Argument:
    return Argument(
        f"--{name}", type=intensity, default=default, metavar="X", help=f"{help_text} ({default:g})"
    )


def _text(name: str, default: str, metavar: str, help_text: str) -> Argument:
    return Argument(f"--{name}", default=default, metavar=metavar, help=help_text)


def _seeds(default: int) -> Argument:
    return _count("seeds", "N", "number of seeds; the results are means over all seeds", default)


def _policies(default: str) -> Argument:
    return _text("policies", default, "NAMES", f"names or .py files, separated by commas ({default})")


SEED = _count("seed", "S", "seed of the random numbers; the same seed gives the same output", 1)
FREQUENCIES = Argument(
    "--frequencies",
    type=one_of("published", "printed"),
    default="published",
    metavar="WHICH",
    help="frequencies of changes: published (as in the published figures) or printed (as in the text)",
)
PAGES, CHANGES = _file("pages", "pages"), _file("changes", "change log")
ROUTES, QUERIES = _file("routes", "routes"), _file("queries", "query log")
TIME = _count("time", "T", "length of the run in units of 100 ms")
INTENSITY = Argument(
    "--intensity", type=intensity, required=True, metavar="X", help="events per page in that time, on average"
)
OUTPUT = Argument(
    "-o", "--output", type=Path, required=True, metavar="FILE", help="Parquet file, replaced at the end"
)
LISTEN = Argument(
    "--listen",
    default="",
    metavar="[HOST:]PORT",
    help="watch, pause and continue the experiment over HTTP while it runs (docs/simulator.md)",
)
OUT = Argument("--out", type=Path, metavar="DIR", help="folder for tables and report")
WORLD = (
    _text(
        "world",
        "",
        "KEY=VALUE,…",
        "properties of the generated world, for example feeds=300,window=15 (docs/simulator.md)",
    ),
    Argument(
        "--from-data",
        action="store_true",
        help="replay what the crawler recorded in its storage instead of a generated world",
    ),
    Argument(
        "--request",
        type=one_of("conditional", "head", "plain"),
        default="conditional",
        metavar="WAY",
        help="type of requests: conditional, head (HEAD first) or plain; for one policy: POLICY+WAY",
    ),
    _text("loss", "5%", "SHARE", "for push: share of notices that never arrive (5%%)"),
    _text("notice", "10s", "TIME", "for push: mean time until a notice arrives (10s)"),
    _text("safety", "6h", "TIME", "for push: time after which a page without a notice is visited (6h)"),
    _count("servers", "C", "for push_queue: parallel downloads", 1),
)
TARGET = Argument(
    "--target",
    required=True,
    metavar="BOUNDS",
    help="for example p95<30m,freshness>90%%; also age, median, mean, p99, lost and over_12h",
)

ACTIONS = (
    _action(
        "experiment",
        "Run the published plan (54 fields, 7 strategies) and compare it with the published figures",
        _count("scale", "K", "factor by which pages and time are divided (1: the full size)", 1),
        _seeds(1),
        SEED,
        FREQUENCIES,
        Argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="folder for tables and report (default: simulation; with --json: none)",
        ),
        LISTEN,
    ),
    _action(
        "schemes",
        "Run twelve schemes of co-operation of sites and search engines: freshness and traffic",
        _count("pages", "N", "number of pages", 2000),
        _count("sites", "N", "number of sites", 10),
        _count("time", "T", "length of the run in units of 100 ms", 864_000),
        _number("intensity", 5.0, "changes per page in that time, on average"),
        _number("queries", 50.0, "requests of visitors per page in that time, on average"),
        _count("interval", "T", "units of 100 ms between two lists of a site", 3000),
        _count("subscribers", "N", "search engines that do the same", 3),
        SEED,
        FREQUENCIES,
        OUT,
        LISTEN,
    ),
    _action(
        "compare",
        "Run polling policies on the same feeds, sections and pages: freshness, delays, losses, cost",
        _policies("newsbot,cyclic,nutch,push"),
        _text("budget", "12", "N", "visits per source and day (12)"),
        *WORLD,
        _seeds(3),
        SEED,
        OUT,
        LISTEN,
    ),
    _action(
        "plan",
        "Find the smallest budget that meets a target, such as p95<30m",
        TARGET,
        _policies("newsbot,cyclic"),
        *WORLD,
        _seeds(1),
        SEED,
        LISTEN,
    ),
    _action("pages", "Make pages of random sizes", _count("pages", "N", "number of pages"), SEED, OUTPUT),
    _action("changes", "Make a change log of pages", PAGES, TIME, INTENSITY, FREQUENCIES, SEED, OUTPUT),
    _action("queries", "Make a query log of pages", PAGES, TIME, INTENSITY, SEED, OUTPUT),
    _action("routes", "Split pages among robots", PAGES, _count("robots", "N", "number"), OUTPUT),
    _action(
        "robot", "Run robots that download every page in turn", PAGES, CHANGES, ROUTES, TIME, SEED, OUTPUT
    ),
    _action("modified", "Run robots that send HEAD first", PAGES, CHANGES, ROUTES, TIME, SEED, OUTPUT),
    _action(
        "sensor",
        "Run sensors that report a changed page when it is requested",
        PAGES,
        CHANGES,
        QUERIES,
        TIME,
        SEED,
        OUTPUT,
    ),
    _action(
        "merge",
        "Join runs into tables (CSV and Parquet) and one report",
        Argument("runs", type=Path, nargs="+", metavar="RUN", help="output of robot, modified, sensor"),
        Argument("--out", type=Path, required=True, metavar="DIR", help="folder for tables and report"),
    ),
    _action(
        "report",
        "Write the report.html of a folder again from its tables",
        Argument("folder", type=Path, metavar="DIR", help="a folder that experiment or merge wrote"),
    ),
)
