"""``scrapy simulate``: runs the simulator, shows its progress and prints its results.

All actions raise :class:`newsbot.errors.ArgumentError` for wrong options, before they open or create a file.
They raise :class:`newsbot.errors.UserError` for files that cannot be read or written, and for work that needs
more memory than is free.

While an experiment runs, it can be controlled over HTTP (``--listen``). ``GET /`` returns the state as JSON,
and ``GET /log`` the run log. ``POST /pause`` stops the experiment after the runs that have begun, and ``POST
/continue`` lets it continue. On a loopback address, no token is needed, but the ``Host`` header must have a
loopback name, and pages of other sites may not send requests. On other addresses, and if NEWSBOT_WEB_TOKEN is
set, the token is needed (``Authorization: Bearer``).
"""

from __future__ import annotations

import hmac
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from newsbot import __version__
from newsbot.apps.simulator import experiment as experiments
from newsbot.apps.simulator import files, model, site_world
from newsbot.apps.simulator import strategies as comparison
from newsbot.apps.simulator.experiment import MAX_SCALE, RUNS, summarize_checks
from newsbot.apps.simulator.model import History, Run, pack, run_robots, run_sensor
from newsbot.apps.simulator.schemes import SCHEMES, Shared, as_tables, run_schemes
from newsbot.apps.simulator.strategies import MOST_A_DAY, Choice, PushSettings, choose
from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, columns, make_console
from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Kind

# --- control over HTTP
MIN_TOKEN = 16
"""Minimum length of a token in characters."""
REQUEST_SECONDS = 10.0
"""Maximum time in seconds for which a connection may be silent."""
MAX_BODY = 1024
"""Maximum length of a request's body in bytes. It is read and ignored."""


class RunLog:
    """The runs of an experiment that have ended. Threads can use it at the same time."""

    def __init__(self, command: str, total: int, shown: Callable[[], object] = lambda: None) -> None:
        """``total`` is the number of runs, and ``shown`` is called after each of them."""
        self._command, self._total, self._shown = command, total, shown
        self._rows: model.Table = []
        self._lock, self._going = threading.Lock(), threading.Event()
        self._going.set()
        self._last = self._began = time.monotonic()

    def ended(self, module: str, seed: int, run: str) -> None:
        """Add a run (:data:`newsbot.apps.simulator.model.Ended`). While paused, wait."""
        with self._lock:
            now = time.monotonic()
            self._rows.append(
                {
                    "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "module": module,
                    "run": run,
                    "seed": seed,
                    "version": __version__,
                    "seconds": round(now - self._last, 3),
                }
            )
            self._last = now
            self._shown()
        self._going.wait()

    def pause(self) -> None:
        """Let each thread wait after its run."""
        self._going.clear()

    def proceed(self) -> None:
        """Continue after a pause."""
        self._going.set()

    def rows(self) -> model.Table:
        """Return the rows of the table ``run_log``. ``seconds`` is the time since the previous row."""
        with self._lock:
            return list(self._rows)

    def state(self) -> dict[str, Any]:
        """Return the state as a JSON-serializable dict."""
        rows = self.rows()
        return {
            "command": self._command,
            "version": __version__,
            "done": len(rows),
            "total": self._total,
            "paused": not self._going.is_set(),
            "seconds": round(time.monotonic() - self._began, 3),
            "last": rows[-1] if rows else None,
        }


