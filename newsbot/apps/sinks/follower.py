"""Reads ``sinks.yaml``, and opens the targets that it names.

The file is a list of sinks::

    - name: warehouse
      to: postgresql://newsbot:$PG_PASSWORD@db.example/news
      query: bridge lang:en
      without_ai_opt_outs: true

Sends the changes of articles to one sink (:class:`newsbot.apps.followers.following.Follower`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

import yaml

from newsbot.apps.followers.following import Follower
from newsbot.apps.search.labels import NO_LABELS, Labels, any_label, open_labels
from newsbot.apps.search.matching import matches
from newsbot.apps.search.query import MAX_QUERY, Tagged, parse
from newsbot.apps.sinks.rows import Row, RowsRefused, SinkError, Target, as_json, latest
from newsbot.backends import data_folder, present_rules, project_folder
from newsbot.cli.program import PROGRAM
from newsbot.clock import iso, system_clock, utc
from newsbot.config.apps import load
from newsbot.config.settings import SettingsLike
from newsbot.errors import Problem, RulesError, did_you_mean
from newsbot.items import Article
from newsbot.pages.rights import opted_out
from newsbot.pages.rules.keys import YamlFault, line_of, read_tree
from newsbot.pages.rules.rule import Rule, Secret
from newsbot.storage.articles import Changes

TARGETS: Mapping[str, str] = {
    "postgresql": "newsbot.apps.sinks.targets:PostgresTarget",
    "postgres": "newsbot.apps.sinks.targets:PostgresTarget",
    **dict.fromkeys(
        (f"{name}+{scheme}" for name in ("opensearch", "elasticsearch") for scheme in ("http", "https")),
        "newsbot.apps.sinks.targets:OpenSearchTarget",
    ),
    "kafka": "newsbot.apps.sinks.targets:KafkaTarget",
    "amqp": "newsbot.apps.sinks.targets:RabbitTarget",
    "amqps": "newsbot.apps.sinks.targets:RabbitTarget",
    "file": "newsbot.apps.sinks.rows:FilesTarget",
    "s3": "newsbot.apps.sinks.rows:FilesTarget",
    "http": "newsbot.apps.sinks.targets:WebhookTarget",
    "https": "newsbot.apps.sinks.targets:WebhookTarget",
}
"""Scheme of an address -> the class of its target."""
FILE = "sinks.yaml"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")
_KEYS = ("name", "to", "query", "fields", "without_ai_opt_outs", "secret")
_FIELDS = frozenset(Article.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """One sink of the file."""

    name: str
    to: str
    """The address. ``$NAME`` stands for the environment variable."""
    query: str = ""
    """Only articles that match this query; empty: all."""
    fields: tuple[str, ...] = ()
    """Names of the fields that are sent; empty: all."""
    without_ai_opt_outs: bool = False
    """True if articles whose rights forbid use by AI are left out."""
    secret: Secret | None = None
    """The key that signs the requests of a webhook."""

    @property
    def shown(self) -> str:
        """The address without variables' values, name and password. The path of a webhook is a secret too."""
        scheme, mark, rest = self.to.partition("://")
        if "?" not in rest.partition("/")[0]:  # else it may be a sign of the password
            rest = rest.partition("?")[0]
        login, at, place = rest.rpartition("@")
        place = place.partition("?")[0]
        if scheme in ("http", "https"):
            host, _, path = place.partition("/")
            place = f"{host}/***" if path else place
        return f"{scheme}{mark}{'***' if login else ''}{at}{place}"

    def open(self) -> Target:
        """Return the target. Nothing is connected yet.

        Raises :class:`newsbot.apps.sinks.rows.SinkError` if a package is missing or the address is not valid.
        """
        address = self.address()
        kind = load(TARGETS[urlsplit(address).scheme])
        target: Target = kind(address, self.secret.read()) if self.secret else kind(address)
        return target

    def address(self) -> str:
        """Return the address with the values of the variables. Raises ``ValueError`` if one is not set."""

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            text = os.environ.get(name)
            if text is None:
                raise ValueError(f"the environment variable {name} is not set")
            # A variable is a part of the address, such as a password, or the whole address.
            return text if match[0] == self.to else quote(text, safe="")

        return _VARIABLE.sub(value, self.to)


def sinks_file(settings: SettingsLike) -> Path | None:
    """Return the file with the sinks, or None if there is none."""
    if given := settings.get("NEWSBOT_SINKS"):
        return Path(given).expanduser()
    project = project_folder()
    return project / FILE if project is not None and (project / FILE).is_file() else None


