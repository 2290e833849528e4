"""Builds the committed state as it would be released, and checks what comes out.

    python tests/release/check.py [--keep FOLDER]

`make release-check` runs it in an environment with the tools of requirements.txt. Nothing is
written into the checkout, and nothing is uploaded.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What setuptools adds to the sdist.
MADE = {"PKG-INFO", "setup.cfg"}
# What a user of the sdist has no use for: settings of git and of services.
LEFT_OUT = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Print a command, run it, and return what it printed; stop if it fails."""
    print("$", " ".join(map(str, command)), flush=True)
    result = subprocess.run(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if result.returncode:
        raise SystemExit(f"{result.stdout}\nThe command failed with status {result.returncode}.")
    return result.stdout


def tool(name: str, *arguments: str | Path) -> None:
    """Run a program of this environment and print its last lines."""
    printed = run(Path(sys.executable).with_name(name), *arguments).strip()
    print("  " + "\n  ".join(printed.splitlines()[-3:]), flush=True)


def export(folder: Path) -> set[str]:
    """Write the files of the last commit into a folder and return their names."""
    if run("git", "status", "--porcelain"):
        print("  Uncommitted changes are not part of what is checked.")
    archive = folder.with_suffix(".tar")
    run("git", "archive", "--output", archive, "HEAD")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return set(run("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines())


def build(source: Path, folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder, source)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    for path in (sdist, wheel):
        print(f"  {path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return sdist, wheel


def compare(what: str, found: set[str], expected: set[str]) -> None:
    """Stop if files are missing or were added."""
    problems = [f"  missing: {name}" for name in sorted(expected - found)]
    problems += [f"  not in git: {name}" for name in sorted(found - expected)]
    if problems:
        raise SystemExit("\n".join([f"The {what} differs from git.", *problems]))
    print(f"  The {what} has the {len(expected)} files that it should have, and no other.")


def check_contents(sdist: Path, wheel: Path, committed: set[str]) -> None:
    """Compare both archives with git."""
    with tarfile.open(sdist) as files:
        names = {
            name.partition("/")[2] for name in files.getnames() if files.getmember(name).isfile()
        }
    names = {name for name in names if ".egg-info/" not in name}
    compare("sdist", names - MADE, {name for name in committed if not name.startswith(LEFT_OUT)})

    with zipfile.ZipFile(wheel) as files:
        licences = {name.partition(".dist-info/licenses/")[2] for name in files.namelist()}
        names = {name for name in files.namelist() if ".dist-info/" not in name}
    names |= {name for name in licences if name.startswith("skmde/")}
    compare("wheel", names, {name for name in committed if name.startswith("skmde/")})


def install_and_use(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment and use it there."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)
    smoke = folder / "smoke.py"
    smoke.write_bytes((ROOT / "tests/release/smoke.py").read_bytes())
    # -I: neither the folder nor PYTHONPATH is searched for skmde.
    subprocess.run([python, "-I", smoke], cwd=folder, check=True)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="folder for the sdist and the wheel")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        committed = export(folder / "source")
        sdist, wheel = build(folder / "source", folder / "dist")
        tool("twine", "check", "--strict", sdist, wheel)
        tool("check-wheel-contents", wheel)
        tool("cffconvert", "--validate", "--infile", ROOT / "CITATION.cff")
        check_contents(sdist, wheel, committed)
        install_and_use(wheel, folder)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel):
                path.rename(keep / path.name)
    print("The release is as it should be.")


if __name__ == "__main__":
    main()
