"""What this process uses, and what is free."""

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np

from nmt_cli import host
from nmt_cli.host import free_memory, peak_memory, used_memory

MIB = 2**20


def test_a_peak_outlasts_what_made_it():
    before = used_memory()
    assert MIB < before <= peak_memory()
    held = np.ones(200 * MIB, np.uint8)
    assert used_memory() > before + 150 * MIB
    del held
    assert peak_memory() > before + 150 * MIB


def test_a_process_does_not_inherit_the_peak_of_the_one_that_started_it():
    # As ru_maxrss does: batch sizes came out too small where a large process asked for them.
    held = np.ones(400 * MIB, np.uint8)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell_peak, args=(theirs,))
    process.start()
    assert ours.recv() < held.nbytes
    process.join()


def _tell_peak(connection: Connection) -> None:
    connection.send(peak_memory())


def test_this_machine_has_some_memory_free():
    free = free_memory()
    assert free is not None
    assert 128 * MIB < free < 2**50


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_LIMITS", tmp_path)
    (tmp_path / "memory.max").write_text(f"{3 * MIB}\n")
    (tmp_path / "memory.current").write_text(f"{MIB}\n")
    assert free_memory() == 2 * MIB
    (tmp_path / "memory.max").write_text("max\n")
    free = free_memory()
    assert free is not None
    assert free > 128 * MIB


def test_a_system_that_does_not_say(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "Path", lambda path: tmp_path / "missing")
    assert free_memory() is None
