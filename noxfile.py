"""The matrix and the maintainers' sessions: `nox -l` lists them.

An interpreter that is not there is skipped with a word. Interpreters installed side by side below
`~/.pyenv/versions` are found without being on PATH.
"""

from __future__ import annotations

import glob
import os
import pathlib
import re
import shutil
import sys
import tempfile

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "typing", "tests", "wheel"]

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
#: Every interpreter meets the newest pluggy; the older ones are met once each, and so are the lowest dependencies.
MATRIX = [(python, "newest") for python in PYTHONS] + [("3.12", "1.6"), ("3.11", "1.5"), ("3.10", "lowest")]
LOWEST = [
    "filelock==3.12.0",
    "pluggy==1.5.0",
    "attrs==23.1.0",
    "cattrs==24.1.0",
    "packaging==22.0",
    "importlib-metadata==6.0.0",
]
QUICK = ["-q", "-m", "not slow"]


def _beside_path() -> None:
    """Make interpreters that lie side by side reachable by their version."""
    folders = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin")))
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), *folders])


_beside_path()


@nox.session
@nox.parametrize("python,dependencies", MATRIX, ids=[f"{p}-{d}" for p, d in MATRIX])
def tests(session: nox.Session, dependencies: str) -> None:
    """The suite on one interpreter and one set of dependencies."""
    session.install("pytest>=8", "hypothesis>=6.100", "pytest-xdist>=3.6", "jsonschema>=4.20")
    pins = LOWEST if dependencies == "lowest" else [f"pluggy~={dependencies}.0"] if dependencies != "newest" else []
    session.install("-e", ".", *pins)
    session.run("python", "-m", "pytest", "-n", "auto", *QUICK, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.install("ruff>=0.9")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def typing(session: nox.Session) -> None:
    """mypy --strict and pyright over both packages."""
    session.install("-e", ".", "mypy>=1.14", "pyright>=1.1.390")
    session.run("mypy")
    session.run("pyright")


@nox.session
def laws(session: nox.Session) -> None:
    """The property tests alone, with many more examples."""
    session.install("-e", ".", "pytest>=8", "hypothesis>=6.100", "pytest-xdist>=3.6")
    session.run("python", "-m", "pytest", "-n", "auto", "-q", "tests/laws", env={"HYPOTHESIS_PROFILE": "thorough"})


@nox.session
def coverage(session: nox.Session) -> None:
    """Branch coverage of the suite."""
    session.install("-e", ".", "pytest>=8", "hypothesis>=6.100", "coverage[toml]>=7.5")
    session.run("coverage", "run", "-m", "pytest", "-q")
    session.run("coverage", "combine", success_codes=[0, 1])
    session.run("coverage", "report")


@nox.session
def bench(session: nox.Session) -> None:
    """Ratios measured in one run, as a table and as JSON."""
    session.install(".")
    session.run("python", "benchmarks/bench.py", "--json", "bench.json", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, look inside, install it, and run the suite against it with the sources out of reach."""
    session.install("build", "pytest>=8", "hypothesis>=6.100", "pytest-xdist>=3.6", "jsonschema>=4.20")
    # Outside the checkout: below it every temporary folder of a test would lie in a project, this one.
    with tempfile.TemporaryDirectory(prefix="msd-wheel-") as out:
        session.run("python", "-m", "build", "--wheel", "--outdir", os.path.join(out, "dist"), silent=True)
        session.install(*glob.glob(os.path.join(out, "dist", "*.whl")))
        suite = os.path.join(out, "suite")
        shutil.copytree("tests", os.path.join(suite, "tests"))
        shutil.copy("pyproject.toml", suite)
        shared = os.environ.get("MSD_SHARED", os.path.abspath(os.path.join("..", "shared")))
        session.chdir(suite)
        session.run("python", "-m", "pytest", "-n", "auto", *QUICK, env={"MSD_SHARED": shared})
        session.chdir(session.invoked_from)


EXAMPLES = ["hello-capability", "acme-quality", "msd-policy", "msd-audit-log", "msd-opentelemetry", "msd-impostor"]


@nox.session
@nox.parametrize("example", EXAMPLES, ids=EXAMPLES)
def examples(session: nox.Session, example: str) -> None:
    """Each example built, installed and tested in an environment of its own, against the host's wheel."""
    folder = os.path.join("example_plugins", example)
    session.install("pytest>=8", ".")
    if os.path.exists(os.path.join(folder, "pyproject.toml")):
        groups = ["--group", f"{folder}/pyproject.toml:test"] if example == "msd-opentelemetry" else []
        session.install("pip>=25.1")
        session.install(f"./{folder}", *groups)
    session.chdir(folder)
    session.run("python", "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "tests")


@nox.session
def recipe(session: nox.Session) -> None:
    """The author's recipe at work: msd-policy against this host and against one that calls itself the next version."""
    session.install("build", "nox")
    with tempfile.TemporaryDirectory(prefix="msd-recipe-") as out:
        wheels = [_wheel_of(session, os.path.join(out, version), version) for version in ("1.0.0", "1.1.0")]
        plugin = os.path.join(out, "msd-policy")
        shutil.copytree(os.path.join("example_plugins", "msd-policy"), plugin)
        session.chdir(plugin)
        hosts = ",".join(wheels)
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        session.run("nox", "--python", here, *session.posargs, env={"MSD_HOSTS": hosts}, silent=False)
        session.chdir(session.invoked_from)


def _wheel_of(session: nox.Session, folder: str, version: str) -> str:
    """This tree as a wheel that calls itself *version*."""
    tree = os.path.join(folder, "tree")
    shutil.copytree(".", tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "dist", "bench.json"))
    path = pathlib.Path(tree, "msd_host", "version.py")
    path.write_text(re.sub(r'__version__ = "[^"]+"', f'__version__ = "{version}"', path.read_text()))
    dist = os.path.join(folder, "dist")
    session.run("python", "-m", "build", "--wheel", "--outdir", dist, tree, silent=True)
    (wheel,) = glob.glob(os.path.join(dist, "*.whl"))
    return wheel


@nox.session
def demo(session: nox.Session) -> None:
    """What a newcomer sees first."""
    session.install(".")
    session.run("msd", "demo")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, its reference written anew; a warning is an error. Open docs/_build/index.html."""
    session.install("-e", ".", "sphinx>=8", "myst-parser>=4")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "docs", "docs/_build")
