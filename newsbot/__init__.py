"""newsbot: a distributed news crawler that people keep."""

__version__ = "0.1.0"
