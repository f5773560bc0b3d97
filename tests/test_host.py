"""Memory use of this process, free memory, and warnings that are not for the user."""

import logging
import multiprocessing
import os
from multiprocessing.connection import Connection

import numpy as np
import pytest

from nmt_cli import host
from nmt_cli.host import free_memory, import_keras, peak_memory, variable, without_warnings

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


@pytest.mark.train
def test_the_backend_is_chosen_for_keras_and_not_for_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    import_keras("tensorflow")
    assert "KERAS_BACKEND" not in os.environ


def test_a_user_keeps_a_variable_that_is_not_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("", "user"):
        monkeypatch.setenv("NMT_X", before)
        with variable("NMT_X", "ours"):
            assert os.environ["NMT_X"] == (before or "ours")
        with variable("NMT_X", "ours", override=True):
            assert os.environ["NMT_X"] == "ours"
        assert os.environ["NMT_X"] == before
    monkeypatch.delenv("NMT_X")
    with variable("NMT_X", "ours"):
        assert os.environ["NMT_X"] == "ours"
    assert "NMT_X" not in os.environ
