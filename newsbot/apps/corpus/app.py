"""Text corpora with quality signals."""

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
