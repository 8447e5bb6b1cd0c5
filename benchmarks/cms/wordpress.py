"""WordPress as packaged by Debian, with PHP's server and a temporary MariaDB.

Debian packages: wordpress, a theme (wordpress-theme-twentytwentyone), php-cli, php-mysql, mariadb-server.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.cms.posts import Post
from testbed.messages import Answer, Request

SOURCE = Path("/usr/share/wordpress")
THEMES = {
    "wordpress": "twentytwentyone",
    "wordpress-blocks": "twentytwentythree",
    "wordpress-2022": "twentytwentytwo",
}
"""A classic theme and two block themes."""
WAIT_SECONDS = 60.0
_ROUTER = """<?php
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path !== '/' && is_file(__DIR__ . $path)) { return false; }
require __DIR__ . '/index.php';
"""
_CONFIG = """<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:%(socket)s'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_HOME', 'http://%(host)s');
define('WP_SITEURL', 'http://%(host)s'); define('AUTOMATIC_UPDATER_DISABLED', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
"""
_DROPPED = frozenset({"transfer-encoding", "connection", "content-length", "host", "keep-alive"})


def installed_themes() -> dict[str, str]:
    """Return the name and theme of each site that can run on this machine."""
    if not all(map(shutil.which, ("php", "mariadbd", "mariadb-install-db"))):
        return {}
    return {name: one for name, one in THEMES.items() if (SOURCE / "wp-content/themes" / one).exists()}


class WordPressSite:
    """One WordPress site; see :func:`wordpress`."""

    shows_authors = True

    def __init__(self, name: str, theme: str, folder: Path, port: int) -> None:
        self.name, self.host = name, f"{name}-news.example"
        self._theme, self._folder, self._port = theme, folder, port

    def publish(self, posts: Sequence[Post]) -> None:
        """Import the posts; existing ones are updated."""
        rows = [
            {
                "slug": post.slug,
                "title": post.title,
                "author": post.author,
                "category": post.category,
                "local": f"{post.published:%Y-%m-%d %H:%M:%S}",
                "blocks": post.blocks,
            }
            for post in posts
        ]
        file = self._folder / "posts.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        script = Path(__file__).with_suffix(".php")
        command = ["php", str(script), self.host, self._theme, str(file)]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"WordPress: {(done.stderr or done.stdout)[-2000:]}")

    def __call__(self, request: Request) -> Answer:
        """Forward a request to PHP."""
        server = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_SECONDS)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _DROPPED}
        headers |= {"Host": self.host, "Accept-Encoding": "identity", "Connection": "close"}
        server.request(request.method, request.path, headers=headers)
        answer = server.getresponse()
        body = answer.read()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in _DROPPED}
        return Answer(status=answer.status, body=body, headers=kept, validators=False)


@contextmanager
def wordpress(name: str, folder: Path) -> Iterator[WordPressSite]:
    """Run the WordPress site ``name`` (a key of :data:`THEMES`) in ``folder``."""
    site = folder / name
    shutil.copytree(SOURCE, site, symlinks=False)
    database = folder / f"{name}-db"
    path = database / "socket"
    for file, text in (
        ("wp-config.php", _CONFIG % {"socket": path, "host": f"{name}-news.example"}),
        ("router.php", _ROUTER),
    ):
        (site / file).write_text(text, encoding="utf-8")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--no-defaults", f"--datadir={database}"]
    subprocess.run(
        ["mariadb-install-db", *options, "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True,
        **quiet,  # type: ignore[call-overload]
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = ["mariadbd", *options, f"--socket={path}", "--skip-networking", "--user=root"]
    processes = [
        subprocess.Popen(serving, **quiet),  # type: ignore[call-overload]
        subprocess.Popen(
            ["php", "-S", f"127.0.0.1:{port}", "-t", str(site), "router.php"],
            cwd=site,
            **quiet,  # type: ignore[call-overload]
        ),
    ]
    try:
        _wait_for(path)
        create = ["mariadb", "--no-defaults", f"--socket={path}", "-e", "CREATE DATABASE wordpress"]
        subprocess.run(create, check=True)
        yield WordPressSite(name, THEMES[name], site, port)
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def _wait_for(path: Path) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise RuntimeError("MariaDB has not started")
        time.sleep(0.1)
