"""The near-duplicate index in Redis."""

from newsbot.dedup.redis.index import RedisIndex, empty

__all__ = ["RedisIndex", "empty"]
