"""Counts acknowledged writes that are missing after kill -9 of mongod during writes. The count must be 0.

Three processes store different articles through newsbot's storage. Each process writes the numbers of its
acknowledged articles to a file. At random moments mongod is killed (SIGKILL) and restarted on the same data.
The writers then wait and write the same article again. At the end each acknowledged article must be stored
exactly once.

    python -m benchmarks.durability [--kills 10] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.servers import own_mongo
from benchmarks.texts import articles
from newsbot.errors import DataError
from newsbot.storage.mongo import MongoStorage

WRITERS = 3
EACH = 10**7
"""Size of the range of article numbers of a writer."""


def write(uri: str, folder: str, writer: int) -> None:
    """Store articles until the file ``stop`` exists; record the number of each acknowledged article."""
    path = Path(folder)
    with (path / f"acknowledged{writer}").open("a", encoding="ascii", buffering=1) as acknowledged:
        storage = _connect(uri)
        for number in range(writer * EACH, (writer + 1) * EACH):
            (article,) = articles(number, number + 1)
            while True:
                try:
                    storage.articles.store(article)
                    break
                except DataError:
                    time.sleep(0.05)
            acknowledged.write(f"{number}\n")
            if (path / "stop").exists():
                break
        storage.close()


def _connect(uri: str) -> MongoStorage:
    while True:
        try:
            return MongoStorage(uri)
        except DataError:
            time.sleep(0.05)


def measure(kills: int) -> dict[str, Any]:
    """Kill mongod ``kills`` times; return the numbers of acknowledged and of missing articles."""
    chance = random.Random("durability")
    with own_mongo() as server, tempfile.TemporaryDirectory(prefix="newsbot-bench-") as folder:
        uri = f"{server.uri}newsbot"
        context = multiprocessing.get_context("spawn")
        writers = [context.Process(target=write, args=(uri, folder, n), daemon=True) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(4)  # the writers start
        for _ in range(kills):
            time.sleep(chance.uniform(0.2, 1.5))
            server.kill()
            server.start()
        time.sleep(1)
        (Path(folder) / "stop").touch()
        for writer in writers:
            writer.join(120)
        acknowledged = [int(line) for path in Path(folder).glob("ack*") for line in path.read_text().split()]
        with closing(MongoStorage(uri)) as storage:
            urls = {number: next(articles(number, number + 1)).canonical_url for number in acknowledged}
            missing = [number for number, url in urls.items() if storage.articles.get(url) is None]
            kept = storage.articles.count()
    return {"kills": kills, "acknowledged": len(acknowledged), "missing": len(missing), "kept": kept}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.kills)
    if options.json:
        print(json.dumps([row]))
        return
    print(
        f"{row['kills']} kills (kill -9) of mongod: {row['acknowledged']} articles acknowledged, "
        f"{row['missing']} of them missing, {row['kept']} kept"
    )


if __name__ == "__main__":
    main()