def read_sinks(settings: SettingsLike) -> list[Sink]:
    """Return the sinks of the file. Raises :class:`newsbot.errors.RulesError` with all problems at once."""
    path = sinks_file(settings)
    if path is None:
        return []
    try:
        root = read_tree(path.read_bytes())
    except OSError as error:
        raise RulesError([Problem(str(path), 0, "", f"cannot be read ({error.strerror})")]) from error
    except YamlFault as error:
        raise RulesError([Problem(str(path), error.line, "", str(error))]) from error
    reading = _Reading(str(path))
    if root is not None:
        reading.file(root)
    if reading.problems:
        raise RulesError(reading.problems)
    return reading.sinks


def check(settings: SettingsLike, rules: Iterable[Rule]) -> None:  # noqa: ARG001  (the form of all checks)
    """Raise :class:`newsbot.errors.UserError` if a sink cannot be opened."""
    for sink in read_sinks(settings):
        sink.open().close()


class _Reading:
    """Reads the nodes of the file, and collects problems."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[Problem] = []
        self.sinks: list[Sink] = []

    def file(self, root: yaml.Node) -> None:
        if not isinstance(root, yaml.SequenceNode):
            self._problem(root, "", "write a list of sinks, each with name: and to:")
            return
        for node in root.value:
            if not isinstance(node, yaml.MappingNode):
                self._problem(node, "", "a sink has the keys name: and to:")
                continue
            before = len(self.problems)
            names = [str(key.value) for key, _ in node.value]
            for name in dict.fromkeys(one for one in names if names.count(one) > 1):
                self._problem(node, name, "is given twice")
            values = {key: value for key, value in (self._pair(*pair) for pair in node.value) if key}
            for name in ("name", "to"):
                if name not in values:
                    self._problem(node, name, "is missing")
            if len(self.problems) == before:
                sink = Sink(**values)
                if sink.secret is not None and urlsplit(sink.address()).scheme not in ("http", "https"):
                    self._problem(node, "secret", "signs requests to http:// and https:// addresses only")
                if any(one.name == sink.name for one in self.sinks):
                    self._problem(node, "name", f"{sink.name} is used twice")
                self.sinks.append(sink)

    def _pair(self, key: yaml.Node, node: yaml.Node) -> tuple[str, Any]:
        name = str(key.value)
        if name not in _KEYS:
            hint = did_you_mean(name, _KEYS)
            self._problem(key, name, f"there is no such key{hint}; allowed: {', '.join(_KEYS)}")
            return "", None
        try:
            return name, getattr(self, f"_{name}")(node)
        except ValueError as error:
            self._problem(node, name, str(error))
            return name, None

    def _text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise ValueError("must be a text")
        return str(node.value).strip()

    def _name(self, node: yaml.Node) -> str:
        name = self._text(node)
        if not _NAME.fullmatch(name):
            raise ValueError("use at most 64 lower-case letters, digits, dots, hyphens and underscores")
        return name

    def _to(self, node: yaml.Node) -> str:
        address = self._text(node)
        found = Sink(name="", to=address).address()
        try:
            parts = urlsplit(found)
            scheme = parts.scheme
        except ValueError:  # its text may quote the password
            raise ValueError("is not a valid address") from None
        if scheme not in TARGETS:
            hint = did_you_mean(scheme, TARGETS)
            raise ValueError(
                f"{scheme or 'no scheme'}: unknown kind of address{hint}; known: {', '.join(TARGETS)}"
            )
        if scheme not in ("file", "postgresql", "postgres") and not parts.netloc.rpartition("@")[2]:
            raise ValueError("has no host")
        return address

    def _query(self, node: yaml.Node) -> str:
        query = self._text(node)
        parsed = parse(query, lambda tag: (tag,), any_label())
        if parsed.notes or parsed.empty or len(query) > MAX_QUERY:
            raise ValueError(parsed.notes[0] if parsed.notes else "the query has no word, or is too long")
        return query

    def _fields(self, node: yaml.Node) -> tuple[str, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise ValueError("must be a list of names, such as [url, title, text]")
        names = tuple(self._text(one) for one in node.value)
        for name in names:
            if name not in _FIELDS:
                raise ValueError(f"{name}: articles have no such field{did_you_mean(name, _FIELDS)}")
        return names

    def _without_ai_opt_outs(self, node: yaml.Node) -> bool:
        text = self._text(node)
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"

    def _secret(self, node: yaml.Node) -> Secret:
        secret = Secret(self._text(node))
        secret.read()
        return secret

    def _problem(self, node: yaml.Node, key: str, text: str) -> None:
        self.problems.append(Problem(self._file, line_of(node), key, text))


logger = logging.getLogger(__name__)

PREFIX = "sink:"
"""Beginning of the names of followers that are sinks."""
MAX_REFUSED = 10 * 2**20
"""Size in bytes after which a file with refused rows is full."""


class SinkFollower(Follower):
    """Makes rows of changes, and writes them to the target.

    An article that does not match the query, or whose rights forbid it, is sent as removed, because an
    earlier version may have been sent.
    """

    def __init__(self, sink: Sink, tagged: Tagged, refused: Path, labels: Labels = NO_LABELS) -> None:
        """``refused`` is the file to which rows are appended that the target refuses."""
        self.sink, self._refused = sink, refused
        self._tagged, self._labels = tagged, labels
        self._target: Target | None = None

    def take(self, changes: Changes) -> None:
        """Write changes. Rows that the target refuses for ever are logged and left out."""
        rows = latest(self._rows(changes))
        if not rows:
            return
        if self._target is None:
            self._target = self.sink.open()
            try:
                self._target.check()
            except Exception:
                self.close()  # the next attempt checks again, and creates a missing table or index
                raise
        # After a rewind, a batch with the same end may have fewer rows. It must not replace the first one.
        what = [(row.key, row.version, row.article is None) for row in rows]
        named = f"{self.sink.name} {changes.cursor} {what}"
        if changes.rewound and self._target.drops_known_batches:
            named += f" {changes.rewound}"
        batch = blake2b(named.encode(), digest_size=12).hexdigest()
        try:
            try:
                self._target.write(rows, batch)
            except RowsRefused:
                self._write_each(self._target, rows, batch)
        except Exception:
            self.close()  # for example, the index was deleted
            raise

    def close(self) -> None:
        """End the connection to the target."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def _rows(self, changes: Changes) -> list[Row]:
        articles = {one.fingerprint: one.article for one in changes.found if one.article is not None}
        wanted = set(articles)
        if self.sink.query:
            wanted = matches(articles, {"": self.sink.query}, self._tagged, self._labels)[""]
        return [self._row(one.fingerprint, one.article, wanted) for one in changes.found]

    def _row(self, key: bytes, article: Article | None, wanted: set[bytes]) -> Row:
        if (
            article is None
            or key not in wanted
            or (self.sink.without_ai_opt_outs and opted_out(article.rights))
        ):
            return Row(key.hex())
        plain = article.to_dict()
        if self.sink.fields:
            plain = {name: plain.get(name) for name in self.sink.fields}
        return Row(
            key.hex(), article.version, plain, article.source, article.fetched_at, article.published_at
        )

    def _write_each(self, target: Target, rows: Sequence[Row], batch: str) -> None:
        """Write rows one by one, after the target has refused them together."""
        refused, fault = [], ""
        for number, row in enumerate(rows):
            try:
                target.write([row], f"{batch}-{number}")
            except RowsRefused as error:
                refused.append(row)
                fault = str(error)
        if len(refused) == len(rows) > 1:  # the address or the table is wrong, not the rows
            raise SinkError(fault)
        if refused:
            logger.error(
                "sink=%s refused=%d fault=%s; see: %s sinks refused %s",
                *(self.sink.name, len(refused), fault, PROGRAM, self.sink.name),
            )
            self._keep(refused, fault)

    def _keep(self, rows: Sequence[Row], fault: str) -> None:
        """Append refused rows to the file. A file that is full becomes ``.old`` and replaces the last one."""
        self._refused.parent.mkdir(parents=True, exist_ok=True)
        if self._refused.exists() and self._refused.stat().st_size > MAX_REFUSED:
            self._refused.replace(self._refused.with_suffix(".old"))
        with self._refused.open("a+b") as file:
            if file.tell() and not _ends_a_line(file):  # a killed process has written a part of a line
                file.write(b"\n")
            for row in rows:
                file.write(as_json({"at": iso(utc(system_clock())), "fault": fault, **row.plain()}) + b"\n")


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, SEEK_END)
    return file.read(1) == b"\n"


def followers(settings: SettingsLike) -> dict[str, Follower]:
    """Return the sinks of ``sinks.yaml`` as followers. Raises :class:`newsbot.errors.UserError`."""
    present = present_rules(settings)

    def tagged(tag: str) -> Sequence[str]:
        return present.get().tagged(tag)

    return {
        f"{PREFIX}{sink.name}": SinkFollower(
            sink, tagged, refused_file(settings, sink.name), open_labels(settings)
        )
        for sink in read_sinks(settings)
    }


def refused_file(settings: SettingsLike, name: str) -> Path:
    """Return the file with the rows that the target of a sink has refused."""
    return data_folder(settings) / "sinks" / f"{name}-refused.jsonl"
