"""Signs the requests of crawls (Web Bot Auth)."""

from newsbot.config.apps import App

APP = App(
    name="signatures",
    package="newsbot.apps.signatures",
    settings=True,
    components={"DOWNLOADER_MIDDLEWARES": {"newsbot.apps.signatures.middleware.SignaturesMiddleware": 800}},
    checks=("newsbot.apps.signatures.middleware:check",),
)
