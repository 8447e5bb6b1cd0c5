"""Publishes articles to RabbitMQ (AMQP 0-9-1), with pika and publisher confirms."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newsbot.apps.sinks.rows import RESPONSE_TIMEOUT, Row, SinkError, as_json
from newsbot.config.apps import load_optional


class RabbitTarget:
    """``address`` is an AMQP URI with the parameter ``exchange`` or ``queue`` (default: queue ``articles``).

    The exchange gets the routing key ``articles.<site>``. A queue is created if it is missing. A message has
    the key and the version of its row as ``message_id``; ``type`` is ``article`` or ``removed``.
    """

    drops_known_batches = False

    def __init__(self, address: str) -> None:
        self._pika = load_optional("pika", "rabbitmq", "this sink")
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query))
        self._exchange = options.pop("exchange", "")
        self._queue = "" if self._exchange else options.pop("queue", "articles")
        options = {
            "socket_timeout": str(RESPONSE_TIMEOUT),
            "blocked_connection_timeout": str(RESPONSE_TIMEOUT),
            **options,
        }
        try:
            self._parameters = self._pika.URLParameters(urlunsplit(parts._replace(query=urlencode(options))))
        except (ValueError, TypeError, OSError) as error:
            raise SinkError(f"RabbitMQ: {error}") from None
        self._channel: Any = None

    def check(self) -> None:
        """Connect, and create the queue if it is missing."""
        self._safely(self._opened)

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Publish the rows, and wait until the server has stored each of them."""

        def publish() -> None:
            for row in rows:
                self._publish(row)

        self._safely(publish)

    def close(self) -> None:
        """End the connection."""
        if self._channel is not None:
            with contextlib.suppress(Exception):  # it may be closed already
                self._channel.connection.close()
            self._channel = None

    def _publish(self, row: Row) -> None:
        properties = self._pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,  # durable
            message_id=f"{row.key}-{row.version}",
            type="removed" if row.article is None else "article",
        )
        key = self._queue or f"articles.{row.source or 'removed'}"
        self._opened().basic_publish(
            self._exchange, key, as_json(row.plain()), properties, mandatory=bool(self._queue)
        )

    def _opened(self) -> Any:
        if self._channel is None or not self._channel.is_open:
            self._channel = self._pika.BlockingConnection(self._parameters).channel()
            self._channel.confirm_delivery()
            if self._queue:
                self._channel.queue_declare(self._queue, durable=True)
        return self._channel

    def _safely(self, work: Any) -> None:
        try:
            work()
        except (self._pika.exceptions.AMQPError, OSError) as error:
            self.close()
            text = str(error) or type(error).__name__
            raise SinkError(f"RabbitMQ: {text[:200]}") from None
