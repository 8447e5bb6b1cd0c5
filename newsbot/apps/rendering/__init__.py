"""Runs the scripts of pages in a browser (Playwright), if a rule or NEWSBOT_RENDER says so.

* ``middleware``: renders pages, and passes the requests of scripts through all middlewares
"""

from newsbot.config.apps import App, Owner

APP = App(
    name="rendering",
    package="newsbot.apps.rendering",
    settings=True,
    components={
        "DOWNLOADER_MIDDLEWARES": {
            "newsbot.apps.rendering.middleware.RenderingMiddleware": 540,
        },
    },
    notes={"rendering": Owner.SITE},
    checks=("newsbot.apps.rendering.middleware:check",),
)
