"""Runs the tests with other versions than those of constraints.txt.

``nox -s lowest`` (or ``make test-lowest``) installs the lowest versions that pyproject.toml allows,
``nox -s newest`` the newest ones that exist. Arguments after ``--`` go to pytest.
"""

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lowest"]

# Linters and type checkers are left out: what they find does not depend on the installed versions.
RUN_TESTS = ["hypothesis", "mpmath", "numpydoc", "pytest", "pytest-xdist", "pyyaml"]
USE_SKMDE = ["pandas", "polars", "skops"]


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    pins = ["--constraint", "constraints-lowest.txt"]
    session.install("--editable", ".[all]", *RUN_TESTS, *USE_SKMDE, *pins)
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests with the newest versions, on the Python that runs nox."""
    session.install("--upgrade", "--editable", ".[all]", *RUN_TESTS, *USE_SKMDE)
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *session.posargs)
