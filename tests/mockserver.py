"""Another name of :mod:`testbed.mockserver`, for scripts outside the repository."""

from testbed.mockserver import HTML, MockServer

__all__ = ["HTML", "MockServer"]
