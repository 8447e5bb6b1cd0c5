"""Leases can be taken back immediately if their owner is a process that is known to be dead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from newsbot.frontier.owners import dead_owners, owner_name

HOST = socket.gethostname()


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_a_name_says_machine_process_and_start():
    assert owner_name(1.5) == f"{HOST}:{os.getpid()}:1.500000"


def test_we_are_alive():
    assert dead_owners([owner_name(2.5)]) == []


def test_an_earlier_process_with_our_pid_is_dead():
    """In a container, each start may have the same process id."""
    assert dead_owners([f"{HOST}:{os.getpid()}:0.000000"]) == [f"{HOST}:{os.getpid()}:0.000000"]


def test_processes_that_ended_are_dead_and_those_that_run_are_not(dead_pid):
    gone, running = f"{HOST}:{dead_pid}:1.0", f"{HOST}:{os.getppid()}:1.0"
    assert dead_owners([gone, running]) == [gone]


def test_of_other_machines_nothing_is_known(dead_pid):
    assert dead_owners([f"elsewhere:{dead_pid}:1.0"]) == []


@pytest.mark.parametrize("name", ["", "x", f"{HOST}:", f"{HOST}::1", f"{HOST}:abc:1", f"{HOST}:-1:1"])
def test_names_of_others_are_left_alone(name):
    assert dead_owners([name]) == []


def test_a_process_of_another_user_is_alive(monkeypatch):
    def denied(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", denied)
    assert dead_owners([f"{HOST}:{os.getppid()}:1.0"]) == []


def test_names_that_nobody_of_ours_wrote_are_left_alone():
    here = socket.gethostname()
    assert dead_owners([f"{here}:{'9' * 30}:1.0", f"{here}:²:1.0", f"{here}:-1:1.0", "nonsense", ""]) == []
