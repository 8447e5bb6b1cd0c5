"""Proposes rules for new sites, and shows, starts and stops the jobs of a scrapyd server.

For a proposal, a separate process (``scrapy rules new``) crawls some pages of the site. The process has a
time limit and is killed when the server ends. It changes neither the data nor the rules. The proposal is kept
only in the memory of the server. If a user saves it, its rule is written.

NEWSBOT_SCRAPYD is the URL of the scrapyd server. https://scrapyd.readthedocs.io/en/latest/api.html describes
its API.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout

from newsbot.apps.authoring.importing import Written, add_list
from newsbot.apps.authoring.learn import add_starter, rule_path, site_named, write_new
from newsbot.apps.authoring.new import found_so_far
from newsbot.backends import rules_folder
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean
from newsbot.clock import from_iso, system_clock, utc
from newsbot.config.settings import SettingsLike, value_of
from newsbot.crawl.address_guard import is_local
from newsbot.errors import ArgumentError, DataError, DataUnavailable, RulesError
from newsbot.items import Bounded

ARTICLES, SECONDS = 20, 120
"""Limits of the small crawl: number of articles, and seconds after which no more pages are requested."""
CRAWL_TIMEOUT = 240.0
"""Seconds after which the process is killed."""
LOOK_EVERY = 1.0
"""Seconds between two looks at what a running crawl has found."""
SHOWN = 200
"""Number of characters of a text that are shown."""
MAX_KEPT = 20
"""Maximum number of proposals in memory. If there are more, the oldest is dropped."""
MAX_FAULT = 500
"""Maximum length of an error message in characters."""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A feed, sitemap or section of the site that led to articles."""

    kind: str
    url: str
    new_links: int


@dataclass(frozen=True, slots=True)
class FoundArticle:
    """One of the articles that the crawl found, as a sample for the user."""

    url: str
    title: str
    published_at: datetime | None
    authors: list[str] = field(default_factory=list)
    text: str = ""
    """The start of the text."""


@dataclass(slots=True)
class Proposal:
    """A proposed rule for a site, and the findings from which it was made."""

    site: str
    state: str
    """looking (the crawl is running), found or failed."""
    since: datetime
    """Start of the crawl."""
    fault: str = ""
    """The reason why no rule was found."""
    rule: str = ""
    """The text of the rule file."""
    articles: int = 0
    """Number of articles from which the rule was made."""
    sources: list[FoundSource] = field(default_factory=list)
    samples: list[FoundArticle] = field(default_factory=list)


