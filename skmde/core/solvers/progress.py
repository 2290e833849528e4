"""The progress bar of a solve: iteration, average distortion and residual norm."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from skmde.core.solvers.result import SolverState


@contextlib.contextmanager
def progress_bar(verbose: int, max_iter: int) -> Iterator[list[Callable[[SolverState], None]]]:
    """Callbacks that show the progress of a solve; an empty list for ``verbose=0``.

    The bar is tqdm's, with value and residual norm. If tqdm is not installed (the ``progress``
    extra), a line is printed to stderr after every tenth of `max_iter`.
    """
    if not verbose or sys.stderr is None:  # stderr is None in a process without a console
        yield []
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield [_lines(max_iter)]
        return
    with tqdm(total=max_iter, desc="embedding", unit="it", file=sys.stderr) as bar:

        def show(state: SolverState) -> None:
            bar.set_postfix(_numbers(state), refresh=False)
            bar.update(state.iteration - bar.n)  # a resumed solve does not begin at 1

        yield [show]


def _numbers(state: SolverState) -> dict[str, str]:
    return {"distortion": f"{state.value:.6g}", "residual": f"{state.residual_norm:.2e}"}


def _lines(max_iter: int) -> Callable[[SolverState], None]:
    every = max(1, max_iter // 10)

    def show(state: SolverState) -> None:
        if state.iteration % every == 0:
            numbers = ", ".join(f"{name} {value}" for name, value in _numbers(state).items())
            print(f"iteration {state.iteration} of {max_iter}: {numbers}", file=sys.stderr)

    return show
