"""Reads ``sinks.yaml``, and sends the changes of articles to the targets that it names; ``scrapy sinks``.

The file is a list of sinks::

    - name: warehouse
      to: postgresql://newsbot:$PG_PASSWORD@db.example/news
      query: bridge lang:en
      without_ai_opt_outs: true

Each sink is a follower (:class:`newsbot.apps.followers.following.Follower`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

import yaml

from newsbot.apps.followers.following import (
    RENEWAL,
    Follower,
    FollowerRun,
    FollowerState,
    Step,
    renew,
    rewind,
    states,
)
from newsbot.apps.numbers import iso_of
from newsbot.apps.search.articles import matches
from newsbot.apps.search.query import MAX_QUERY, NO_LABELS, Labels, Tagged, any_label, open_labels, parse
from newsbot.apps.sinks.targets import (
    FilesTarget,
    KafkaTarget,
    OpenSearchTarget,
    PostgresTarget,
    RabbitTarget,
    Row,
    RowsRefused,
    SinkError,
    Target,
    WebhookTarget,
    as_json,
    latest,
)
from newsbot.backends import data_folder, open_storage, present_rules, project_folder, stored
from newsbot.cli.command import Action, Argument, Call, moment
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, lines
from newsbot.clock import iso, system_clock, utc
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, Problem, RulesError, UserError, did_you_mean
from newsbot.frontier.base import owner_name
from newsbot.items import Article
from newsbot.pages.rights import opted_out
from newsbot.pages.rules.keys import YamlFault, line_of, read_tree
from newsbot.pages.rules.rule import Rule, Secret
from newsbot.storage.articles import Changes

logger = logging.getLogger(__name__)

TARGETS: Mapping[str, Callable[..., Target]] = {
    **dict.fromkeys(("postgresql", "postgres"), PostgresTarget),
    **dict.fromkeys(
        (f"{name}+{scheme}" for name in ("opensearch", "elasticsearch") for scheme in ("http", "https")),
        OpenSearchTarget,
    ),
    "kafka": KafkaTarget,
    **dict.fromkeys(("amqp", "amqps"), RabbitTarget),
    **dict.fromkeys(("file", "s3"), FilesTarget),
    **dict.fromkeys(("http", "https"), WebhookTarget),
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

        Raises :class:`SinkError` if a package is missing or the address is not valid.
        """
        address = self.address()
        kind = TARGETS[urlsplit(address).scheme]
        return kind(address, self.secret.read()) if self.secret else kind(address)

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


BUSY_TIMEOUT, BUSY_PAUSE = 30.0, 0.1
"""Seconds to wait for a process that is numbering the changes, and between two attempts."""
SHOWN = 100
"""Maximum number of refused rows that are shown."""


def list_sinks(call: Call) -> None:
    """List the sinks with the number of changes that they lack, and their last fault."""
    rows = []
    with stored(call.settings) as storage:
        known = states(storage.notes)
        for sink in read_sinks(call.settings):
            state = known.get(f"{PREFIX}{sink.name}", FollowerState())
            rows.append(
                {
                    "name": sink.name,
                    "to": sink.shown,
                    "taken": state.taken,
                    "lacks": storage.articles.changes_after(state.cursor),
                    "last": iso_of(state.at) if state.at else None,
                    "fault": state.fault or None,
                }
            )
    call.listing(
        rows,
        columns("name | to * | taken > | lacks > | last | fault *"),
        (["-" if value is None else value for value in row.values()] for row in rows),
        empty=f"there are no sinks; write {FILE} beside scrapy.cfg (docs/sinks.md)",
    )


def check_targets(call: Call) -> int:
    """Connect to the targets of the sinks, and create tables and topics that are missing."""
    faults: dict[str, str | None] = {}
    for sink in _chosen(call, call.options.name):
        try:
            with closing(sink.open()) as target:
                target.check()
            faults[sink.name] = None
        except UserError as error:
            faults[sink.name] = str(error)
    if call.json:
        call.document([{"name": name, "fault": fault} for name, fault in faults.items()])
    else:
        for name, fault in faults.items():
            call.text(f"{name}: {fault or 'works'}")
    return 1 if any(faults.values()) else 0