class Proposals:
    """The proposals of a server. One site is crawled at a time."""

    def __init__(self, settings: SettingsLike) -> None:
        self._folder = rules_folder(settings)
        self._allow_private = value_of(settings, "NEWSBOT_ALLOW_PRIVATE")
        self._known = Bounded[str, Proposal](MAX_KEPT)
        self._task: asyncio.Task[None] | None = None

    def get(self, address: str) -> Proposal | None:
        """Return the proposal for a site, or None if it has none.

        Raises :class:`ArgumentError` for an invalid address.
        """
        return self._known.get(site_named(address))

    def begin(self, address: str) -> Proposal:
        """Start the crawl of a site. If it is already running, return its proposal.

        Raises :class:`ArgumentError` if the address is invalid or private, if the site has a rule, or if
        another site is being crawled.
        """
        site = site_named(address)
        if not self._allow_private and is_local(site):
            raise ArgumentError(f"{site} is not a public address (setting NEWSBOT_ALLOW_PRIVATE)")
        if (path := rule_path(self._folder, site)).exists():
            raise ArgumentError(f"{site} already has a rule: {path.name}")
        for one in self._known.values():
            if one.state == "looking" and one.site != site:
                raise ArgumentError(
                    f"a rule for {one.site} is being made; only one site can be examined at a time"
                )
            if one.state == "looking":
                return one
        # An earlier proposal for the site is replaced and becomes the newest.
        found = self._known[site] = Proposal(site, "looking", utc(system_clock()))
        self._task = asyncio.ensure_future(self._look(found, address))
        return found

    async def save(self, address: str) -> str:
        """Write the proposed rule, and return the name of its file.

        Raises :class:`ArgumentError` if there is no proposal, or if the rule cannot be written.
        """
        found = self.get(address)
        if found is None or found.state != "found":
            raise ArgumentError(f"no rule is proposed for {address}")
        path = rule_path(self._folder, found.site)
        try:
            await asyncio.to_thread(write_new, path, found.rule)
        except RulesError as error:
            raise ArgumentError(str(error)) from error
        self._known.pop(found.site, None)
        return path.name

    async def add_starter(self) -> list[str]:
        """Write the rules of the starter collection, and return the names of the new files.

        Raises :class:`ArgumentError` if a rule cannot be written.
        """
        return await asyncio.to_thread(add_starter, self._folder)

    async def add_list(self, data: bytes) -> Written:
        """Write a rule for each site of a list.

        Raises :class:`ArgumentError` if the list has no site, or if a rule cannot be written.
        """
        return await asyncio.to_thread(add_list, self._folder, data)

    async def close(self) -> None:
        """Kill a running crawl."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self, found: Proposal, address: str) -> None:
        found.fault = "the crawl was stopped"  # this text stays only if the task is cancelled
        try:
            async with asyncio.timeout(CRAWL_TIMEOUT):
                code, output, log = await self._run(found, address)
            if code:
                lines = log.decode(errors="replace").strip().splitlines()
                found.fault = clean(lines[-1] if lines else f"exit code {code}")[:MAX_FAULT]
            else:
                _read(json.loads(output), found)
        except TimeoutError:
            found.fault = f"the crawl of the site took longer than {CRAWL_TIMEOUT:.0f} s"
        finally:
            if found.state == "looking":
                found.state = "failed"

    async def _run(self, found: Proposal, address: str) -> tuple[int, bytes, bytes]:
        """Run ``scrapy rules new``. Return its exit code, stdout and stderr.

        Until then, ``found`` has what the crawl has found so far. At the end the process group is always
        killed, even if this task is cancelled.
        """
        command = [sys.executable, "-m", PROGRAM, "rules", "new", address, "--print", "--json"]
        command += ["--articles", str(ARTICLES), "--seconds", str(SECONDS)]
        command += ["-s", f"NEWSBOT_ALLOW_PRIVATE={int(self._allow_private)}"]
        pipe = asyncio.subprocess.PIPE
        with TemporaryDirectory(prefix="newsbot-look-") as place:
            # The temporary files of a killed process are deleted with this folder.
            given = os.environ | {"NEWSBOT_RULES": str(self._folder), "TMPDIR": place}
            process = await asyncio.create_subprocess_exec(
                *command, env=given, stdout=pipe, stderr=pipe, start_new_session=True
            )
            watching = asyncio.ensure_future(_watch(found, Path(place)))
            try:
                output, log = await process.communicate()
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
                await _end_group(process)
        return process.returncode or 0, output, log


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process and its crawl, which is in the same group, and wait until both have ended.

    The crawl could otherwise still write files while their folder is deleted.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        for _ in range(_LOOKS_AT_GROUP):
            os.killpg(process.pid, 0)
            await asyncio.sleep(0.05)
    await process.wait()


_LOOKS_AT_GROUP = 40
"""Maximum number of looks. A killed process that nobody waits for stays in its group for ever."""


async def _watch(found: Proposal, place: Path) -> None:
    """Copy what a running crawl has found to the proposal, again and again."""
    while True:
        await asyncio.sleep(LOOK_EVERY)
        with suppress(DataError):  # the crawl is making its data file
            number, sources, articles = await asyncio.to_thread(found_so_far, place, found.site)
            found.articles = number
            found.sources = [FoundSource(one.kind.value, one.url, one.new_links) for one in sources]
            found.samples = [
                FoundArticle(one.url, one.title, one.published_at, one.authors, one.text[:SHOWN])
                for one in articles
            ]


def _read(document: dict[str, Any], found: Proposal) -> None:
    """Copy the output of ``scrapy rules new`` to the proposal."""
    found.rule, found.articles = document["rule"], document["articles"]
    found.sources = [FoundSource(**one) for one in document["sources"]]
    found.samples = [
        FoundArticle(**one | {"published_at": from_iso(one["published_at"])}) for one in document["samples"]
    ]
    found.state, found.fault = "found", ""


PROJECT, SPIDER = "newsbot", "news"
GET_TIMEOUT, POST_TIMEOUT = 8.0, 60.0
"""Maximum time in seconds of a GET request, and of a POST request.