@contextmanager
def listening(log: RunLog, place: str, token: str) -> Iterator[str]:
    """Serve the state of an experiment until the block ends. Yield the URL.

    ``place`` is ``PORT`` or ``HOST:PORT``. Raises :class:`ArgumentError` for an invalid place, and
    :class:`UserError` if the port is taken, or if the place needs a token.
    """
    host, port = _place(place)
    if not token and not _is_loopback(host):
        raise UserError(f"--listen {place} is reachable from other machines: set NEWSBOT_WEB_TOKEN")
    if token and len(token) < MIN_TOKEN:
        raise UserError(f"NEWSBOT_WEB_TOKEN has fewer than {MIN_TOKEN} characters; create a longer one")
    try:
        server = ThreadingHTTPServer((host, port), type("Asked", (Handler,), {"log": log, "token": token}))
    except OSError as error:
        raise UserError(f"--listen {place}: {error.strerror or error}; choose another port") from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="control", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        log.proceed()
        server.shutdown()
        server.server_close()
        thread.join()


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or "[" in host:
        raise ArgumentError(f"--listen {text}: write a port, or HOST:PORT with an IPv4 address or a name")
    return host or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Handler(BaseHTTPRequestHandler):
    """Answers the requests about :attr:`log`."""

    timeout = REQUEST_SECONDS
    log: RunLog
    token = ""

    def _is_refused(self) -> bool:
        """Answer a request that is not allowed, and return True for it."""
        if self.token:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            if hmac.compare_digest(given.encode(), self.token.encode()):
                return False
            self._answer(401, {"error": "send the header Authorization: Bearer TOKEN"})
            return True
        # A page of another site could send requests to this address, under its own name (DNS rebinding).
        if "Origin" in self.headers or not _is_loopback(_name(self.headers.get("Host", ""))):
            self._answer(403, {"error": "only programs on this machine may ask"})
            return True
        return False

    def do_GET(self) -> None:
        """Answer with the state or the run log."""
        if not self._is_refused():
            read = {"/": self.log.state, "/log": self.log.rows}.get(self.path)
            self._answer(*((404, {"error": "not found"}) if read is None else (200, read())))

    def do_POST(self) -> None:
        """Pause or continue, and answer with the state."""
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY:
            self._answer(413, {"error": "the body is too long"})
        elif not self._is_refused():
            self.rfile.read(int(length))
            act = {"/pause": self.log.pause, "/continue": self.log.proceed}.get(self.path)
            if act is not None:
                act()
            self._answer(*((404, {"error": "not found"}) if act is None else (200, self.log.state())))

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_parts: object) -> None:
        """Write no log line for a request."""


def _name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


# --- the command
MAX_WORKERS = 4
"""Maximum number of threads for the plan. More threads would need too much memory."""
MAX_SEEDS, MAX_SERVERS = 200, 10_000
MAX_SECONDS = 30 * 86_400.0
"""Largest allowed value, in seconds, of the options that are durations."""
BYTES_A_ROW = 24
"""Bytes of memory that one row of a log needs while the log is generated and written."""
SHOWN = (
    "freshness", "age", "median", "mean", "read", "p95", "p99", "lost", "requests", "megabytes", "useful",
    "host_peak",
)  # fmt: skip
"""Figures in the printed table of policies. JSON and the report contain all figures."""


def experiment(call: Call) -> int:
    """Run the published plan, compare it with the published figures, and write tables and a report."""
    options = call.options
    if options.scale > MAX_SCALE:
        raise ArgumentError(f"--scale {options.scale}: must be 1 to {MAX_SCALE}")
    folder = None if call.json and not options.out else Path(options.out or "simulation").expanduser()
    if folder is not None:
        files.make_folder(folder)
    began, used = time.monotonic(), time.process_time()
    with _running(call, "experiment", RUNS * options.seeds) as log:
        found = experiments.run_experiment(
            options.scale,
            seed=options.seed,
            seeds=options.seeds,
            frequencies=options.frequencies,
            workers=min(MAX_WORKERS, _processors()),
            progress=log.ended,
        )
    seconds, used = time.monotonic() - began, time.process_time() - used
    judged = options.scale == 1 and options.frequencies == "published"
    if folder is not None:
        seeds = _seeds_text(_seeds(options))
        about = [
            f"54 fields, 7 variants; scale {options.scale}, {seeds}, frequencies {options.frequencies}.",
            f"Made by: {PROGRAM} simulate experiment. The model is described in docs/simulator.md.",
        ]
        if not judged:
            about.append("Tolerances are shown only with --scale 1 and --frequencies published.")
        files.write_experiment(folder, found, about, judged=judged)
        files.write_tables(folder, {"run_log": log.rows()})
    if call.json:
        call.document(experiments.as_document(found))
        return 0
    call.table(
        columns("published figures | number > | within tolerance > | largest deviation > | of *"),
        summarize_checks([check.row(judged=judged) for check in found.checks]),
    )
    call.text(f"\n{len(found.runs)} runs in {seconds:.1f} s ({used:.1f} s of processor time)")
    call.text(f"tables and report: {folder}; open {folder}/report.html")
    return 0


