"""What is supported, and how it is tested: `nox --list`, `nox -s unit` for all of it, `nox -s "unit(2.22, 3.13)"` for one.

CI runs none of these: `make test` runs the same lint, sanity and unit tests with the versions of requirements.txt.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox

# nox takes a Python from the PATH, where pyenv's shims have those of one version only.
os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *map(str, sorted(Path.home().glob(".pyenv/versions/*/bin")))])

# ansible-core, by the `ansible` package that has it, and the Pythons that run it; tests/contract/test_supported.py compares this with the documentation.
ANSIBLE = {"2.20": "13.8.0", "2.21": "14.5.0", "2.22": "15.0.0a3"}
MATRIX = [("2.20", "3.12"), ("2.20", "3.13"), ("2.21", "3.12"), ("2.21", "3.13"), ("2.22", "3.13")]
PREFERRED = "2.21"  # what requirements.txt has
# What `make nightly` runs: each of them once.
NIGHTLY = [("2.20", "3.12"), ("2.21", "3.12"), ("2.22", "3.13")]

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["lint", "unit", "sanity"]


def install(session: nox.Session, core: str) -> None:
    """The pinned requirements, with another ansible-core."""
    pinned = Path("requirements.txt").read_text(encoding="utf-8").splitlines()
    others = [line for line in pinned if line and not line.startswith(("#", "ansible==", "ansible-core=="))]
    session.install("--no-compile", f"ansible=={ANSIBLE[core]}", *others)


def python_of(pairs: list[tuple[str, str]]) -> list[object]:
    """nox's parameters for pairs of ansible-core and Python."""
    return [nox.param(python, core, id=f"{core}, {python}", tags=["nightly"] if (core, python) in NIGHTLY else []) for core, python in pairs]


@nox.session
def lint(session: nox.Session) -> None:
    """Style, with the pinned versions."""
    install(session, PREFERRED)
    session.run("make", "lint", external=True)


@nox.session
@nox.parametrize("python,core", python_of(MATRIX))
def unit(session: nox.Session, core: str) -> None:
    """Unit and contract tests, but those that measure time."""
    install(session, core)
    session.run("pytest", "-m", "not timing", "--numprocesses", "auto", "--dist", "worksteal", *session.posargs)


@nox.session
@nox.parametrize("python,core", python_of(MATRIX))
def sanity(session: nox.Session, core: str) -> None:
    """ansible-test sanity."""
    install(session, core)
    session.run("tests/run-sanity", *session.posargs, external=True)
