"""The frontier in Redis."""

from newsbot.frontier.redis.frontier import RedisFrontier

__all__ = ["RedisFrontier"]
