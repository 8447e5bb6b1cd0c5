"""The near-duplicate index in Redis."""

from newsbot.dedup.redis.index import RedisIndex

__all__ = ["RedisIndex"]
