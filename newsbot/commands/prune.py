"""``scrapy prune``: deletes data that are older than options or settings allow."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
