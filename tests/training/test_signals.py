"""A first signal stops a training after its step, a second one ends it in the usual way."""

import os
import signal
from pathlib import Path

import pytest

from nmt_cli.training.session import STOP_SIGNALS, Session
from nmt_cli.training.train import train
from tests.systems import toy_data


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_the_second_signal_interrupts_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    recipe, prepared = toy_data(tmp_path, training={"max_steps": 2})
    handlers = [signal.signal(stopping, signal.default_int_handler) for stopping in STOP_SIGNALS]
    sessions: list[Session] = []

    def signals_come(self: Session, batch: int, logs: object = None) -> None:
        sessions.append(self)
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        raise AssertionError("the second signal raises KeyboardInterrupt")

    monkeypatch.setattr(Session, "on_train_batch_end", signals_come)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            train(recipe, prepared, tmp_path / "run")
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        for stop_signal, handler in zip(STOP_SIGNALS, handlers, strict=True):
            signal.signal(stop_signal, handler)
    assert sessions[0].signalled
    assert caught.value.args == ()  # nothing was saved
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))
