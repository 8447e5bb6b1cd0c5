"""Another name of :mod:`testbed.messages`, for scripts outside the repository."""

from testbed.messages import Answer, Request

__all__ = ["Answer", "Request"]
