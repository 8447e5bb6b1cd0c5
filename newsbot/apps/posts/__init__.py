"""Reads the posts of blogs and microblogs: Mastodon, Bluesky, Telegram, YouTube and feeds of short notes.

The page of a post is not fetched, because the answer of the service has its text. A post is stored as an
article of the form ``post``.

Files in reading order:

* ``readers``: one post, its title, and the text of its HTML; a reader for each service
* ``middleware``: makes articles of posts, and reads the further parts of a source
"""

from newsbot.config.apps import App

APP = App(
    name="posts",
    package="newsbot.apps.posts",
    settings=True,
    components={"SPIDER_MIDDLEWARES": {"newsbot.apps.posts.middleware.PostsMiddleware": 600}},
    readers=tuple(
        f"newsbot.apps.posts.readers:{name}"
        for name in ("BLUESKY", "TELEGRAM", "YOUTUBE", "MASTODON", "NOTES")
    ),
)
