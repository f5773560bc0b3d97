"""Signals during a training: the first one stops it, a second one ends the process."""

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def second_signal_kills() -> Iterator[None]:
    """Let a second SIGINT or SIGTERM end the process at once, by that signal.

    Python calls handlers in the main thread and between its own instructions only, and a step or a
    compilation may take minutes. Another thread therefore restores the default actions, in C.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signalled = threading.Event()

    def watch() -> None:
        with open(reader, "rb", buffering=0) as numbers:
            for number in iter(lambda: numbers.read(1), b""):
                if number[0] not in STOPPING:
                    continue
                for each in STOPPING:
                    ctypes.pythonapi.PyOS_setsig(each, None)
                if signalled.is_set():  # it came before that, or a handler was installed since
                    os.kill(os.getpid(), number[0])
                signalled.set()

    before = signal.set_wakeup_fd(writer)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        if signalled.is_set():
            for each in STOPPING:
                signal.signal(each, signal.SIG_DFL)
