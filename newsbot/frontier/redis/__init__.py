"""The frontier in Redis. The only place that imports ``redis`` and ``scrapy_redis``."""

from newsbot.frontier.redis.frontier import RedisFrontier

__all__ = ["RedisFrontier"]
