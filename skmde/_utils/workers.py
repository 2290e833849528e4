"""Processes of joblib's that work for this one: they are to end when it does.

If a process is killed, loky's workers wait for their next task until they time out, after minutes.
One that was told whose child it is looks every second whether it still is. Held by
`test_a_signal_during_a_fit_leaves_no_process_behind` (tests/test_fault_injection.py).
"""

from __future__ import annotations

import os
import threading
import time

_NAME = "skmde: ends with the parent process"
_EVERY = 1.0  # seconds


def end_with(process):
    """In a child of the process of this number: end when that does. Elsewhere: nothing."""
    if os.getppid() != process or any(thread.name == _NAME for thread in threading.enumerate()):
        return
    threading.Thread(target=_watch, args=(process,), name=_NAME, daemon=True).start()


def _watch(process):
    while os.getppid() == process:
        time.sleep(_EVERY)
    os._exit(1)  # sys.exit would end this thread only
