"""``scrapy alerts``: shows current problems and the alerts that were sent, and tests the outputs."""

from newsbot.cli.command import NewsbotCommand


class Command(NewsbotCommand):
    """Declared in ``commands.yaml``."""