A POST request takes longer, because scrapyd runs ``scrapy list`` before it schedules a job.
"""
MAX_BODY = 2**22
"""Maximum number of bytes of a response that are read."""
MAX_LOG = 30_000
"""Maximum number of bytes that are shown from the end of a log."""
MAX_FINISHED = 20
"""Maximum number of finished jobs in the list. The latest jobs are listed."""
STATES = ("running", "pending", "finished")


@dataclass(frozen=True, slots=True)
class Job:
    """A job of scrapyd."""

    job: str
    """The id of the job."""
    spider: str
    state: str
    """running, pending or finished."""
    started: str | None
    """Start of the job, in the local time of scrapyd's machine. None if the job is pending."""
    ended: str | None
    """End of the job, in the local time of scrapyd's machine. None if the job is not finished."""


@dataclass(frozen=True, slots=True)
class JobLog:
    """A job and the end of its log."""

    job: Job
    log: str


class Jobs:
    """The jobs of one scrapyd server. ``address`` is its URL, which may contain a name and a password.

    All methods raise :class:`DataUnavailable` if scrapyd does not respond.
    """

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    async def all(self) -> list[Job]:
        """Return the running jobs, then the pending jobs, then the last 20 finished jobs, newest first."""
        answer = await self._ask("listjobs.json", project=PROJECT)
        return [
            Job(one["id"], one.get("spider") or "", state, one.get("start_time"), one.get("end_time"))
            for state in STATES
            # scrapyd lists the oldest job first. The slice contains the last jobs in reverse order.
            for one in (answer[state][: -MAX_FINISHED - 1 : -1] if state == "finished" else answer[state])
        ]

    async def log(self, job: str) -> JobLog | None:
        """Return a job with the end of its log, or None if there is no such job."""
        found = next((one for one in await self.all() if one.job == job), None)
        if found is None:
            return None
        place = f"logs/{PROJECT}/{quote(found.spider, safe='')}/{quote(found.job, safe='')}.log"
        # scrapyd 1.6 fails if a request asks for the last N bytes of a shorter log. So the size is read
        # first.
        _, size, _ = await self._send("HEAD", place)
        begin = max(0, size - MAX_LOG)
        status, _, body = await self._send(
            "GET", place, headers={"Range": f"bytes={begin}-"} if begin else None
        )
        return JobLog(found, clean(body.decode(errors="replace")) if status < 300 else "")

    async def start(self, sites: str | None, mode: str) -> str:
        """Schedule a job of the spider ``news`` and return its id.

        ``sites`` are domains separated by commas, or None for all sites. ``mode`` is ``once`` or
        ``continuous``. Raises :class:`ArgumentError` if scrapyd refuses.
        """
        form = {"project": PROJECT, "spider": SPIDER, "mode": mode, **({"sites": sites} if sites else {})}
        return str((await self._ask("schedule.json", form))["jobid"])

    async def stop(self, job: str) -> str:
        """Stop a job in the same way as Ctrl-C. Return the state that the job had before.

        Raises :class:`ArgumentError` if scrapyd refuses.
        """
        answer = await self._ask("cancel.json", {"project": PROJECT, "job": job})
        return str(answer["prevstate"] or "unknown")

    async def _ask(self, path: str, form: Mapping[str, str] | None = None, **query: str) -> dict[str, Any]:
        method = "GET" if form is None else "POST"
        status, _, body = await self._send(method, path, params=query, data=form)
        try:
            answer: dict[str, Any] = json.loads(body)
        except ValueError as error:
            raise DataUnavailable(f"scrapyd returned HTTP {status} (setting NEWSBOT_SCRAPYD)") from error
        if answer.get("status") != "ok":  # scrapyd reports errors with the HTTP status 200
            refused = DataUnavailable if form is None else ArgumentError
            raise refused(f"scrapyd: {clean(str(answer.get('message')))[:300]}")
        return answer

    async def _send(self, method: str, path: str, **more: Any) -> tuple[int, int, bytes]:
        """Send a request. Return the status, the ``Content-Length`` (0 if missing) and the body.

        Each request opens its own session, because requests are rare.
        """
        timeout, body = ClientTimeout(POST_TIMEOUT if method == "POST" else GET_TIMEOUT), bytearray()
        try:
            async with (
                ClientSession(timeout=timeout) as session,
                session.request(method, f"{self._address}/{path}", **more) as answer,
            ):
                async for chunk in answer.content.iter_any():
                    body += chunk
                    if len(body) > MAX_BODY:
                        break
                return answer.status, answer.content_length or 0, bytes(body)
        except (ClientError, OSError, TimeoutError) as error:  # str(error) could contain the password
            raise DataUnavailable(f"scrapyd does not answer: {type(error).__name__}") from error
