"""Sets up a new MongoDB for newsbot: starts the replica set, and creates a user with minimal rights.

The script can be run again at any time. It does not change a replica set that has started, and it sets the
password of an existing user. It reads three environment variables: MONGO_PLACE (the addresses ``host:port``
of all members, separated by commas, in the form in which workers reach them), MONGO_ROOT_PASSWORD and
MONGO_PASSWORD.
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
"""Error codes of MongoDB: the replica set was not started yet, and the user exists already."""

NEEDED = ("MONGO_PLACE", "MONGO_ROOT_PASSWORD", "MONGO_PASSWORD")

Client = MongoClient[dict[str, Any]]


def initiate(client: Client, places: list[str]) -> str:
    """Start the replica set if it was not started yet, and wait for its primary. Return its name.

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
    """Create the user ``newsbot``, who may read and write only the database ``newsbot``.

    If the user exists, set its password and its rights.
    """
    roles = [{"role": "readWrite", "db": "newsbot"}]
    try:
        client["newsbot"].command("createUser", "newsbot", pwd=password, roles=roles)
    except OperationFailure as error:
        if error.code != USER_EXISTS:
            raise
        client["newsbot"].command("updateUser", "newsbot", pwd=password, roles=roles)


def main() -> int:
    """Run the setup. Return 0 on success; otherwise print the reason in one line and return 1."""
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
