"""Lists, starts and stops the jobs of a scrapyd server, and reads their logs.

NEWSBOT_SCRAPYD is the URL of the server. https://scrapyd.readthedocs.io/en/latest/api.html describes its API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout

from newsbot.cli.terminal import clean
from newsbot.errors import ArgumentError, DataUnavailable

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
