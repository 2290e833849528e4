"""All 70,000 MNIST images in the plane: skmde and its peers, each in a fresh process.

    python benchmarks/mnist.py --data mnist70k.npz --peer-python PATH

Prints seconds by stage, peak memory and quality figures (``skmde.metrics.quality_report``), and
writes them to ``benchmarks/results/mnist.json``. ``wall`` is measured from outside, from the start
of the process to its end. The runs of one repeat follow each other before the next repeat begins,
so that a machine that slows down slows every program down.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

STAGES = ("interpreter", "imports", "load", "neighbors", "edges", "init", "solve", "fit")
QUALITY = ("knn_recall15", "knn_accuracy", "trustworthiness_5k", "triplet")
DEFAULT = ("skmde", "pymde", "umap", "pacmap", "opentsne")


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="mnist")
    common.add_data_option(p)
    p.add_argument(
        "--programs",
        nargs="+",
        choices=list(common.PROGRAMS),
        default=list(DEFAULT),
        help="sklearn-tsne takes many minutes on all rows: use it with --subset",
    )
    p.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each program")
    p.add_argument("--subset", type=int, metavar="N", help="only the first N rows")
    p.add_argument(
        "--faiss",
        action="store_true",
        default=True,
        help="let skmde use faiss where it is installed (the default)",
    )
    p.add_argument(
        "--no-faiss",
        dest="faiss",
        action="store_false",
        help="hide faiss from skmde",
    )
    p.add_argument(
        "--neighbors-algorithm",
        default="auto",
        metavar="NAME",
        help="skmde's parameter of that name; with pynndescent, the compilation that it does in "
        "each new process is also measured by itself",
    )
    p.add_argument(
        "--device",
        metavar="NAME",
        help="where skmde and PyMDE compute, such as cuda; the CPU if not given",
    )
    p.add_argument(
        "--cold",
        action="store_true",
        help="start skmde with an empty kernel cache, as in the first run after installing",
    )
    p.add_argument("--no-quality", action="store_true", help="only times and memory")
    args = p.parse_args()
    if args.output == p.get_default("output"):
        algorithm = "" if args.neighbors_algorithm == "auto" else f"_{args.neighbors_algorithm}"
        device = f"_{args.device}" if args.device else ""
        name = f"mnist{'' if args.faiss else '_no_faiss'}{algorithm}{device}.json"
        args.output = args.output.with_name(name)
    return args


def write_data(args: Any, folder: Path) -> dict[str, str]:
    """Lay the rows out as plain arrays, which every program loads in the same time."""
    X, labels, test = common.mnist(args.data)
    rows = slice(args.subset)
    paths = {}
    for name, array in (("data", X), ("labels", labels), ("test", test)):
        paths[name] = str(folder / f"{name}.npy")
        np.save(paths[name], array[rows])
    return paths


def run_all(
    programs: list[str], args: Any, paths: dict[str, str], folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """The reports of every run, by program."""
    runs: dict[str, list[dict[str, Any]]] = {program: [] for program in programs}
    for repeat in range(args.repeat):
        for program in programs:
            spec = {"data": paths["data"], "seed": repeat, "params": {}, "extras": repeat == 0}
            if args.device and program in ("skmde", "pymde"):
                spec["params"]["device"] = args.device
            env = {}
            if program == "skmde":
                spec["hide"] = [] if args.faiss else ["faiss"]
                spec["params"]["neighbors_algorithm"] = args.neighbors_algorithm
                if args.cold:
                    env["NUMBA_CACHE_DIR"] = str(folder / f"cache-{repeat}")
            report = common.run_child(
                program,
                spec,
                python=common.interpreter(program, args.peer_python),
                threads=args.threads,
                folder=folder,
                **env,
            )
            if report is not None:
                print(f"{program}: {report['wall']:.1f} s", flush=True)
                runs[program].append(report)
    return {program: reports for program, reports in runs.items() if reports}


_COMPILATION = """
import sys, time
import numpy as np
from skmde.preprocessing.neighbors.search import nearest_neighbors
X = np.load(sys.argv[1])[:5000].astype(np.float32)
seconds = []
for _ in range(2):
    began = time.perf_counter()
    nearest_neighbors(X, 15, algorithm="pynndescent", random_state=0)
    seconds.append(time.perf_counter() - began)
