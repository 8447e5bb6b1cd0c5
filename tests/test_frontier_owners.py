"""Leases can be taken back immediately if their owner is a process that is known to be dead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from newsbot.frontier.base import dead_owners, owner_name

HOST = socket.gethostname()


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_an_owner_name_contains_host_process_id_and_start_time():
    assert owner_name(1.5) == f"{HOST}:{os.getpid()}:1.500000"


def test_this_process_is_alive():
    assert dead_owners([owner_name(2.5)]) == []


def test_an_earlier_process_with_the_same_pid_is_dead():
    """In a container, each start may have the same process id."""
    assert dead_owners([f"{HOST}:{os.getpid()}:0.000000"]) == [f"{HOST}:{os.getpid()}:0.000000"]


def test_ended_processes_are_dead_and_running_processes_are_not(dead_pid):
    gone, running = f"{HOST}:{dead_pid}:1.0", f"{HOST}:{os.getppid()}:1.0"
    assert dead_owners([gone, running]) == [gone]


def test_processes_of_other_machines_are_not_judged(dead_pid):
    assert dead_owners([f"elsewhere:{dead_pid}:1.0"]) == []


@pytest.mark.parametrize("name", ["", "x", f"{HOST}:", f"{HOST}::1", f"{HOST}:abc:1", f"{HOST}:-1:1"])
def test_names_of_other_machines_are_ignored(name):
    assert dead_owners([name]) == []


def test_a_process_of_another_user_is_alive(monkeypatch):
    def denied(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", denied)
    assert dead_owners([f"{HOST}:{os.getppid()}:1.0"]) == []


def test_malformed_names_are_ignored():
    here = socket.gethostname()
    assert dead_owners([f"{here}:{'9' * 30}:1.0", f"{here}:²:1.0", f"{here}:-1:1.0", "nonsense", ""]) == []
