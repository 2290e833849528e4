"""The benchmark for GPUs runs on the CPU with small sizes, so that it runs where a GPU is lent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


def run(tmp_path, *options):
    output = tmp_path / "gpu.json"
    command = [sys.executable, SCRIPT, "--device", "cpu", "--small", "--output", output]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=900)
    return json.loads(output.read_text())


def check_solves(found):
    assert len(found) >= 4
    for name, facts in found.items():
        if name != "wall_s":
            assert facts["same_bits"], name
            assert facts["ms_iteration"] > 0
            assert facts["value_difference"] < 1e-5
    assert found["quadratic standardized"]["cpu_difference"] == 0


def test_solves(tmp_path):
    found = run(tmp_path, "--one-process", "--parts", "neighbors", "solves", "pymde")
    check_solves(found["solves"])
    assert found["neighbors"]["mixture same_neighbors"]
    assert found["pymde"] == {"skipped": "--pymde is not given"}


@pytest.mark.slow
def test_every_part(tmp_path):
    found = run(tmp_path, "--pymde")
    assert found["imports"]["total_s"] > 0
    assert found["tests"]["exit_status"] == 0
    assert found["mnist"]["same_bits"]
    assert found["mnist"]["distortion_difference"] < 1e-3
    assert found["mixture"]["seconds"]["fit"] > 0
    check_solves(found["solves"])
    assert all("error" not in found[part] for part in ("mnist", "mixture", "solves", "pymde"))