def compare(call: Call) -> int:
    """Run several policies with the same budget, and print the figures of each."""
    options = call.options
    try:
        budget = float(options.budget)
    except ValueError:
        budget = 0.0
    if not comparison.LEAST <= budget <= MOST_A_DAY:
        limits = f"{comparison.LEAST:g} to {MOST_A_DAY:g} visits per source and day"
        raise ArgumentError(f"--budget {options.budget}: must be {limits}")
    choices, push, worlds, seeds = _read(call)
    folder = options.out and options.out.expanduser()
    if folder:
        files.make_folder(folder)
    with _running(call, "compare", len(choices) * len(seeds)) as log:
        found = comparison.compare(worlds, choices, budget, seeds, push, progress=log.ended)
    lines = [f"\n{worlds.about()}; {_seeds_text(seeds)}; budget {budget:g} visits per source and day"]
    if folder:
        about = (
            f"{worlds.about()}.",
            f"Budget: {budget:g} visits per source and day; {_seeds_text(seeds)}; ±: half a 95 % interval.",
            (
                f"Push: {push.loss:.1%} of notices lost, {push.notice:g} s to arrive, safety poll every "
                f"{push.safety / 3600:g} h, {push.servers} parallel downloads in push_queue."
            ),
            f"Made by: {PROGRAM} simulate compare. The figures are described in docs/simulator.md.",
        )
        files.write_tables(folder, {**comparison.as_tables(found, seeds), "run_log": log.rows()})
        files.write_policies_report(folder, about, found)
        lines.append(f"tables and report: {options.out}; open {options.out}/report.html")
    return _policies(call, comparison.as_document(worlds.about(), found, seeds), found, lines)


def plan(call: Call) -> int:
    """Find for each policy the smallest budget that meets the targets."""
    targets = comparison.read_targets(call.options.target)
    choices, push, worlds, seeds = _read(call)
    budgets, found = [], []
    with _running(call, "plan", len(choices) * comparison.most_rounds()) as log:
        for choice in choices:

            def run(a_day: float, choice: Choice = choice) -> comparison.Compared:
                compared = comparison.compare(worlds, [choice], a_day, seeds, push)[0]
                log.ended("visits", seeds[0], f"{choice.label}, {a_day:.3g} visits per day")
                return compared

            budget, compared = comparison.smallest_budget(run, targets, budgeted=choice.strategy.budgeted)
            budgets.append(budget)
            found.append(compared)
    document = {
        "target": [target.text for target in targets],
        "policies": [
            {"budget": budget, **comparison.as_document(worlds.about(), [one], seeds)["policies"][0]}
            for budget, one in zip(budgets, found, strict=True)
        ],
        "world": worlds.about(),
        "seeds": seeds,
    }
    lines = [f"\n{worlds.about()}; {_seeds_text(seeds)}; target {call.options.target}"]
    missed = [one.choice.label for one, budget in zip(found, budgets, strict=True) if budget is None]
    if missed:
        lines.append(f"not met at any budget up to {MOST_A_DAY:g} visits per day: {', '.join(missed)}")
    return _policies(call, document, found, lines, ["-" if one is None else f"{one:.2f}" for one in budgets])


