"""Makes a fresh MongoDB ready for newsbot: a replica set, and a user with the least rights.

May run again at any time: what is there stays, the user gets the password that is given. In the
environment: MONGO_PLACE (host:port of each member, as workers reach it, separated by commas),
MONGO_ROOT_PASSWORD, MONGO_PASSWORD.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure

PATIENCE = 60.0
"""Seconds to wait for the server, and for it to become the primary."""
NOT_INITIATED, USER_EXISTS = 94, 51003
"""MongoDB's error codes."""

NEEDED = ("MONGO_PLACE", "MONGO_ROOT_PASSWORD", "MONGO_PASSWORD")

Client = MongoClient[dict[str, Any]]


def initiate(client: Client, places: list[str]) -> str:
    """Start the replica set, unless it has started, and wait for its primary. Return the name of the set.

    ``client`` is connected to the first member.
    """
    try:
        client.admin.command("replSetGetStatus")
    except OperationFailure as error:
        if error.code != NOT_INITIATED:
            raise
        members = [{"_id": number, "host": place} for number, place in enumerate(places)]
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
    end = time.monotonic() + PATIENCE
    while "primary" not in (hello := client.admin.command("hello")):
        if time.monotonic() > end:
            raise ConnectionFailure(
                f"the replica set has no primary: is {places[0]} how mongod reaches itself?"
            )
        time.sleep(0.2)
    return str(hello["setName"])


def make_user(client: Client, password: str) -> None:
    """Make the user ``newsbot`` of the database ``newsbot``, who may read and write there only."""
    roles = [{"role": "readWrite", "db": "newsbot"}]
    try:
        client["newsbot"].command("createUser", "newsbot", pwd=password, roles=roles)
    except OperationFailure as error:
        if error.code != USER_EXISTS:
            raise
        client["newsbot"].command("updateUser", "newsbot", pwd=password, roles=roles)


def main() -> int:
    """Set up; 0 if all is ready, else 1 with one line that says why."""
    missing = [
        name for name in ("MONGO_PLACE", "MONGO_ROOT_PASSWORD", "MONGO_PASSWORD") if not os.environ.get(name)
    ]
    if missing:
        sys.stderr.write(f"mongo_setup: set {', '.join(missing)}\n")
        return 1
    place = os.environ["MONGO_PLACE"]
    places = place.split(",")
    login: dict[str, Any] = {
        "username": "root",
        "password": os.environ["MONGO_ROOT_PASSWORD"],
        "serverSelectionTimeoutMS": int(PATIENCE * 1000),
    }
    try:
        with Client(f"mongodb://{places[0]}/", directConnection=True, **login) as first:
            name = initiate(first, places)
        with Client(f"mongodb://{place}/", replicaSet=name, **login) as client:
            make_user(client, os.environ["MONGO_PASSWORD"])
    except (ConnectionFailure, OperationFailure) as error:
        sys.stderr.write(f"mongo_setup: {place}: {str(error).splitlines()[0][:300]}\n")
        return 1
    sys.stdout.write(f"MongoDB at {place} is ready for newsbot\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
