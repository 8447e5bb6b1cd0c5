"""Posts of blogs and microblogs."""

from newsbot.config.apps import App

APP = App(
    name="posts",
    package="newsbot.apps.posts",
    settings=True,
    components={"SPIDER_MIDDLEWARES": {"newsbot.apps.posts.middleware.PostsMiddleware": 600}},
    readers=(
        "newsbot.apps.posts.bluesky:READER",
        "newsbot.apps.posts.telegram:READER",
        "newsbot.apps.posts.youtube:READER",
        "newsbot.apps.posts.mastodon:READER",
        "newsbot.apps.posts.post:READER",
    ),
)
