"""Pictures of articles on the dashboard."""

from newsbot.config.apps import App

APP = App(
    name="pictures",
    package="newsbot.apps.pictures",
    needs=("web",),
    settings=True,
    pages=("newsbot.apps.pictures.cache:add",),
    pruning={"pictures": "newsbot.apps.pictures.cache:prune"},
)