def schemes(call: Call) -> int:
    """Run the schemes of co-operation on the same pages, and print the figures of each."""
    options, folder = call.options, call.options.out and call.options.out.expanduser()
    _check_time(options.time)
    if not options.sites <= options.pages <= files.MAX_PAGES:
        raise ArgumentError(
            f"--pages {options.pages}: must be --sites ({options.sites}) to {files.MAX_PAGES}"
        )
    rows = model.estimate_rows(options.pages, options.intensity) + model.estimate_rows(
        options.pages, options.queries
    )
    model.require_memory(3 * BYTES_A_ROW * rows, f"{options.pages:,} pages with {rows:,} changes and queries")
    if folder:
        files.make_folder(folder)
    words = (options.seed, options.pages, options.time)
    sizes = model.make_pages(options.pages, model.stream("pages", options.seed, options.pages))
    changed = model.stream("changes", *words, options.intensity)
    log = model.make_changes(
        sizes, options.time, options.intensity, model.FREQUENCIES[options.frequencies], changed
    )
    asked = model.make_queries(options.pages, options.time, options.queries, model.stream("queries", *words))
    with _running(call, "schemes", len(SCHEMES)) as run_log:
        history, chosen = (
            pack(sizes, log, options.time),
            (options.sites, options.interval, options.subscribers),
        )
        found = run_schemes(Shared(history, asked, options.time, options.seed, *chosen), run_log.ended)
    tables = as_tables(found)
    if folder:
        joined = experiments.merge_runs([(one.scheme.name, one.run) for one in found])
        files.write_tables(folder, {**joined, **tables, "run_log": run_log.rows()})
        about = [f"{one.scheme.name}: {one.scheme.about}." for one in found]
        files.write_runs_report(folder, "Schemes of co-operation", about, joined)
    if call.json:
        call.document({"schemes": [one.row() for one in found]})
        return 0
    names = list(found[0].row())
    call.table(
        (Column(names[0]), *(Column(name, "right") for name in names[1:])),
        [
            [value if isinstance(value, str) else _figure(value) for value in one.row().values()]
            for one in found
        ],
    )
    if folder:
        call.text(f"tables and report: {options.out}; open {options.out}/report.html")
    return 0


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def pages(call: Call) -> int:
    """Write a file of pages with random sizes."""
    count = call.options.pages
    if count > files.MAX_PAGES:
        raise ArgumentError(f"--pages {count}: must be at most {files.MAX_PAGES}")
    model.require_memory(BYTES_A_ROW * count, f"{count:,} pages")
    files.write_pages(
        call.options.output, model.make_pages(count, model.stream("pages", call.options.seed, count))
    )
    return _written(call, call.options.output, "pages", count)


def changes(call: Call) -> int:
    """Write a random change log for a file of pages."""
    options = call.options
    sizes, key = _log_inputs(call, "change")
    log = model.make_changes(
        sizes, options.time, options.intensity, model.FREQUENCIES[options.frequencies], key
    )
    files.write_changes(options.output, log)
    return _written(call, options.output, "changes", log.rows)


def queries(call: Call) -> int:
    """Write a random query log for a file of pages."""
    sizes, key = _log_inputs(call, "query")
    log = model.make_queries(len(sizes), call.options.time, call.options.intensity, key)
    files.write_queries(call.options.output, log)
    return _written(call, call.options.output, "queries", log.rows)


def routes(call: Call) -> int:
    """Write routes that distribute a file of pages among robots."""
    count = len(files.read_pages(call.options.pages))
    if call.options.robots > count:
        raise ArgumentError(f"--robots {call.options.robots}: must be at most {count}, the number of pages")
    files.write_routes(call.options.output, model.make_routes(count, call.options.robots))
    return _written(call, call.options.output, "robots", call.options.robots, "routes")


def robot(call: Call, *, modified: bool = False) -> int:
    """Run robots on files of pages, changes and routes, and write the run."""
    options = call.options
    history, count = _history(call)
    route = files.read_routes(options.routes, count)
    kind = "modified robot" if modified else "robot"
    run = run_robots(history, route, options.time, model.stream("run", options.seed, kind), modified=modified)
    return _finish(call, f"{route.robots} {kind}{'s' if route.robots > 1 else ''}", run)


