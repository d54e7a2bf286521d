"""Another product on the same engine, and nothing in the engine that says MSD (spec 70)."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import msd_host
from msd_host import MSD, Host, MSDError, NotFound
from tests.cli import Done, environment
from tests.planted import World

HERE = Path(__file__).parents[1] / "examples" / "release_host"
pytestmark = pytest.mark.skipif(not HERE.is_dir(), reason="the example is beside the sources only")


@pytest.fixture(scope="module")
def relay() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_host", HERE / "release_host.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".relay-project").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path


def run(ground: Path, *words: str, **env: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-s", str(HERE / "release_host.py"), *words],
        cwd=ground / "project",
        env={**environment(ground / "home"), "RELAY_HOME": str(ground / "home"), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_it_is_under_a_hundred_lines() -> None:
    assert len((HERE / "release_host.py").read_text().splitlines()) < 100


def test_its_contract_and_set_are_its_own(relay: ModuleType) -> None:
    host = Host(relay.RELAY, discover_extensions=False)
    assert set(host.baseline.capabilities) == {"embargo", "reproducible", "signing"}
    assert relay.PIPELINE.points[0] == "build:pre" and "plan:pre" not in host.baseline.by_loop_point


def test_an_overlay_is_installed_and_rendered(ground: Path) -> None:
    done = run(ground, "capability", "install", str(HERE / "overlays" / "notify-team"), "--yes")
    assert done.out == "notify-team: installed 1.0.0 (global)\n"
    assert (ground / "home" / ".relay" / "capabilities" / "notify-team").is_dir()
    assert (ground / "home" / ".relay-capabilities.json").is_file()
    assert "Tell the team" in run(ground, "loop", "render-hooks", "publish:post", "--format", "md").out


def test_its_gates_decide(relay: ModuleType, ground: Path) -> None:
    assert relay.may_publish(ground / "project", ground / "home")
    (ground / "project" / "EMBARGO").touch()
    assert not relay.may_publish(ground / "project", ground / "home")
    assert run(ground, "loop", "check", "publish:pre").code == 10


VERBS = [
    "--version",
    "--help",
    "loop points",
    "loop render-hooks publish:post",
    "loop check publish:pre",
    "capability list",
    "capability state",
    "capability show signing",
    "capability explain inert",
    "capability explain nobody",
    "capability trust status",
    "capability trust show inert",
    "capability trust grant inert",
    "capability check .",
    "capability install ./nothing",
    "capability outdated",
    "capability remove nobody",
    "surface show",
    "surface apply --runtime x",
    "settings list",
    "settings set nothing true",
    "plugins list",
    "registry digest",
    "registry graph",
    "doctor",
    "completion bash",
    "x nothing",
    "nonsense",
]


@pytest.mark.parametrize("words", VERBS)
def test_no_verb_says_the_other_product_s_name(ground: Path, words: str) -> None:
    """The package's own name stands where it must: in the name of its distribution and modules."""
    bundle = ground / "project" / ".relay" / "capabilities" / "inert"
    World.plant(World.__new__(World), bundle, {"id": "inert", "engines": {"relay": ">=2"}})
    done = run(ground, *words.split())
    told = re.sub(
        r"msd[-_]ho(st|okspecs)\S*", "", (done.out + done.err).replace(str(Path(msd_host.__file__ or "").parent), "")
    )
    told = told.replace(sys.executable, "").replace(sys.prefix, "").replace(str(HERE), "")
    assert not re.search(r"\bmsd\b", told, re.IGNORECASE), told
    assert "Traceback" not in done.err


def test_nothing_in_the_engine_names_the_product() -> None:
    """Only the product's own module, its set, its front doors and the authors' kit may know what MSD is."""
    package = Path(msd_host.__file__ or "").parent
    may = ("msd.py", "api.py", "__init__.py", "__main__.py", "version.py")
    for path in package.rglob("*.py"):
        inner = path.relative_to(package)
        if inner.parts[0] in ("first_party", "testing") or str(inner) in may:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"""(['"])[^'"]*\bmsd\b(?![-_]h)[^'"]*\1""", line) and '"""' not in line and "#" not in line:
                raise AssertionError(f"{inner}:{number}: {line.strip()}")


class TestSideBySide:
    def test_two_products_in_one_process_and_many_threads(self, relay: ModuleType, tmp_path: Path) -> None:
        hosts = [Host(p, home=tmp_path / p.name, discover_extensions=False) for p in (MSD, relay.RELAY)] * 8
        with ThreadPoolExecutor(16) as pool:
            loaded = list(pool.map(lambda host: host.load(cwd=tmp_path), hosts))
        assert all(registry == host.baseline for registry, host in zip(loaded, hosts))
        assert set(loaded[0].capabilities) != set(loaded[1].capabilities)

    def test_one_host_is_shared_by_threads(self, tmp_path: Path) -> None:
        world = World(tmp_path, MSD)
        for number in range(20):
            world.add_global(f"c{number:02}")
        first = world.load()
        with ThreadPoolExecutor(8) as pool:
            assert all(r == first for r in pool.map(lambda _: world.load(), range(32)))

    def test_values_pickle(self, tmp_path: Path) -> None:
        world = World(tmp_path, MSD)
        world.add_global("acme")
        world.add_global("bad", role="wat")
        registry = world.load()
        assert pickle.loads(pickle.dumps(registry)) == registry
        with pytest.raises(NotFound) as caught:
            world.host.check(tmp_path / "nothing")
        again: Any = pickle.loads(pickle.dumps(caught.value))
        assert isinstance(again, MSDError) and (again.code, again.message) == ("not-found", caught.value.message)


def test_the_public_names_are_there_and_typed() -> None:
    assert (Path(msd_host.__file__ or "").parent / "py.typed").exists()
    assert all(getattr(msd_host, name) is not None for name in msd_host.__all__)
    assert set(msd_host.__all__) <= set(dir(msd_host))
