"""``scrapy corpus``: a text corpus for Hugging Face datasets and datatrove."""

from __future__ import annotations

from pathlib import Path

from newsbot.cli.command import Action, Argument, NewsbotCommand, moment, one_of, positive


class Command(NewsbotCommand):
    """See the docstring of the module."""

    actions = (
        Action(
            "",
            "Write the articles as shards with quality signals, and a data card (docs/corpus.md)",
            "newsbot.apps.corpus.writing:corpus",
            Argument("folder", type=Path, help="a new or empty folder"),
            Argument(
                "--format",
                type=one_of("parquet", "jsonl"),
                default="parquet",
                help="parquet (default) or jsonl",
            ),
            Argument(
                "--shard", metavar="N", type=positive, default=50_000, help="articles in a shard (50000)"
            ),
            Argument("--source", metavar="DOMAIN", help="only of this site"),
            Argument("--language", metavar="CODE", help="only articles in this language, e.g. ru"),
            Argument(
                "--since", metavar="DATE", type=moment, help="published since DATE: 2024-05, 7d, yesterday"
            ),
            Argument("--until", metavar="DATE", type=moment, help="published before DATE"),
            Argument(
                "--with-opt-outs", action="store_true", help="also articles whose rights forbid use by AI"
            ),
            Argument(
                "--with-copies", action="store_true", help="also copies of texts that the corpus has already"
            ),
        ),
    )
