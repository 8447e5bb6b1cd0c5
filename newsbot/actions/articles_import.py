"""``scrapy articles import``."""

from __future__ import annotations

from collections.abc import Sequence

from newsbot.cli.command import Call
from newsbot.cli.terminal import Column
from newsbot.operations.importing.importer import HEADINGS, Importer, Progress

_NO_PAGES = (
    "holds no page as a site sent it, so there is nothing to read; what articles export --format warc writes "
    "are texts: import the files of NEWSBOT_WARC_DIR instead"
)


def import_files(call: Call) -> int:
    """Import WARC files; exit code 1 if one of them could not be read to its end."""
    options = call.options
    source = options.source and options.source.lower()
    importer = Importer(call.settings, source=source)
    try:
        told = [
            importer.run(path, again=options.again, tell=lambda one: _tell(call, one))
            for path in options.file
        ]
    finally:
        importer.close()
    for progress in told:
        if progress.fault:
            call.note(f"{progress.path}: {progress.fault}; what stands before it was imported")
        elif progress.before:
            call.note(f"{progress.path}: was imported before, with these figures; --again reads it once more")
        elif progress.counts["records"] and not progress.counts["pages"]:
            call.note(f"{progress.path}: {_NO_PAGES}")
    _show(call, told)
    return 1 if any(progress.fault for progress in told) else 0


def _tell(call: Call, progress: Progress) -> None:
    counts = progress.counts
    call.note(f"{progress.path}: {counts['records']} records, {counts['new']} new articles")


def _show(call: Call, told: Sequence[Progress]) -> None:
    if call.json:
        call.document(
            [
                {
                    "file": str(one.path),
                    **{name.replace(" ", "_"): one.counts[name] for name in HEADINGS},
                    "fault": one.fault or None,
                }
                for one in told
            ]
        )
        return
    call.table(
        (Column("file", wide=True), *(Column(name, "right") for name in HEADINGS)),
        ((one.path, *(one.counts[name] for name in HEADINGS)) for one in told),
    )
