"""Gives all changes of articles to the followers of apps, in order and at least once.

* ``following``: the class of a follower, its position, lease and faults, and the thread that runs it
* ``extension``: runs them while a news crawl runs
"""

from newsbot.config.apps import App

APP = App(
    name="followers",
    package="newsbot.apps.followers",
    components={"EXTENSIONS": {"newsbot.apps.followers.extension.Followers": 550}},
)