def modified(call: Call) -> int:
    """Run robots that send HEAD first on files of pages, changes and routes, and write the run."""
    return robot(call, modified=True)


def sensor(call: Call) -> int:
    """Run sensors on files of pages, changes and queries, and write the run."""
    history, count = _history(call)
    log = files.read_queries(call.options.queries, count)
    run = run_sensor(history, log, call.options.time, model.stream("run", call.options.seed, "sensor"))
    return _finish(call, "sensors", run)


def merge(call: Call) -> int:
    """Join several runs, and write tables and a report into a folder."""
    named = []
    for path in call.options.runs:
        strategy, run = files.read_run(path)
        named.append((f"{strategy} ({path.stem})", run))
    tables = experiments.merge_runs(named)
    files.make_folder(call.options.out)
    files.write_tables(call.options.out, tables)
    return _report(call, call.options.out, tables)


def report(call: Call) -> int:
    """Write the report again from the tables in a folder."""
    folder, tables = call.options.folder, dict[str, Any]()
    for name, needed in (
        ("runs", ("situation", "variant", "strategy", "pages", "time", "freshness", "sumsize")),
        ("series", ("situation", "variant", "time", "needfresh", "freshness", "processing")),
        ("traffic", ("situation", "variant", "time", "sumsize")),
        ("comparison", ("group", "figure", "published", "ours", "deviation", "within")),
    ):
        path = folder / f"{name}.parquet"
        if path.exists() or name != "comparison":
            table = files.read_table(path, f"the table {name}", needed, whole=True)
            plain = name in ("runs", "comparison")
            columns = zip(table.column_names, table.columns, strict=True)
            tables[name] = table.to_pylist() if plain else {one: array.to_numpy() for one, array in columns}
    if not tables["runs"]:
        raise UserError(f"{folder}: runs.parquet contains no runs")
    return _report(call, folder, tables)


def _policies(
    call: Call,
    document: Any,
    found: Sequence[comparison.Compared],
    lines: Sequence[str],
    budgets: Sequence[str] | None = None,
) -> int:
    """Print the figures of the policies, and the lines below the table."""
    if call.json:
        call.document(document)
        return 0
    titles = [
        f"{name} {site_world.UNITS[name]}" if site_world.UNITS[name] in ("%", "min") else name
        for name in SHOWN
    ]
    rows = [
        [one.choice.label, *budget, *(files.estimate_text(one.figures[name]) for name in SHOWN)]
        for one, *budget in zip(found, *([budgets] if budgets else []), strict=True)
    ]
    numbers = (["budget"] if budgets else []) + titles
    call.table((Column("policy"), *(Column(title, "right") for title in numbers)), rows)
    for line in lines:
        call.text(line)
    return 0


def _read(call: Call) -> tuple[Sequence[Choice], PushSettings, site_world.Worlds, list[int]]:
    """Read the options that :func:`compare` and :func:`plan` have in common.

    Returns the policies, the settings of push, the worlds, and the seeds.
    """
    options = call.options
    for name, most in (("seeds", MAX_SEEDS), ("servers", MAX_SERVERS)):
        if getattr(options, name) > most:
            raise ArgumentError(f"--{name} {getattr(options, name)}: must be at most {most}")
    settings, choices = site_world.read_settings(options.world), choose(options.policies, options.request)
    try:
        loss = float(options.loss.removesuffix("%")) / (100 if options.loss.endswith("%") else 1)
    except ValueError:
        loss = -1.0
    if not 0 <= loss <= 1:
        raise ArgumentError(f"--loss {options.loss}: must be a share such as 5% or 0.05")
    notice, safety = _seconds("notice", options.notice, 0.0), _seconds("safety", options.safety, 300.0)
    push = PushSettings(loss=loss, notice=notice, safety=safety, servers=options.servers)
    return choices, push, _worlds(call, settings), _seeds(options)


