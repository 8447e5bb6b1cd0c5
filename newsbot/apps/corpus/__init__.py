"""Writes text corpora for language models and linguists: shards with quality signals, and a data card.

* ``writing``: the signals, the shards and the data card; ``newsbot corpus``
"""

from newsbot.config.apps import App

APP = App(
    name="corpus",
    package="newsbot.apps.corpus",
    needs=("operations",),
    commands={
        "corpus": (
            "Read",
            "Write the articles as a text corpus with quality signals and a data card",
            "newsbot.apps.corpus.writing:ACTIONS",
        )
    },
)
