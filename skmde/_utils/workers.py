"""Worker processes of joblib end when their parent process ends.

If a process is killed, loky's workers wait for their next task until they time out, after minutes.
A worker that has called `end_with` checks every second whether its parent is still alive. Tested
by `test_a_signal_during_a_fit_leaves_no_process_behind` (tests/test_fault_injection.py).
"""

from __future__ import annotations

import os
import threading
import time

_NAME = "skmde: ends with the parent process"
_EVERY = 1.0  # seconds


def end_with(process):
    """Make this process end when its parent, with the given id, ends.

    It does nothing if this process is not a child of the given one.
    """
    if os.getppid() != process or any(thread.name == _NAME for thread in threading.enumerate()):
        return
    threading.Thread(target=_watch, args=(process,), name=_NAME, daemon=True).start()


def _watch(process):
    while os.getppid() == process:
        time.sleep(_EVERY)
    os._exit(1)  # sys.exit would end this thread only