print(seconds[0] - seconds[1])
"""


def pynndescent_compilation(data: str, threads: int) -> float:
    """Seconds that the first search of a process takes longer than the second: importing and
    compiling pynndescent.
    """
    done = subprocess.run(
        [sys.executable, "-c", _COMPILATION, data],
        env=common.environment(threads),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def judge(
    runs: dict[str, list[dict[str, Any]]], paths: dict[str, str], folder: Path
) -> dict[str, Any]:
    """Quality of each program's first embedding."""
    spec = {
        **paths,
        "embeddings": {program: reports[0]["arrays"] for program, reports in runs.items()},
        "edges_of": [program for program in ("skmde", "pymde") if program in runs],
        "n_iter": 300,
    }
    path = folder / "quality.json"
    path.write_text(json.dumps(spec))
    done = subprocess.run(
        [sys.executable, str(common.HERE / "_quality.py"), str(path)],
        env=common.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the runs of one program."""
    stages = {
        stage: common.median([r["stages"].get(stage, 0.0) for r in reports])
        for stage in STAGES
        if any(stage in r["stages"] for r in reports)
    }
    return {
        "wall_s": common.median([r["wall"] for r in reports]),
        "walls_s": [r["wall"] for r in reports],
        "stages_s": stages,
        "peak_memory_mb": max(r["peak_memory_mb"] for r in reports),
        "iterations": reports[0].get("iterations"),
        "average_distortion": reports[0].get("average_distortion"),
    }


def report_times(results: dict[str, Any]) -> None:
    base = results.get("skmde", {}).get("wall_s")
    rows = [
        [
            name,
            r["wall_s"],
            r["wall_s"] / base if base else None,
            r["peak_memory_mb"],
            *(r["stages_s"].get(stage) for stage in STAGES),
        ]
        for name, r in results.items()
    ]
    common.show(rows, ["program", "wall s", "x skmde", "MB", *STAGES])


def report_quality(results: dict[str, Any], answer: dict[str, Any]) -> None:
    rows = [[name, *(r["quality"].get(q) for q in QUALITY)] for name, r in results.items()]
    common.show(rows, ["program", *QUALITY])
    distortion = answer["average_distortion"]
    if distortion:
        names = [name for name in distortion if name != "fresh"]
        rows = [[f"{o} edges", *(by[name] for name in names)] for o, by in distortion.items()]
        common.show(rows, ["average distortion on", *names])
    if "same_problem" in answer:
        print(f"skmde on pymde's own edges and start reaches {answer['same_problem']:.5f}\n")


def main() -> None:
    args = arguments()
    programs, versions = common.importable(args.programs, args.peer_python)
    if not programs:
        sys.exit("None of the programs can be imported.")
    with common.scratch() as folder:
        paths = write_data(args, folder)
        runs = run_all(programs, args, paths, folder)
        results = {program: summary(reports) for program, reports in runs.items()}
        print()
        report_times(results)
        record = {
            "threads": args.threads,
            "faiss": args.faiss,
            "cold": args.cold,
            "device": args.device,
        }
        record["neighbors_algorithm"] = args.neighbors_algorithm
        record.update(subset=args.subset, repeat=args.repeat, versions=versions)
        record["programs"] = results
        if args.neighbors_algorithm == "pynndescent":
            compilation = pynndescent_compilation(paths["data"], args.threads)
            record["pynndescent_compilation_s"] = compilation
            print(f"of which pynndescent's import and compilation: {compilation:.1f} s\n")
        if results and not args.no_quality:
            answer = judge(runs, paths, folder)
            for program, figures in answer["figures"].items():
                results[program]["quality"] = figures
            record["average_distortion_on_edges_of"] = answer["average_distortion"]
            record["skmde_on_pymdes_problem"] = answer.get("same_problem")
            report_quality(results, answer)
    common.save(args.output, record)


if __name__ == "__main__":
    main()
