"""``scrapy articles import``: imports articles from WARC files, each file in one process."""

from __future__ import annotations

import hashlib
import math
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess

from scrapy.settings import Settings
from scrapy.utils.log import configure_logging

from newsbot.backends import open_rules
from newsbot.cli.command import Call
from newsbot.cli.log_lines import shape_logs
from newsbot.cli.terminal import Column, counted
from newsbot.errors import ArgumentError, UserError
from newsbot.operations.importing.importer import HEADINGS, Importer, Progress
from newsbot.rules.rule import ascii_domain
from newsbot.warc.remote import RemoteFault, news_files

_GOES_ON = "the records before this place were imported; run the same command again to continue"
_NO_PAGES = (
    "contains no pages as sites sent them, so there is nothing to import; files of articles export "
    "--format warc contain only texts: import the files in NEWSBOT_WARC_DIR instead"
)


def import_files(call: Call) -> int:
    """Import WARC files. The exit code is 1 if one of them could not be read to its end."""
    options = call.options
    if bool(options.file) == bool(options.cc_news):
        raise ArgumentError("give either WARC files or --cc-news MONTH, for example --cc-news 2026-11")
    if options.sample is not None and not options.cc_news:
        raise ArgumentError("--sample works only with --cc-news")
    sites = _sites(call)
    files = _of_month(call) if options.cc_news else list(map(str, options.file))
    processes = min(options.processes or (os.cpu_count() or 1 if options.cc_news else 1), len(files))
    told = []
    for progress in _imported(call, files, sites, processes):
        told.append(progress)
        for line in progress.damaged:
            call.note(f"{progress.name}: {line}; skipped")
        if progress.fault:
            rest = _GOES_ON if progress.counts["records"] else "nothing was imported"
            call.note(f"{progress.name}: {progress.fault}; {rest}")
        elif progress.before:
            call.note(f"{progress.name}: was imported before, with these counts; --again imports it again")
        elif not progress.counts["pages"]:
            what = _NO_PAGES if progress.counts["records"] else "is empty: it contains no records"
            call.note(f"{progress.name}: {what}")
    # Parallel imports end in any order; the table has the order of the command line.
    _show(call, sorted(told, key=lambda one: files.index(one.name)))
    return 1 if any(progress.fault for progress in told) else 0


def _sites(call: Call) -> frozenset[str] | None:
    """Return the domains of the sites whose pages are imported; None means all sites.

    These are the sites that the options name. If the options name no sites, the kind of files decides. For
    CC-NEWS, which has pages of most news sites of the world, they are the sites with a rule. For other files
    they are all sites.
    """
    given = [call.options.source] if call.options.source else (call.options.sites or "").split(",")
    try:
        named = frozenset(ascii_domain(site.strip()) for site in given if site.strip())
    except ValueError as error:
        raise ArgumentError(f"--sites: {error}") from error
    if named or not call.options.cc_news:
        return named or None
    ruled = frozenset(rule.domain for rule in open_rules(call.settings))
    if not ruled:
        raise ArgumentError("no site has a rule, so no site is chosen; name sites with --sites")
    return ruled


def _of_month(call: Call) -> list[str]:
    """Return the URLs of the CC-NEWS files of a month, or of the part that ``--sample`` chooses.

    Raises :class:`UserError` if the list of the month cannot be read.
    """
    month, base = call.options.cc_news, call.settings["NEWSBOT_CC_NEWS"]
    if re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", month) is None:
        raise ArgumentError(f"--cc-news: {month!r} is not a month; write it as 2026-11")
    try:
        files = news_files(base, month, str(call.settings["USER_AGENT"]), call.note)
    except RemoteFault as fault:
        if fault.status in (403, 404):
            raise UserError(f"{fault}; there are no files for {month} at {base} (NEWSBOT_CC_NEWS)") from fault
        raise UserError(
            f"{fault}; check whether {base} is right (NEWSBOT_CC_NEWS) and can be reached"
        ) from fault
    if call.options.sample is None:
        return files
    chosen = sorted(files, key=_draw)[: math.ceil(len(files) * call.options.sample)]
    return [file for file in files if file in chosen]


def _draw(file: str) -> bytes:
    """Return a sort key of a file, for a random order that is the same each time.

    So the same sample is chosen when an interrupted command is repeated, and a larger sample includes all
    files of a smaller sample.
    """
    return hashlib.blake2b(file.rpartition("/")[2].encode(), digest_size=8).digest()


def _imported(
    call: Call, files: Sequence[str], sites: frozenset[str] | None, processes: int
) -> Iterator[Progress]:
    """Import the files and yield the result of each, in the order in which they end."""
    again = call.options.again
    if processes <= 1:
        with closing(Importer(call.settings, sites=sites)) as importer:
            for file in files:
                yield importer.run(file, again=again, tell=_teller(call.note))
        return
    open_rules(call.settings)  # errors in rules are reported once, not by each process
    # The method is "spawn" and not "fork". A forked child would inherit the locks of threads and open
    # connections in an unknown state.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin_process, (call.settings,))
    try:
        tasks = [pool.submit(_import_one, call.settings, file, sites, again) for file in files]
        for task in as_completed(tasks):
            yield task.result()
    except BrokenProcessPool as error:
        raise UserError(
            "a process of the import was killed; run the same command again to continue"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin_process(settings: Settings) -> None:
    """Set up a process of the pool: its logs, its reaction to Ctrl-C, and its end when the command ends."""
    configure_logging(settings)
    shape_logs(settings)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends at once; the position is stored already
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this process if the command is killed; otherwise it would wait forever for its next file."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _import_one(settings: Settings, file: str, sites: frozenset[str] | None, again: bool) -> Progress:
    """Import one file in a process of the pool."""
    with closing(Importer(settings, sites=sites)) as importer:
        return importer.run(file, again=again, tell=_teller(lambda line: print(line, file=sys.stderr)))


def _teller(note: Callable[[str], None]) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        counts = progress.counts
        records, articles = counted(counts["records"], "record"), counted(counts["new"], "new article")
        note(f"{progress.name}: {records}, {articles}")

    return tell


def _show(call: Call, told: Sequence[Progress]) -> None:
    headings = [
        name
        for name in HEADINGS
        if call.json or name in HEADINGS[:8] or any(one.counts[name] for one in told)
    ]
    if call.json:
        call.document(
            [
                {
                    "file": one.name,
                    **{name.replace(" ", "_"): one.counts[name] for name in headings},
                    "fault": one.fault or None,
                }
                for one in told
            ]
        )
        return
    call.table(
        (Column("file", wide=True), *(Column(name, "right") for name in headings)),
        ((one.name, *(one.counts[name] for name in headings)) for one in told),
    )
