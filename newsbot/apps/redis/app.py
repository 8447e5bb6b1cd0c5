"""The frontier and the near-duplicate index in Redis."""

from newsbot.config.apps import App

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel")

APP = App(
    name="redis",
    package="newsbot.apps.redis",
    frontiers=dict.fromkeys(SCHEMES, "newsbot.apps.redis.frontier:RedisFrontier"),
    indexes=dict.fromkeys(SCHEMES, "newsbot.apps.redis.index:RedisIndex"),
)
