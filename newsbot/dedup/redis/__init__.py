"""The near-duplicate index in Redis.

* ``index``: the index; its scripts are in ``newsbot/dedup/lua``
"""

from newsbot.dedup.redis.index import RedisIndex, empty

__all__ = ["RedisIndex", "empty"]
