"""Memory use of this process, free memory, and warnings that are not for the user."""

import logging
import multiprocessing
from multiprocessing.connection import Connection

import numpy as np
import pytest

from nmt_cli import host
from nmt_cli.host import free_memory, peak_memory, without_warnings

MIB = 2**20


def test_the_peak_is_kept_and_not_inherited():
    # Unlike ru_maxrss, which made batch sizes too small in children of large processes.
    held = np.ones(400 * MIB, np.uint8)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_peaks, args=(sender,))
    process.start()
    before, after = receiver.recv()
    assert before < held.nbytes
    assert after > before + 50 * MIB
    process.join()


def _send_peaks(connection: Connection) -> None:
    """Send the peak before and after using and freeing memory."""
    before = peak_memory()
    held = np.ones(before + 50 * MIB, np.uint8)
    del held
    connection.send((before, peak_memory()))


def test_this_machine_has_free_memory():
    free = free_memory()
    assert free is not None
    assert 128 * MIB < free < 2**50


def test_the_limit_of_a_container_applies(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_LIMITS", tmp_path)
    (tmp_path / "memory.max").write_text(f"{3 * MIB}\n")
    (tmp_path / "memory.current").write_text(f"{MIB}\n")
    assert free_memory() == 2 * MIB
    (tmp_path / "memory.max").write_text("max\n")
    free = free_memory()
    assert free is not None
    assert free > 128 * MIB


def test_a_system_without_proc(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "Path", lambda path: tmp_path / "missing")
    assert free_memory() is None


def test_no_warnings_while_a_model_is_tested(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("nmt_cli.search.translator")
    with without_warnings():
        logger.warning("hidden")
    logger.warning("shown")
    assert caplog.messages == ["shown"]
