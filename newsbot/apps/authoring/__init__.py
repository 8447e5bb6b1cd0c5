"""Creates rule files from URLs, from a live site, or from site lists of other projects.

Files in reading order:

* ``learn``: writes rule files and never overwrites existing ones; ``scrapy rules learn``
* ``new``: ``scrapy rules new``; proposes selectors from a few pages of a site
* ``samples``: saves the first pages of a crawl, for ``new``; saved pages with their expected fields, for
  ``scrapy rules test``
* ``importing``: ``scrapy rules import``, also from the site files of ftr-site-config; ``newsbot init``
* ``command``: ``scrapy rules check|show``, with warnings about values that are probably mistakes
* ``article``: extracts the article of one page
"""

from newsbot.config.apps import App

APP = App(
    name="authoring",
    package="newsbot.apps.authoring",
    needs=("operations", "progress"),
    settings=True,
    components={"EXTENSIONS": {"newsbot.apps.authoring.samples.Samples": 530}},
    commands={
        "init": (
            "Begin",
            "Make a project: a rules folder, settings, scrapy.cfg",
            "newsbot.apps.authoring.importing:ACTIONS",
        ),
        "rules": (
            "Crawl",
            "Check, show, learn and create the rules of sites",
            "newsbot.apps.authoring.command:ACTIONS",
        ),
        "article": (
            "Read",
            "Extract the article of one page without storing it",
            "newsbot.apps.authoring.article:ACTIONS",
        ),
    },
)
