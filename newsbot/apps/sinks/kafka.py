"""Writes articles to a topic of Kafka, with confluent-kafka.

The key of a message is the key of the row, so a compacted topic keeps the newest state of each article. The
message of a removed article has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from newsbot.apps.sinks.rows import RESPONSE_TIMEOUT, Row, RowsRefused, SinkError, as_json
from newsbot.config.apps import load_optional


class KafkaTarget:
    """``address`` is ``kafka://user:password@broker1:9092,broker2:9092/topic``.

    Its parameters are settings of librdkafka: ``?security.protocol=SASL_SSL``.
    """

    drops_known_batches = False

    def __init__(self, address: str) -> None:
        self._kafka = load_optional("confluent_kafka", "kafka", "this sink")
        parts = urlsplit(address)
        login, _, brokers = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        self._topic = parts.path.strip("/") or "articles"
        self._settings: dict[str, Any] = {
            "bootstrap.servers": brokers,
            "client.id": "newsbot",
            "enable.idempotence": True,  # keeps the order of messages when the client tries again
            "compression.type": "gzip",
            "message.timeout.ms": int(RESPONSE_TIMEOUT * 1000),
            "socket.timeout.ms": int(RESPONSE_TIMEOUT * 1000),
        }
        if user:
            self._settings |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": unquote(user),
                "sasl.password": unquote(password),
            }
        self._settings |= dict(parse_qsl(parts.query))
        self._producer: Any = None

    def check(self) -> None:
        """Ask the brokers for the topic."""
        try:
            found = self._opened().list_topics(self._topic, timeout=RESPONSE_TIMEOUT)
        except self._kafka.KafkaException as error:
            raise SinkError(f"Kafka: {error.args[0].str()}") from None
        fault = found.topics[self._topic].error
        if fault is not None and not fault.retriable():
            raise SinkError(f"Kafka: topic {self._topic}: {fault.str()}")

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Send the rows, and wait until the brokers have all of them."""
        producer = self._opened()
        faults: list[Any] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                faults.append(error)

        for row in rows:
            value = None if row.article is None else as_json(row.plain())
            try:
                producer.produce(self._topic, key=row.key, value=value, on_delivery=delivered)
            except self._kafka.KafkaException as error:
                faults.append(error.args[0])
                break
            except BufferError:  # the queue of the client is full
                producer.flush(RESPONSE_TIMEOUT)
                producer.produce(self._topic, key=row.key, value=value, on_delivery=delivered)
        left = producer.flush(RESPONSE_TIMEOUT + 1)
        if left or faults:
            self.close()
            text = faults[0].str() if faults else "the brokers do not answer"
            too_large = faults and faults[0].code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE
            raise (RowsRefused if too_large else SinkError)(f"Kafka: {text}")

    def close(self) -> None:
        """Drop the client. What it has not sent is sent again by the next one."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
            self._producer = None

    def _opened(self) -> Any:
        if self._producer is None:
            try:
                self._producer = self._kafka.Producer(self._settings, logger=_Quiet())
            except self._kafka.KafkaException as error:
                raise SinkError(f"Kafka: {error.args[0].str()}") from None
            except (TypeError, ValueError) as error:  # settings that are functions of a program
                raise SinkError(f"Kafka: {error}") from None
        return self._producer


class _Quiet:
    """Takes the log of librdkafka, which repeats each failed connection. Errors are reported by the sink."""

    def log(self, *_given: Any) -> None:
        """Do nothing."""
