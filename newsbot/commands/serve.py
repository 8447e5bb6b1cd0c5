"""``scrapy serve``: serves the dashboard and its API, and receives notices of changed pages."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