def run(call: Call) -> int:
    """Send all changes to the sinks now. The exit code is 1 if a sink failed."""
    chosen = {f"{PREFIX}{sink.name}" for sink in _chosen(call, call.options.name)}
    found = {name: one for name, one in followers(call.settings).items() if name in chosen}
    failed = False
    with stored(call.settings) as storage:
        owner = owner_name(system_clock())
        for name, follower in found.items():
            one = FollowerRun(
                name, follower, storage.articles, storage.notes, owner=owner, clock=system_clock
            )
            tell = lines(call.note, {name: one.lag()})
            with closing(follower), _renewed(call.settings, one):
                give_up = time.monotonic() + BUSY_TIMEOUT
                while (step := one.step()) is Step.TAKEN or (
                    step is Step.BUSY and time.monotonic() < give_up
                ):
                    if step is Step.BUSY:
                        time.sleep(BUSY_PAUSE)
                        continue
                    give_up = time.monotonic() + BUSY_TIMEOUT
                    tell(name, states(storage.notes)[name].taken)
                one.release()
            if step is Step.ELSEWHERE:
                call.note(f"{name}: another process sends its changes")
            elif step is Step.BUSY:
                failed = True
                call.note(f"{name}: another process is numbering the changes; try again")
            elif step is Step.WAITING:
                failed = True
                call.note(f"{name}: {states(storage.notes)[name].fault}")
    return 1 if failed else 0


@contextmanager
def _renewed(settings: SettingsLike, run: FollowerRun) -> Iterator[None]:
    """Renew the lease of a follower in a thread: a slow sink may take one batch for longer than a lease."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(RENEWAL):
            renew(settings, [run])

    thread = threading.Thread(target=work, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def go_back(call: Call) -> None:
    """Send all articles to a sink again, or those that were fetched since a date."""
    (sink,) = _chosen(call, [call.options.name])
    since = call.options.to.timestamp() if call.options.to else 0.0
    with closing(open_storage(call.settings)) as storage:
        if not rewind(storage, f"{PREFIX}{sink.name}", since):
            raise UserError(f"{sink.name}: is sending changes at this moment; try again")
    call.note(
        f"{sink.name}: begins again; a crawl, {PROGRAM} serve or {PROGRAM} sinks run sends the articles"
    )


def refused(call: Call) -> None:
    """Show the rows that the target of a sink has refused."""
    (sink,) = _chosen(call, [call.options.name])
    path = refused_file(call.settings, sink.name)
    rows = []
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as file:
            rows = list(islice(_rows(file), SHOWN))
    call.listing(
        rows,
        columns("at | url * | version > | fault *"),
        ((row["at"], row.get("url", row["key"]), row.get("version", "-"), row["fault"]) for row in rows),
        empty=f"{sink.name}: nothing was refused",
    )


def _rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with suppress(ValueError):  # a killed process may have written a part of a line
            yield json.loads(line)


def _chosen(call: Call, names: list[str]) -> list[Sink]:
    """Return the sinks with these names; all sinks if there are none. Raises :class:`ArgumentError`."""
    known = {sink.name: sink for sink in read_sinks(call.settings)}
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"{name}: no sink has this name{did_you_mean(name, known)}; see: {PROGRAM} sinks list"
            )
    return [known[name] for name in names or known]


_SINKS = Argument("name", nargs="*", help="names of sinks (default: all)")
_SINK = Argument("name", help="name of a sink")

ACTIONS = (
    Action(
        "list",
        "List the sinks, how many changes they lack, and faults",
        list_sinks,
    ),
    Action(
        "check",
        "Connect to the targets, and create missing tables",
        check_targets,
        _SINKS,
    ),
    Action("run", "Send all changes now", run, _SINKS, writes=True),
    Action(
        "rewind",
        "Send the articles to a sink again",
        go_back,
        _SINK,
        Argument("--to", metavar="DATE", type=moment, help="only articles that were fetched since DATE"),
        writes=True,
    ),
    Action("refused", "Show what a target has refused", refused, _SINK),
)
