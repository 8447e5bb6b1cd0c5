"""The files in ``deploy/`` are consistent with each other, with the program, and with the documentation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from scrapy.utils.misc import load_object

from newsbot.apps.operations.workers import FOLDER, KILL_AFTER
from newsbot.cli.command import choose, make_parser
from newsbot.config.settings import value_of
from testbed.redisserver import missing
from tests.test_docs import NAMES

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
UNITS = ("newsbot@.service", "newsbot-workers.service", "newsbot-serve.service", "scrapyd.service")
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf8")
FROM_ENVIRONMENT = set(re.findall(r"^- `([A-Z_]+)` \(\*env\*", SETTINGS, re.MULTILINE))
SCRAPYD = {"SCRAPYD_USERNAME", "SCRAPYD_PASSWORD", "SCRAPYD_BIND_ADDRESS"}
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text(encoding="utf8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("setup", "worker", "serve", "scrapyd")
KEYS = {
    *("build", "cap_drop", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image"),
    *("init", "logging", "ports", "read_only", "restart", "security_opt", "stop_grace_period", "stop_signal"),
    *("tmpfs", "user", "volumes", "working_dir"),
}
"""Keys of a service in the Compose specification. Any other key is a typo, or must be added here."""


def variables(file: str) -> dict[str, str]:
    lines = (DEPLOY / file).read_text(encoding="utf8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def unit(name: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / name, encoding="utf8")
    return parser


# --- systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_each_line_of_a_unit(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze (Debian package systemd)")
    text = (DEPLOY / name).read_text(encoding="utf8")
    here = f"ExecStart={Path(sys.executable).parent}/"
    copy = tmp_path / name.replace("@", "@1")
    copy.write_text(text.replace("ExecStart=/opt/newsbot/.venv/bin/", here), encoding="utf8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    about_us = [line for line in done.stderr.splitlines() if name.partition("@")[0] in line]
    assert (about_us, done.returncode) == ([], 0), done.stderr


def test_a_worker_is_always_restarted_and_stopped_by_sigint() -> None:
    service = unit("newsbot@.service")
    assert service["Unit"]["StartLimitIntervalSec"] == "0"
    assert service["Service"]["Restart"] == "always"
    assert service["Service"]["KillSignal"] == "SIGINT"
    assert int(service["Service"]["TimeoutStopSec"]) > 2 * 30  # DOWNLOAD_TIMEOUT


def test_stopping_scrapyd_stops_its_jobs() -> None:
    assert unit("scrapyd.service")["Service"]["KillMode"] == "control-group"


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_contains_no_secrets_and_writes_only_to_allowed_folders(name: str) -> None:
    service = unit(name)["Service"]
    assert "Environment" not in service
    assert service["EnvironmentFile"] == "/etc/newsbot/newsbot.env"
    assert service["ProtectSystem"] == "strict"
    folder = Path(variables("newsbot.env.example")["NEWSBOT_DATA"])
    assert folder.name in service["StateDirectory"].split()
    assert folder.parent == Path("/var/lib")


def test_commands_of_units_exist() -> None:
    for name in ("newsbot@.service", "newsbot-workers.service", "newsbot-serve.service"):
        program, *words = unit(name)["Service"]["ExecStart"].split()
        check_command([Path(program).name, *words])
    assert Path(unit("scrapyd.service")["Service"]["ExecStart"]).name == "scrapyd"


def test_the_stop_timeout_of_workers_is_longer_than_that_of_their_supervisor() -> None:
    service = unit("newsbot-workers.service")["Service"]
    assert (service["Restart"], service["KillSignal"], service["KillMode"]) == ("always", "SIGINT", "mixed")
    assert int(service["TimeoutStopSec"]) > KILL_AFTER
    assert int(SERVICES["worker"]["stop_grace_period"].removesuffix("s")) > KILL_AFTER


def check_command(words: list[str]) -> None:
    """Check that a command line is valid: command, spider, options and arguments exist."""
    from datetime import UTC, datetime

    from newsbot.crawl.scope import parse_arguments

    scrapy, command, *rest = (re.sub(r"\$\{\w+:-(\w+)\}", r"\1", word) for word in words)
    assert scrapy == "scrapy"
    assert command in {*NAMES, "crawl"}
    if command == "crawl":
        assert rest.pop(0) == "news"
        assert rest[::2] == ["-a"] * (len(rest) // 2)
        parse_arguments(dict(one.split("=", 1) for one in rest[1::2]), now=datetime.now(UTC))
        return
    action, rest = choose(import_module(f"newsbot.commands.{command}").Command().actions, rest)
    make_parser(command, action).parse(rest)


def test_the_example_environment_file_contains_only_existing_settings() -> None:
    values = variables("newsbot.env.example")
    assert set(values) <= FROM_ENVIRONMENT | SCRAPYD
    assert {"REDIS_URL", "MONGO_URI"} <= set(values)
    assert {value for name, value in values.items() if name.endswith("PASSWORD")} == {"PASSWORD"}
    # the dashboard saves rules, and the units may write only to this folder
    assert Path(values["NEWSBOT_RULES"]).is_relative_to("/var/lib/newsbot")


def test_files_and_settings_in_the_documentation_exist() -> None:
    text = (ROOT / "docs/operations.md").read_text(encoding="utf8")
    named = set(re.findall(r"deploy/([\w@.-]*\w)", text)) - {".env"}
    assert {"newsbot@.service", "scrapyd.service", "scrapyd.conf", "redis.conf", "redis-users.acl"} <= named
    for name in named:
        assert (DEPLOY / name).exists(), name
    for name in set(re.findall(r"NEWSBOT_[A-Z0-9_]+", text)):
        assert f"- `{name}`" in SETTINGS


# --- docker
def test_services_have_only_keys_of_the_compose_specification() -> None:
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
    assert set(SERVICES) == {"redis", "mongo", *OURS}


def test_services_and_volumes_that_a_service_depends_on_exist() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            assert other in SERVICES
            assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[other]
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), source
            else:
                assert source in COMPOSE["volumes"]


def test_permanent_services_are_restarted() -> None:
    for name, service in SERVICES.items():
        assert service["restart"] == ("on-failure" if name == "setup" else "unless-stopped")


def test_workers_have_different_host_names() -> None:
    # owners of leases are host:pid:start, so two containers must not have the same host name
    for name in OURS:
        assert not {"hostname", "network_mode", "pid", "container_name"} & set(SERVICES[name])


def test_the_dashboard_of_a_container_requires_a_token() -> None:
    assert SERVICES["serve"]["environment"]["NEWSBOT_WEB_TOKEN"].startswith("${NEWSBOT_WEB_TOKEN:?")


def test_the_dashboard_reaches_the_scrapyd_of_the_compose_file() -> None:
    scrapyd = SERVICES["scrapyd"]["environment"]
    port = SERVICES["scrapyd"]["ports"][0].rpartition(":")[2]
    name, password = scrapyd["SCRAPYD_USERNAME"], scrapyd["SCRAPYD_PASSWORD"]
    address = SERVICES["serve"]["environment"]["NEWSBOT_SCRAPYD"]
    assert address == f"http://{name}:{password}@scrapyd:{port}"
    assert value_of({"NEWSBOT_SCRAPYD": address.replace(password, "secret")}, "NEWSBOT_SCRAPYD")


def test_the_image_is_built_from_the_locked_requirements() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf8")
    assert "--require-hashes -r requirements.lock" in text
    copied = {word for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE) for word in line.split()[:-1]}
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf8").split()
    for name in copied - {"--chown=newsbot:newsbot"}:
        assert f"!{name.partition('/')[0]}" in allowed, name


# --- kubernetes, grafana
MANIFESTS: list[dict[str, Any]] = list(
    yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf8"))
)


def test_the_manifests_match_the_schema_of_kubernetes() -> None:
    validator = pytest.importorskip("kubernetes_validate")
    for manifest in MANIFESTS:
        validator.validate(manifest, "1.31", strict=True)


def test_the_manifests_run_existing_commands_with_existing_settings() -> None:
    deployments = [one for one in MANIFESTS if one["kind"] == "Deployment"]
    for one in deployments:
        pod = one["spec"]["template"]
        assert one["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        (container,) = pod["spec"]["containers"]
        words = container["command"]
        check_command(words[: words.index("-s")] if "-s" in words else words)
        assert {variable["name"] for variable in container["env"]} <= FROM_ENVIRONMENT
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    (service,) = [one for one in MANIFESTS if one["kind"] == "Service"]
    assert any(
        service["spec"]["selector"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
        for one in deployments
    )


def test_the_charts_show_metrics_that_the_dashboard_has(tmp_path: Path) -> None:
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    source = (ROOT / "newsbot/apps/web/dashboard/app.py").read_text(encoding="utf8")
    known = {f"newsbot_{name}" for name in re.findall(r'metric\("(\w+)"', source)} | {
        f"newsbot_site_{name}_total" for name in re.findall(r'^    \("(\w+)", "', source, re.MULTILINE)
    }
    for query in queries:
        named = set(re.findall(r"newsbot_\w+", query))
        assert named
        assert named <= known, query
    if (promtool := shutil.which("promtool")) is None:  # Debian package prometheus
        return
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "charts", "rules": rules}]}))
    subprocess.run([promtool, "check", "rules", str(file)], check=True, capture_output=True)


def test_settings_of_users_come_from_the_environment_file() -> None:
    chosen = {name for name in variables("docker.env.example") if name.startswith("NEWSBOT_")}
    for name in ("NEWSBOT_ALERT_WEBHOOK", "NEWSBOT_ALERT_MAIL", "NEWSBOT_WARC_DIR", "NEWSBOT_PUBLIC_URL"):
        assert name in chosen
    for service in ("worker", "serve", "scrapyd"):
        environment = SERVICES[service]["environment"]
        for name in chosen - {"NEWSBOT_WEB_TOKEN"}:
            assert environment[name] == f"${{{name}:-}}", (service, name)


def test_rules_are_in_a_volume_that_can_be_written() -> None:
    for service in ("worker", "serve", "scrapyd"):
        assert "rules:/app/rules" in SERVICES[service]["volumes"]
    assert "COPY --chown=newsbot:newsbot rules rules" in (DEPLOY / "Dockerfile").read_text(encoding="utf8")


def test_a_container_is_healthy_while_a_worker_writes_its_stats(tmp_path: Path) -> None:
    kind, check = SERVICES["worker"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    assert "/tmp/newsbot-workers-*" in check
    here = check.replace("/tmp/", f"{tmp_path}/")
    assert subprocess.run(here, shell=True, stderr=subprocess.DEVNULL, check=False).returncode != 0
    figures = tmp_path / f"{FOLDER}x" / "1.json"
    figures.parent.mkdir()
    figures.write_text("{}")
    assert subprocess.run(here, shell=True, check=False).returncode == 0
    os.utime(figures, (0, 0))
    assert subprocess.run(here, shell=True, check=False).returncode != 0


def test_the_health_check_of_the_dashboard_needs_no_token() -> None:
    (word,) = (word for word in SERVICES["serve"]["healthcheck"]["test"] if "urlopen" in word)
    compile(word, "healthcheck", "exec")
    path = re.search(r"http://127\.0\.0\.1:8765(/\w+)", word)
    assert path is not None
    assert (
        f'add_get("{path[1]}", partial(_health, board)'
        in (ROOT / "newsbot/apps/web/dashboard/app.py").read_text()
    )


def test_ports_are_published_on_loopback_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_environment_of_services_contains_only_existing_settings() -> None:
    setup = (DEPLOY / "mongo_setup.py").read_text(encoding="utf8")
    for name in OURS:
        known = FROM_ENVIRONMENT | SCRAPYD | set(re.findall(r'"(MONGO_[A-Z_]+)"', setup))
        assert set(SERVICES[name]["environment"]) <= known, name
    assert {"REDIS_URL", "MONGO_URI"} <= set(SERVICES["worker"]["environment"])
    assert {"REDIS_URL", "MONGO_URI"} <= set(SERVICES["scrapyd"]["environment"])


def test_the_example_contains_all_variables_of_the_compose_file() -> None:
    text = (DEPLOY / "docker-compose.yml").read_text(encoding="utf8")
    named = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", text))
    assert named == set(variables("docker.env.example"))
    required = set(re.findall(r"(?<!\$)\$\{([A-Z_]+):\?", text))
    secrets = {name for name in named if name.endswith(("PASSWORD", "TOKEN"))}
    assert required == secrets, "an empty password must stop the start"


def test_commands_of_services_exist() -> None:
    check_command(SERVICES["worker"]["command"])
    check_command(SERVICES["serve"]["command"])
    assert SERVICES["scrapyd"]["command"] == ["scrapyd"]
    python, script = SERVICES["setup"]["command"]
    assert python == "python"
    assert (ROOT / script).is_file()
    assert f"COPY {script} " in (DEPLOY / "Dockerfile").read_text(encoding="utf8")


def test_the_image_copies_existing_files_and_runs_a_worker() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf8").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and line[0].isupper()]
    for step, rest in steps:
        if step == "COPY":
            for source in [word for word in rest.split() if not word.startswith("--")][:-1]:
                assert (ROOT / source).exists(), source
    command = dict(steps)["CMD"]
    check_command(yaml.safe_load(command))
    assert dict(steps)["USER"] == "newsbot"


# --- scrapyd
def test_scrapyd_keeps_jobs_and_listens_on_loopback_only() -> None:
    parser = ConfigParser(interpolation=None)
    parser.read(DEPLOY / "scrapyd.conf", encoding="utf8")
    values = parser["scrapyd"]
    assert load_object(values["jobstorage"]).__name__ == "SqliteJobStorage"
    assert values["bind_address"] == "127.0.0.1"
    assert values["items_dir"] == ""
    assert "password" not in values
