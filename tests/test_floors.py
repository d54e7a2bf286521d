"""Dependencies run one way, and start-up pays for nothing it does not use (design, dependency floors; spec 80, Speed)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import msd_host
from tests.cli import environment
from tests.planted import World, gate

PACKAGE = Path(msd_host.__file__ or "").parent


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(p): p for p in sorted(PACKAGE.rglob("*.py")) if p.name != "_registry.py"}


def imports(name: str, *, late: bool = True) -> Iterator[str]:
    """Absolute names of what a module imports; late ones (inside functions) too unless told otherwise."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in _statements(tree, late=late):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield full if full in FILES else source


def _statements(tree: ast.AST, *, late: bool) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        elif late or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _statements(node, late=late)


def within(name: str, *packages: str) -> bool:
    return any(name == p or name.startswith(p + ".") for p in packages)


def test_the_walk_sees_the_house() -> None:
    assert len(FILES) > 60
    assert "msd_host.rules.claims" in set(imports("msd_host.stages.collision"))
    assert "msd_host.check" in set(imports("msd_host.host")) and "msd_host.check" not in set(
        imports("msd_host.host", late=False)
    )


@pytest.mark.parametrize("name", [n for n in FILES if within(n, "msd_host.model")])
def test_values_know_no_files_no_plugins_and_no_decoder(name: str) -> None:
    for used in imports(name):
        assert not within(used, "os", "io", "pathlib", "pluggy", "cattrs", "packaging", "subprocess")
        assert within(used, "msd_host.model") or not within(used, "msd_host")


@pytest.mark.parametrize("name", [n for n in FILES if within(n, "msd_host.rules", "msd_host.stages", "msd_host.sieve")])
def test_rules_and_stages_are_pure_but_for_the_one_that_reads(name: str) -> None:
    if name == "msd_host.stages.discover":
        return
    for used in imports(name):
        assert not within(used, "io", "pathlib", "subprocess", "cattrs", "msd_host.reading", "msd_host.trust")
        if within(name, "msd_host.stages") and used != "msd_host.stages.marker":
            assert not within(used, "msd_host.stages")
        if used == "os":
            source = FILES[name].read_text()
            assert "os.path" in source and "os." not in source.replace("os.path", "")


def test_one_decoder_and_one_holder_of_managers() -> None:
    users = {n for n in FILES if any(within(u, "cattrs") for u in imports(n))}
    assert users and all(within(u, "msd_host.reading") for u in users), users
    managers = {n for n in FILES if "PluginManager" in FILES[n].read_text()}
    assert managers <= {"msd_host.pipeline", "msd_host.extending.manager", "msd_host.extending.admission"}


def test_files_are_opened_in_few_rooms_only() -> None:
    rooms = (
        "msd_host.reading",
        "msd_host.trust",
        "msd_host.lifecycle",
        "msd_host.registry",
        "msd_host.activation",
        "msd_host.cli",
        "msd_host.memo",
        "msd_host.report",
        "msd_host.testing",
    )
    for name, path in FILES.items():
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        opens = [c for c in calls if ast.unparse(c.func) in ("open", "os.open", "io.open")]
        assert not opens or within(name, *rooms), name


def test_no_module_level_cycle() -> None:
    graph = {n: {u for u in imports(n, late=False) if u in FILES and u != n} for n in FILES}
    done: set[str] = set()
    while True:
        free = {n for n in graph if n not in done and graph[n] <= done}
        if not free:
            break
        done |= free
    assert set(graph) == done, sorted(set(graph) - done)


def test_the_contract_imports_nothing_of_the_engine_at_run_time() -> None:
    script = "import msd_hookspecs.stages, sys; print([m for m in sys.modules if m.startswith('msd_host')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(Path("/")))
    assert done.stdout.strip() == "[]"


HEAVY = ("attr", "attrs", "cattrs", "pluggy", "packaging", "importlib.metadata", "importlib_metadata")


def loaded(world: World, *words: str) -> set[str]:
    """The modules a verb has loaded when it ends."""
    script = (
        "import sys\nfrom msd_host.__main__ import main\ncode = main(sys.argv[1:])\n"
        "sys.stderr.write('\\nMODULES ' + ' '.join(sys.modules))\nsys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=world.project,
        env=environment(world.home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("words", [("--version",), ("--help",)], ids=" ".join)
def test_version_and_help_load_no_engine_at_all(tmp_path: Path, words: tuple[str, ...]) -> None:
    modules = loaded(World(tmp_path), *words)
    assert not {m for m in modules if within(m, *HEAVY, "argparse", "json", "re", "typing", "inspect")}
    ours = {m for m in modules if m.startswith("msd_host")}
    assert ours <= {
        "msd_host",
        "msd_host.__main__",
        "msd_host.version",
        "msd_host.cli",
        "msd_host.cli.streams",
        "msd_host.cli.words",
    }


def test_a_load_without_overlays_imports_no_decoder_and_no_metadata(tmp_path: Path) -> None:
    world = World(tmp_path)
    for words in (("loop", "render-hooks", "plan:pre"), ("capability", "list"), ("capability", "trust", "status")):
        modules = loaded(world, *words)
        assert not {m for m in modules if within(m, "cattrs", "packaging", "importlib.metadata", "importlib_metadata")}


def test_an_unconsented_overlay_is_not_worth_the_decoder(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add_project("acme", gates=[gate("plan:pre")])
    modules = loaded(world, "loop", "render-hooks", "plan:pre")
    assert not {m for m in modules if within(m, "cattrs")}


def test_a_wrong_word_loads_no_registry(tmp_path: Path) -> None:
    world = World(tmp_path)
    script = (
        "import sys\nfrom msd_host.__main__ import main\nmain(['capabilty', 'list'])\n"
        "assert 'msd_host.first_party._registry' not in sys.modules and 'cattrs' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=world.project, env=environment(world.home), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_bare_import_loads_no_engine(tmp_path: Path) -> None:
    script = "import sys, msd_host; print(sorted(m for m in sys.modules if m.startswith(('msd_host', 'attr'))))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path))
    assert done.stdout.strip() == "['msd_host', 'msd_host.version']"
