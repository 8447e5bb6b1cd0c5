"""``scrapy simulate``: compare ways to watch sites before a site is touched."""

from __future__ import annotations

import argparse
from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, one_of, positive

MAX_INTENSITY = 10**6


def intensity(text: str) -> float:
    """Read events a page (an argument's ``type``)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MAX_INTENSITY:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0, up to {MAX_INTENSITY}")
    return value


SEED = Argument(
    "--seed", type=positive, default=1, metavar="S", help="the same seed gives the same bytes (1)"
)
FREQUENCIES = Argument(
    "--frequencies",
    type=one_of("published", "printed"),
    default="published",
    metavar="WHICH",
    help="how often each type of change occurs: published (as the figures need) or printed (as in the text)",
)
PAGES = Argument("--pages", type=Path, required=True, metavar="FILE", help="pages (Parquet)")
CHANGES = Argument("--changes", type=Path, required=True, metavar="FILE", help="change log (Parquet)")
ROUTES = Argument("--routes", type=Path, required=True, metavar="FILE", help="routes (Parquet)")
QUERIES = Argument("--queries", type=Path, required=True, metavar="FILE", help="query log (Parquet)")
TIME = Argument(
    "--time", type=positive, required=True, metavar="T", help="length of the run in units of 100 ms"
)
INTENSITY = Argument(
    "--intensity", type=intensity, required=True, metavar="X", help="events a page in that time, on average"
)
OUTPUT = Argument(
    "-o", "--output", type=Path, required=True, metavar="FILE", help="Parquet, replaced when all is written"
)
OUT = Argument("--out", type=Path, required=True, metavar="DIR", help="folder for tables and report")

WORLD = (
    Argument(
        "--world",
        default="",
        metavar="KEY=VALUE,…",
        help="what the generated world is made of, for example feeds=300,window=15 (docs/simulator.md)",
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
        help="how visits ask: conditional, head (HEAD first), plain; policy+WAY sets it for one policy",
    ),
    Argument("--loss", default="5%", metavar="SHARE", help="of push: notices that never arrive (5%%)"),
    Argument("--notice", default="10s", metavar="TIME", help="of push: until a notice arrives, mean (10s)"),
    Argument("--safety", default="6h", metavar="TIME", help="of push: between safety polls (6h)"),
    Argument(
        "--servers", type=positive, default=1, metavar="C", help="of push_queue: downloads at one time (1)"
    ),
)


class Command(NewsbotCommand):
    """See the module's text."""

    summary = (
        "Simulate robots, robots that ask first, and sensors: freshness and traffic before a site is touched"
    )
    actions = (
        Action(
            "experiment",
            "Run the published plan (54 fields, 7 strategies) and compare each published figure with ours",
            "newsbot.simulating.experiment:experiment",
            (
                Argument(
                    "--scale", type=positive, default=1, metavar="K", help="divides pages and time (1: full)"
                ),
                Argument("--seeds", type=positive, default=1, metavar="N", help="means over N seeds (1)"),
                SEED,
                FREQUENCIES,
                Argument(
                    "--out",
                    type=Path,
                    metavar="DIR",
                    help="folder for tables and report (default: simulation; with --json none)",
                ),
            ),
        ),
        Action(
            "compare",
            "Run polling policies on the same feeds, sections and pages: freshness, delays, losses, cost",
            "newsbot.simulating.compare:compare",
            (
                Argument(
                    "--policies",
                    default="newsbot,cyclic,nutch,push",
                    metavar="NAMES",
                    help="comma list of names or files.py (newsbot,cyclic,nutch,push)",
                ),
                Argument("--budget", default="12", metavar="N", help="visits of a source a day (12)"),
                *WORLD,
                Argument("--seeds", type=positive, default=3, metavar="N", help="means over N seeds (3)"),
                SEED,
                Argument("--out", type=Path, metavar="DIR", help="folder for tables and report"),
            ),
        ),
        Action(
            "plan",
            "Find the smallest budget that meets a target, such as p95<30m",
            "newsbot.simulating.compare:plan",
            (
                Argument(
                    "--target",
                    required=True,
                    metavar="BOUNDS",
                    help="comma list: freshness>90%%, age, median, mean, p95, p99 <30m, lost, over_12h <1%%",
                ),
                Argument(
                    "--policies",
                    default="newsbot,cyclic",
                    metavar="NAMES",
                    help="comma list of names or files.py (newsbot,cyclic)",
                ),
                *WORLD,
                Argument("--seeds", type=positive, default=1, metavar="N", help="means over N seeds (1)"),
                SEED,
            ),
        ),
        Action(
            "pages",
            "Make pages of random sizes",
            "newsbot.simulating.steps:pages",
            (
                Argument("--pages", type=positive, required=True, metavar="N", help="how many"),
                SEED,
                OUTPUT,
            ),
        ),
        Action(
            "changes",
            "Make a change log of pages",
            "newsbot.simulating.steps:changes",
            (PAGES, TIME, INTENSITY, FREQUENCIES, SEED, OUTPUT),
        ),
        Action(
            "queries",
            "Make a query log of pages",
            "newsbot.simulating.steps:queries",
            (PAGES, TIME, INTENSITY, SEED, OUTPUT),
        ),
        Action(
            "routes",
            "Split pages among robots",
            "newsbot.simulating.steps:routes",
            (
                PAGES,
                Argument("--robots", type=positive, required=True, metavar="N", help="how many"),
                OUTPUT,
            ),
        ),
        Action(
            "robot",
            "Run robots that download every page in turn",
            "newsbot.simulating.steps:robot",
            (PAGES, CHANGES, ROUTES, TIME, SEED, OUTPUT),
        ),
        Action(
            "modified",
            "Run robots that ask with HEAD first",
            "newsbot.simulating.steps:modified",
            (PAGES, CHANGES, ROUTES, TIME, SEED, OUTPUT),
        ),
        Action(
            "sensor",
            "Run sensors that tell of changed pages when they are asked for",
            "newsbot.simulating.steps:sensor",
            (PAGES, CHANGES, QUERIES, TIME, SEED, OUTPUT),
        ),
        Action(
            "merge",
            "Join runs: tables (CSV and Parquet) and a report of them all",
            "newsbot.simulating.steps:merge",
            (
                Argument(
                    "runs", type=Path, nargs="+", metavar="RUN", help="files of robot, modified, sensor"
                ),
                OUT,
            ),
        ),
        Action(
            "report",
            "Make report.html of a folder again from its tables",
            "newsbot.simulating.steps:report",
            (Argument("folder", type=Path, metavar="DIR", help="a folder of experiment or merge"),),
        ),
    )
