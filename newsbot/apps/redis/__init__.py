"""The frontier and the near-duplicate index in Redis, which any number of workers can share.

Files in reading order:

* ``connection``: connects to Redis, Redis Cluster and Sentinels, and runs Lua scripts there
* ``frontier``: the frontier itself
* ``queues``: the keys of the frontier's queues, the encoding of entries, the Lua scripts in
  ``lua/frontier/``, and the number of queues
* ``index``: the near-duplicate index, with the scripts in ``lua/index/``
"""

from newsbot.config.apps import App

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel")

APP = App(
    name="redis",
    package="newsbot.apps.redis",
    frontiers=dict.fromkeys(SCHEMES, "newsbot.apps.redis.frontier:RedisFrontier"),
    indexes=dict.fromkeys(SCHEMES, "newsbot.apps.redis.index:RedisIndex"),
)
