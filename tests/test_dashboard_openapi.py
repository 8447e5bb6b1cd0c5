"""Random requests to the operations of /openapi.json get the described responses, without internal errors."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema
import pytest

from newsbot.apps.web.dashboard.endpoints import MAX_LENGTH
from newsbot.apps.web.dashboard.proposals import Proposals
from tests.dashboarddata import SITE, address, fill
from tests.dashboards import TOKEN, Visitor, settings_of, visit

ROUNDS = 15
"""Number of requests for each operation."""
HOSTILE = (
    "", " ", "\0", "\ud800", "é" * 300, "x" * 3000, "'; DROP TABLE article; --", "%00", "../../etc/passwd",
    "<script>", "-1", "0", "1e9", "9" * 40, "NaN", "true", "null", "[]", "{}", '"', "a OR (b", "((((((((((",
    "NOT", "*", "a*", '"a b', "2026-02-30", "99999d", "http://[", "http://127.0.0.1:1/", "javascript:1",
    "https://пример.рф/", "//x", "\u202e", "0000-00-00", "9999-12-31T23:59:59Z",
)  # fmt: skip


def value(draw: random.Random, name: str, schema: dict[str, Any]) -> str:
    """Return a value that the schema allows, one near its bounds, or a random one."""
    bounds = [schema[key] + step for key in ("minimum", "maximum") if key in schema for step in (-1, 0, 1)]
    right = [*schema.get("enum", ()), *schema.get("examples", ()), schema.get("default"), *bounds]
    if name == "url":
        right += [address(1), "https://news.test/2026/11/21/new.html"]
    if name in ("site", "source"):
        right += [SITE]
    right = [one for one in right if one is not None]
    return str(draw.choice(right)) if right and draw.random() < 0.5 else draw.choice(HOSTILE)


def encoded(pairs: dict[str, str]) -> str:
    return urlencode(pairs, errors="surrogatepass")


def test_every_operation_answers_random_requests_as_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends_at_once(_self: Proposals, _site: str) -> tuple[int, bytes, bytes]:
        return 1, b"", b"no crawl in this test"

    monkeypatch.setattr(Proposals, "_run", ends_at_once)
    settings = settings_of(tmp_path)
    fill(settings)
    draw = random.Random(19)

    async def check(visitor: Visitor, document: dict[str, Any], path: str, method: str) -> None:
        operation = document["paths"][path][method]
        values = {
            one["name"]: value(draw, one["name"], one["schema"])
            for one in operation.get("parameters", [])
            if one["in"] == "path" or draw.random() < 0.6
        }
        place = path
        for name in [one["name"] for one in operation.get("parameters", []) if one["in"] == "path"]:
            text = quote(values.pop(name).encode("utf8", "surrogatepass"), safe="") or "x"
            place = place.replace(f"{{{name}}}", text)
        data, headers = None, {}
        if body := operation.get("requestBody"):
            ((kind, content),) = body["content"].items()
            fields = content["schema"]["properties"]
            data = encoded({name: value(draw, name, schema) for name, schema in fields.items()})
            headers["Content-Type"] = kind
        if draw.random() < 0.9:
            headers["Authorization"] = f"Bearer {TOKEN}"
        url = f"{visitor.address}{place}?{encoded(values)}"
        async with visitor.client.request(method, url, data=data, headers=headers) as answer:
            text = await answer.text()
        sent = (method, url[:300], data, answer.status, text[:300])
        assert answer.status < 500, sent
        assert str(answer.status) in operation["responses"], sent
        schema = operation["responses"][str(answer.status)]["content"]["application/json"]["schema"]
        found = {**schema, "components": document["components"]}
        jsonschema.Draft202012Validator(found).validate(json.loads(text))

    async def check_all(visitor: Visitor) -> None:
        _, text = await visitor.get("/openapi.json")
        document = json.loads(text)
        for path, operations in document["paths"].items():
            for method in operations:
                for _ in range(ROUNDS):
                    await check(visitor, document, path, method)

    visit(settings, check_all, token=TOKEN)


def test_the_longest_value_that_the_description_allows_is_read(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings)

    async def check_all(visitor: Visitor) -> None:
        longest = "https://news.test/" + "\U0001f4f0" * (MAX_LENGTH - 18)
        answer, text = await visitor.get(f"/api/why?{urlencode({'url': longest})}")
        assert answer.status == 400
        assert "is too long" in json.loads(text)["error"], (
            "this error comes from the HTTP server, in plain text"
        )

    visit(settings, check_all)