def _seconds(name: str, text: str, least: float) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ArgumentError(f"--{name} {error}") from error
    if not least <= seconds <= MAX_SECONDS:
        raise ArgumentError(f"--{name} {text}: must be {least:g} seconds to 30 days")
    return seconds


def _seeds(options: Any) -> list[int]:
    return list(range(options.seed, options.seed + options.seeds))


def _seeds_text(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"means over {len(seeds)} seeds from {seeds[0]}"


def _worlds(call: Call, settings: site_world.SiteSettings) -> site_world.Worlds:
    if not call.options.from_data:
        return site_world.Generated(settings)
    with stored(call.settings) as storage:
        kinds = {one.url: one.kind for one in storage.sources.iter()}
        sources = site_world.from_polls(storage.sources.polls(), kinds)
        return site_world.Recorded(
            [*sources, *site_world.from_pages(storage.pages.iter(kind=Kind.ARTICLE))], settings
        )


@contextmanager
def _running(call: Call, command: str, total: int) -> Iterator[RunLog]:
    """Yield the log of the ``total`` runs of a command. On a terminal, a bar shows the progress.

    With ``--listen``, the experiment can be watched and paused over HTTP.
    """
    parts = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*parts, console=make_console(sys.stderr), disable=quiet, transient=True) as progress:
        task = progress.add_task("runs", total=total)
        log = RunLog(command, total, lambda: progress.advance(task))
        if not call.options.listen:
            yield log
            return
        token = str(call.settings.get("NEWSBOT_WEB_TOKEN") or "")
        with listening(log, call.options.listen, token) as address:
            call.note(f"listening on {address}")
            yield log


def _processors() -> int:
    """Return the number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # exists only on Linux
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _log_inputs(call: Call, what: str) -> tuple[Any, Any]:
    """Return the sizes of pages and the key of the random draws of a log.

    Raises :class:`UserError` if the log would need more memory than is free.
    """
    options = call.options
    _check_time(options.time)
    sizes, intensity = files.read_pages(options.pages), options.intensity
    rows = model.estimate_rows(len(sizes), intensity)
    model.require_memory(BYTES_A_ROW * rows, f"a {what} log of {rows:,} rows")
    # The key is computed from texts, and "5.0" and "5" are different texts. The plan uses ints. So a whole
    # number is converted to int here. Otherwise the log would differ from the log of the plan.
    plain = int(intensity) if intensity == int(intensity) else intensity
    name = "changes" if what == "change" else "queries"
    return sizes, model.stream(name, options.seed, len(sizes), options.time, plain)


def _history(call: Call) -> tuple[History, int]:
    options = call.options
    _check_time(options.time)
    sizes = files.read_pages(options.pages)
    log = files.read_changes(options.changes, len(sizes))
    return pack(sizes, log, options.time), len(sizes)


def _check_time(length: int) -> None:
    if length > model.MAX_TIME:
        raise ArgumentError(
            f"--time {length}: must be at most {model.MAX_TIME} units of 100 ms (three years)"
        )


def _finish(call: Call, strategy: str, run: Run) -> int:
    path = call.options.output
    files.write_run(path, strategy, run)
    figures = {"strategy": strategy, "file": str(path), **experiments.summary([run])}
    if call.json:
        call.document(figures)
    else:
        for name, value in figures.items():
            call.text(f"{name:<16}{'-' if value is None else value}")
    return 0


def _report(call: Call, folder: Path, tables: dict[str, Any]) -> int:
    about = [f"Made by: {PROGRAM} simulate report. The model is described in docs/simulator.md."]
    files.write_runs_report(folder, "Simulated runs", about, tables)
    return _written(call, folder, "runs", len(tables["runs"]))


def _written(call: Call, place: Path, name: str, count: int, what: str = "") -> int:
    if call.json:
        call.document({"file": str(place), name: count})
    else:
        call.note(f"{what or f'{count:,} {name}'} written to {place}")
    return 0
