"""Signs requests, so that sites can verify that they come from this newsbot.

* ``middleware``: signs requests; the signer, and the directory with its public key
"""

from newsbot.config.apps import App

APP = App(
    name="signatures",
    package="newsbot.apps.signatures",
    settings=True,
    components={"DOWNLOADER_MIDDLEWARES": {"newsbot.apps.signatures.middleware.SignaturesMiddleware": 800}},
    checks=("newsbot.apps.signatures.middleware:check",),
)
