"""One GPU: stages of fits, milliseconds of an iteration, host reads, memory; less than 8 minutes.

    python benchmarks/gpu.py --data mnist70k.npz --pymde

Each part runs in a process of its own and is ended when its time is over, so that a slow part does
not take the time of the others:

- imports: seconds of each heavy import, and the modules that take longest by themselves
- tests: ``tests/test_cuda.py``
- neighbors: the 15 nearest rows by torch's products, and by cuVS where it is installed
- mnist: a fit by stage, cold and warm, its bits, its average distortion beside the CPU's
- mixture: a fit of 1,000,000 x 50 points of 200 Gaussians by stage
- solves: n = 10^6, p = 10^7, milliseconds of an iteration under each constraint, copies to the
  host, and the pairs' sums by Triton and by torch operations
- pymde: the same map and the quadratic solve by PyMDE, with ``--pymde``

Without ``--data``, images are made from scikit-learn's digits, as many and as large as MNIST's.
``--device cpu --small`` runs every part in less than a minute.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

# Seconds; in all 8 minutes.
BUDGETS = {
    "imports": 30,
    "tests": 120,
    "neighbors": 25,
    "mnist": 85,
    "mixture": 65,
    "solves": 110,
    "pymde": 40,
}
FULL = {"images": 70_000, "points": 1_000_000, "items": 1_000_000, "pairs": 10_000_000}
SMALL = {"images": 1_500, "points": 1_500, "items": 2_000, "pairs": 10_000}
ITERATIONS = {"quadratic": 40, "log1p": 60}
IMPORTS = ("numpy", "scipy.sparse", "torch", "numba", "sklearn.base", "skmde")


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="gpu", peers=False)
    p.add_argument("--device", default="cuda", metavar="NAME", help="the device to measure")
    p.add_argument("--small", action="store_true", help="small sizes, to try out the script")
    p.add_argument("--data", type=Path, metavar="NPZ", help="MNIST, as for mnist.py")
    p.add_argument("--pymde", action="store_true", help="measure PyMDE, too, where it is installed")
    p.add_argument(
        "--parts", nargs="+", choices=list(BUDGETS), default=list(BUDGETS), help="parts to run"
    )
    p.add_argument("--one-process", action="store_true", help="run the parts here, without limits")
    p.add_argument("--part", choices=list(BUDGETS), help="used by the script itself")
    return p.parse_args()


class Sizes:
    """Sizes, and data of these sizes."""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.counts = SMALL if args.small else FULL

    def images(self) -> tuple[np.ndarray, str]:
        n = self.counts["images"]
        if self.args.data is not None:
            return common.mnist(self.args.data)[0][:n].astype(np.float32), "MNIST"
        from sklearn.datasets import load_digits

        rng = np.random.default_rng(0)
        digits = load_digits().images
        large = np.pad(np.kron(digits, np.ones((1, 3, 3))), ((0, 0), (2, 2), (2, 2)))
        chosen = large[rng.integers(0, len(large), n)].reshape(n, -1)
        return (16 * chosen + rng.normal(scale=16, size=chosen.shape)).astype(np.float32), "digits"

    def points(self) -> np.ndarray:
        n, rng = self.counts["points"], np.random.default_rng(0)
        centers = rng.normal(scale=4.0, size=(200, 50))
        noise = rng.standard_normal((n, 50), dtype=np.float32)
        return centers[rng.integers(0, 200, n)].astype(np.float32) + noise

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Random pairs without repetition, and weights of which half are negative."""
        n, p = self.counts["items"], self.counts["pairs"]
        rng = np.random.default_rng(0)
        i = rng.integers(0, n, p)
        j = (i + rng.integers(1, n, p)) % n
        keys = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
        pairs = np.stack([keys // n, keys % n], axis=1).astype(np.int32)
        return pairs, np.where(rng.random(len(pairs)) < 0.5, 1.0, -1.0).astype(np.float32)


class Stages(logging.Handler):
    """Seconds of the stages that a fit logs."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.seconds: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "stage"):
            self.seconds[record.stage] = self.seconds.get(record.stage, 0.0) + record.seconds


@contextmanager
def timed_stages() -> Any:
    """Stages of fits within the context, and their whole time as "fit"."""
    logger, stages = logging.getLogger("skmde"), Stages()
    level = logger.level
    logger.addHandler(stages)
    logger.setLevel(logging.INFO)
    began = time.perf_counter()
    try:
        yield stages.seconds
    finally:
        stages.seconds["fit"] = time.perf_counter() - began
        logger.removeHandler(stages)
        logger.setLevel(level)


def synchronize(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


def memory(device: str) -> dict[str, float]:
    """Peaks since the last call: of the device, and of the process."""
    import torch
    from _programs import peak_memory_mb

    found = {"host_mb": peak_memory_mb()}
    if device.startswith("cuda"):
        found["device_mb"] = torch.cuda.max_memory_allocated() / 2**20
        torch.cuda.reset_peak_memory_stats()
    return found


def imports(args: Any, sizes: Sizes) -> dict[str, Any]:
    """Each import after those before it, and the modules that take longest by themselves."""
    env = common.environment(args.threads)
    lines = ["import time, json", "t, out = time.perf_counter(), {}"]
    for name in IMPORTS:
        what = "from skmde import PreserveNeighbors" if name == "skmde" else f"import {name}"
        lines += [what, f"out[{name!r}] = time.perf_counter() - t", "t = time.perf_counter()"]
    code = "\n".join([*lines, "print(json.dumps(out))"])
    runs = []
    for _ in range(1 if args.small else 2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
        show_partly({"first_run_s": runs[0]})
    best = {name: min(run[name] for run in runs) for name in IMPORTS}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from skmde import PreserveNeighbors"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    own: dict[str, float] = {}
    for line in done.stderr.splitlines():
        if line.startswith("import time:") and "[us]" not in line:
            alone, _, name = line.removeprefix("import time:").split("|")
            own[name.strip()] = int(alone) / 1e6
    longest = sorted(own, key=own.__getitem__, reverse=True)[:15]
    packages: dict[str, float] = {}
    for name, seconds in own.items():
        packages[name.split(".")[0]] = packages.get(name.split(".")[0], 0.0) + seconds
    largest = sorted(packages, key=packages.__getitem__, reverse=True)[:8]
    return {
        "first_run_s": runs[0],
        "best_s": best,
        "total_s": sum(best.values()),
        "longest_modules_s": {name: own[name] for name in longest},
        "packages_s": {name: packages[name] for name in largest},
    }


def tests(args: Any, sizes: Sizes) -> dict[str, Any]:
    """The tests that need a GPU, slow ones too."""
    command = [sys.executable, "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider"]
    command += ["-m", "slow or not slow", "--durations=5", "tests/test_cuda.py"]
    child = subprocess.Popen(
        command,
        cwd=common.ROOT,
        env=common.environment(args.threads),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    found: dict[str, Any] = {"passed": 0, "skipped": 0, "failed": []}
    last, slowest = "", []
    for line in child.stdout:
        last = line.strip() or last
        for outcome in ("passed", "skipped"):
            found[outcome] += f" {outcome.upper()}" in line
        if line.startswith("tests/") and (" FAILED" in line or " ERROR" in line):
            found["failed"].append(line.split()[0])
        if line.startswith("E  ") and len(found["failed"]) <= 20:
            found.setdefault("errors", []).append(line.strip()[:200])
        if " call " in line:
            slowest.append(line.strip())
        if line.startswith("tests/"):
            show_partly(found)
    return {**found, "exit_status": child.wait(), "summary": last, "slowest": slowest}


def neighbors(args: Any, sizes: Sizes) -> dict[str, Any]:
    """Seconds of each source of candidates, twice, and whether the neighbours are the same."""
    from unittest.mock import patch

    import torch

    from skmde.preprocessing.neighbors.backends import torch as backend
    from skmde.preprocessing.neighbors.backends.candidates.cuvs import import_cuvs

    library = import_cuvs(torch.device(args.device))
    libraries = {"products": None} | ({"cuvs": library} if library else {})
    found: dict[str, Any] = {}
    for X, data in (sizes.images(), (sizes.points(), "mixture")):
        tables = []
        for name, chosen in libraries.items():
            seconds = []
            with patch.object(backend, "import_cuvs", lambda *_, chosen=chosen: chosen):
                for _ in range(2):
                    began = time.perf_counter()
                    table = backend.TorchSearch(X, args.device).search_training(15, None)
                    seconds.append(time.perf_counter() - began)
            tables.append(table)
            found[f"{data} {name}"] = {"cold_s": seconds[0], "warm_s": seconds[1]}
            show_partly(found)
        same = all(np.array_equal(tables[0][0], table[0]) for table in tables)
        found[f"{data} same_neighbors"] = same
    return found


def mnist(args: Any, sizes: Sizes) -> dict[str, Any]:
    """A map of images, twice, and once on the CPU with the same neighbours."""
    from skmde import PreserveNeighbors

    X, name = sizes.images()
    fits, maps = {}, []
    for run in ("cold", "warm"):
        with timed_stages() as seconds:
            model = PreserveNeighbors(device=args.device, random_state=0).fit(X)
        fits[run] = seconds
        maps.append(model.embedding_)
    found = {
        "data": name,
        "shape": list(X.shape),
        "cold_s": fits["cold"],
        "warm_s": fits["warm"],
        "same_bits": bool(np.array_equal(*maps)),
        "distortion": model.distortion_,
        "iterations": model.n_iter_,
        **memory(args.device),
    }
    show_partly(found)
    with timed_stages() as seconds:
        cpu = PreserveNeighbors(neighbors_algorithm="torch", random_state=0).fit(X)
    found["cpu_s"], found["cpu_distortion"] = seconds, cpu.distortion_
    found["distortion_difference"] = abs(model.distortion_ / cpu.distortion_ - 1)
    return found


def mixture(args: Any, sizes: Sizes) -> dict[str, Any]:
    """A map of a mixture of Gaussians."""
    from skmde import PreserveNeighbors

    X = sizes.points()
    with timed_stages() as seconds:
        model = PreserveNeighbors(device=args.device, random_state=0).fit(X)
    return {
        "shape": list(X.shape),
        "seconds": seconds,
        "distortion": model.distortion_,
        "iterations": model.n_iter_,
        **memory(args.device),
    }


def problems(sizes: Sizes) -> dict[str, tuple[Any, ...]]:
    """Functions and constraints of the solves."""
    from skmde import Anchored

    n = sizes.counts["items"]
    rng = np.random.default_rng(1)
    anchors = np.sort(rng.choice(n, n // 10, replace=False))
    anchored = Anchored(anchors, rng.normal(size=(len(anchors), 2)))
    both = ("log1p", "log")
    return {
        "quadratic standardized": ("quadratic", "standardized"),
        "log1p/log centered": (both, "centered"),
        "log1p/log anchored": (both, anchored),
        "log1p/log standardized": (both, "standardized"),
    }


def solves(args: Any, sizes: Sizes) -> dict[str, Any]:
    """Iterations of many pairs."""
    import torch

    from skmde import MDE

    n = sizes.counts["items"]
    pairs, signs = sizes.edges()
    start = np.random.default_rng(2).normal(size=(n, 2)).astype(np.float32)
    found: dict[str, Any] = {}
    for name, (functions, constraint) in problems(sizes).items():
        weights = None if functions == "quadratic" else signs
        began = time.perf_counter()
        mde = MDE(n, 2, pairs, functions, constraint, weights=weights, device=args.device)
        synchronize(args.device)
        built = time.perf_counter() - began
        count = ITERATIONS["quadratic" if weights is None else "log1p"]
        runs = []
        for _ in range(2):  # the first one compiles
            solution = mde.embed(start, max_iter=count, tol=0)
            runs.append(solution.clone())
        result = mde.result
        seconds = result.history.seconds
        few = min(5, len(seconds) - 1)
        found[name] = facts = {
            "pairs": len(pairs),
            "build_s": built,
            "ms_iteration": 1e3 * (seconds[-1] - seconds[few]) / max(len(seconds) - 1 - few, 1),
            "evaluations_iteration": result.n_evaluations / max(result.n_iter, 1),
            "iterations": result.n_iter,
            "value": result.value,
            "same_bits": torch.equal(*runs),
            "copies_iteration": copies(mde, start, args.device),
            **memory(args.device),
        }
        cpu = MDE(n, 2, pairs, functions, constraint, weights=weights)
        value = cpu.average_distortion(solution.cpu())
        facts["value_difference"] = abs(result.value / value - 1)
        if weights is None:
            began = time.perf_counter()
            cpu.embed(start, max_iter=count, tol=0)
            facts["cpu_s"], facts["cpu_value"] = time.perf_counter() - began, cpu.value
            facts["cpu_difference"] = abs(result.value / cpu.value - 1)
        else:
            facts["ms_evaluation"] = evaluations(mde, solution, args.device)
        show_partly(found)
    return found


def copies(mde: Any, start: np.ndarray, device: str) -> float | None:
    """Copies from the device to the host for each evaluation, as the profiler sees them."""
    if not device.startswith("cuda"):
        return None
    from torch.profiler import ProfilerActivity, profile

    counts = []
    for iterations in (5, 15):
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            mde.embed(start, max_iter=iterations, tol=0)
        names = [event.name for event in profiler.events()]
        counts.append((sum("DtoH" in name for name in names), mde.result.n_evaluations))
    (few, early), (many, late) = counts
    return (many - few) / max(late - early, 1)


def evaluations(mde: Any, X: Any, device: str) -> dict[str, float]:
    """Milliseconds of the pairs' values and gradients, by the chosen backend and by torch alone."""
    from skmde.core.kernels.backend import TorchBackend, choose_backend

    found = {}
    for backend in (choose_backend(X.device, mde._backend.n_threads), TorchBackend(X.device)):
        term = mde._pair_term(mde._edges, X.dtype, backend)
        for _ in range(2):
            term.value_and_gradient(X)
        synchronize(device)
        began, repeats = time.perf_counter(), 10
        for _ in range(repeats):
            term.value_and_gradient(X)
        synchronize(device)
        found[type(backend).__name__] = 1e3 * (time.perf_counter() - began) / repeats
    return found


def pymde(args: Any, sizes: Sizes) -> dict[str, Any]:
    """PyMDE on the same problems."""
    if not args.pymde:
        return {"skipped": "--pymde is not given"}
    try:
        import pymde as peer
        import torch
    except Exception as error:
        return {"skipped": f"{type(error).__name__}: {error}"}
    pairs, _ = sizes.edges()
    edges = torch.from_numpy(pairs.astype(np.int64)).to(args.device)
    problem = peer.MDE(
        sizes.counts["items"],
        2,
        edges,
        peer.penalties.Quadratic(torch.ones(len(edges), device=args.device)),
        peer.Standardized(),
        device=args.device,
    )
    start = peer.Standardized().initialization(sizes.counts["items"], 2, args.device)
    found = {}
    for _ in range(2):
        synchronize(args.device)
        began = time.perf_counter()
        problem.embed(start, max_iter=ITERATIONS["quadratic"], eps=0.0)
        synchronize(args.device)
        found["quadratic_ms_iteration"] = (
            1e3 * (time.perf_counter() - began) / ITERATIONS["quadratic"]
        )
    found["quadratic_value"] = float(problem.value)
    show_partly(found)
    X, _ = sizes.images()
    began = time.perf_counter()
    peer.preserve_neighbors(X, device=args.device).embed()
    found["mnist_s"] = time.perf_counter() - began
    return found


PARTS: dict[str, Callable[[Any, Sizes], dict[str, Any]]] = {
    "imports": imports,
    "tests": tests,
    "neighbors": neighbors,
    "mnist": mnist,
    "mixture": mixture,
    "solves": solves,
    "pymde": pymde,
}


def show_partly(found: dict[str, Any]) -> None:
    """Print what is known so far: the last line is read if the process is ended."""
    print(json.dumps(found), flush=True)


def run_part(name: str, args: Any) -> dict[str, Any]:
    """A part in a process of its own, within its time."""
    command = [sys.executable, __file__, "--part", name, "--device", args.device]
    command += ["--threads", str(args.threads)] + ["--small"] * args.small
    command += ["--pymde"] * args.pymde
    if args.data is not None:
        command += ["--data", str(args.data.resolve())]
    began, over = time.perf_counter(), False
    with (
        common.scratch() as folder,
        open(folder / "out", "w+") as out,
        open(folder / "err", "w+") as err,
    ):
        child = subprocess.Popen(
            command,
            env=common.environment(args.threads),
            stdout=out,
            stderr=err,
            cwd=common.ROOT,
            start_new_session=True,  # the processes that the part starts end with it
        )
        try:
            child.wait(BUDGETS[name])
        except subprocess.TimeoutExpired:
            over = True
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith("{")]
        last = (err.read().strip().splitlines() or ["no message"])[-1]
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    found["wall_s"] = time.perf_counter() - began
    if over:
        found["ended"] = f"after {BUDGETS[name]} s"
    elif child.returncode != 0:
        found["error"] = last
    return found


def report(name: str, found: dict[str, Any]) -> None:
    """Print the figures of a part, one a line."""
    rows: list[list[Any]] = []

    def add(prefix: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            label = f"{prefix} {key}".strip()
            if isinstance(value, dict):
                add(label, value)
            else:
                rows.append([label, value])

    add("", found)
    common.show(rows, [name, "value"])


def device_facts(device: str) -> dict[str, Any]:
    """The device and what serves it; in a process of its own, which leaves the device free."""
    code = (
        "import json, torch, importlib.util as u; c = torch.cuda.is_available();"
        "print(json.dumps({'torch': torch.__version__, 'cuda': torch.version.cuda,"
        "'gpu': torch.cuda.get_device_name() if c else None,"
        "'triton': u.find_spec('triton') is not None}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {"device": device, **json.loads(done.stdout.strip().splitlines()[-1])}


def main() -> None:
    args = arguments()
    sys.path.insert(0, os.fspath(common.HERE))
    if args.part is not None:
        show_partly(PARTS[args.part](args, Sizes(args)))
        return
    results: dict[str, Any] = {"small": args.small, "threads": args.threads}
    results |= device_facts(args.device)
    for name in args.parts:
        if args.one_process:
            found = PARTS[name](args, Sizes(args))
        else:
            found = run_part(name, args)
        report(name, found)
        results[name] = found
        common.save(args.output, results)  # what is known is kept if a later part fails


if __name__ == "__main__":
    main()
