"""The escalation matrix: which scope the global root gets, and whether the consent store is used (spec 10, Roots)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from msd_host import ConsentStoreError, Files, Host, Scope
from msd_host.reading.roots import find_roots, find_served
from tests.planted import World, bare_product, gate, manifest

PRODUCT = bare_product()


def roots_of(cwd: Path, home: Path | None, *, os_home: Path | None = None, files: Files | None = None):  # type: ignore[no-untyped-def]
    env = {"HOME": str(os_home or "/nonexistent-os-home")}
    return find_roots(files or Files(), PRODUCT, cwd=str(cwd), home=None if home is None else str(home), env=env)


def capabilities(folder: Path) -> Path:
    path = folder / ".msd" / "capabilities"
    path.mkdir(parents=True, exist_ok=True)
    return path


def project_at(path: Path) -> Path:
    (path / ".planning").mkdir(parents=True)
    return path


class Failing(Files):
    """A file system that cannot canonicalise one path."""

    def __init__(self, path: Path, code: int) -> None:
        self.path, self.code = str(path), code

    def realpath(self, path: str) -> str:
        if path == self.path or path.startswith(self.path + "/"):
            raise OSError(self.code, os.strerror(self.code))
        return super().realpath(path)


def test_without_a_served_project_the_home_is_global(tmp_path: Path) -> None:
    capabilities(tmp_path)
    found = roots_of(tmp_path, tmp_path)
    assert (found.global_scope, found.served, found.store_refusal) == (Scope.GLOBAL, None, None)


def test_the_ordinary_case_a_project_below_the_home(tmp_path: Path) -> None:
    project = project_at(tmp_path / "home" / "work" / "p")
    capabilities(tmp_path / "home")
    capabilities(project)
    found = roots_of(project / ".planning", tmp_path / "home")
    assert (found.global_scope, found.served_path, found.store_refusal) == (Scope.GLOBAL, str(project), None)


def test_a_dotfiles_repository_is_project_scope_and_grantable(tmp_path: Path) -> None:
    home = project_at(tmp_path / "home")
    capabilities(home)
    found = roots_of(home, None, os_home=home)
    assert (found.global_scope, found.one_folder, found.store_refusal) == (Scope.PROJECT, True, None)


@pytest.mark.parametrize("how", ["variable", "symlink"])
def test_a_home_that_is_the_project_by_other_means_only_takes_trust_for_one_run(tmp_path: Path, how: str) -> None:
    project = project_at(tmp_path / "p")
    capabilities(project)
    home = project
    if how == "symlink":
        home = tmp_path / "link"
        home.symlink_to(project)
    found = roots_of(project, home)
    assert found.global_scope is Scope.PROJECT
    assert found.store_refusal is not None


@pytest.mark.parametrize("with_folder", [True, False])
def test_a_home_below_the_project_is_project_scope_even_without_a_project_folder(
    tmp_path: Path, with_folder: bool
) -> None:
    project = project_at(tmp_path / "p")
    capabilities(project / "tools" / "home")
    if with_folder:
        capabilities(project)
    found = roots_of(project, project / "tools" / "home")
    assert found.global_scope is Scope.PROJECT
    assert found.store_refusal is not None


def test_only_the_capability_folder_may_be_linked_into_the_project(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    planted = project / "vendored"
    planted.mkdir()
    home = tmp_path / "home"
    (home / ".msd").mkdir(parents=True)
    (home / ".msd" / "capabilities").symlink_to(planted)
    found = roots_of(project, home)
    assert (found.global_scope, found.store_refusal) == (Scope.PROJECT, None)
    (home / ".msd" / "capabilities").unlink()
    (home / ".msd").rmdir()
    (home / ".msd").symlink_to(planted)
    assert roots_of(project, home).store_refusal is not None


@pytest.mark.parametrize("marker", [".git", ".planning"])
@pytest.mark.parametrize("served", [True, False])
def test_a_dot_folder_linked_into_any_project_keeps_no_decisions(tmp_path: Path, marker: str, served: bool) -> None:
    """Whoever pushes to that project could push decisions along; where the home itself lies is its owner's affair."""
    here = project_at(tmp_path / "p") if served else tmp_path
    home, kept = tmp_path / "home", tmp_path / "settings" / "deep" / "msd"
    home.mkdir()
    kept.mkdir(parents=True)
    (home / ".msd").symlink_to(kept)
    assert roots_of(here, home).store_refusal is None
    for folder in (tmp_path, home):
        (folder / marker).mkdir()
    if not served:
        here = Path("/")
    assert roots_of(here, home).store_refusal is None
    (tmp_path / "settings" / marker).mkdir()
    refusal = roots_of(here, home).store_refusal
    assert refusal is not None and str(tmp_path / "settings") in refusal


def test_a_project_folder_linked_to_the_home_is_scanned_once_as_project_scope_and_named(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    home = tmp_path / "home"
    capabilities(home)
    (project / ".msd").symlink_to(home / ".msd")
    found = roots_of(project, home)
    assert (found.global_scope, found.one_folder, found.store_refusal) == (Scope.PROJECT, True, None)
    assert str(project / ".msd") in found.notes[0]
    host = Host(PRODUCT, home=home)
    World.plant(World(tmp_path / "unused"), capabilities(home) / "acme", manifest("acme"))
    overlay = host.load(cwd=project).overlay
    assert overlay is not None
    assert [(s.id, s.code.value, s.scope) for s in overlay.warnings] == [("acme", "unconsented", Scope.PROJECT)]
    assert overlay.diagnostics[0].code == "linked-root"
    host.trust.grant(project, "acme")
    overlay = host.load(cwd=project).overlay
    assert overlay is not None and overlay.accepted == {"acme": Scope.PROJECT}


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ELOOP])
@pytest.mark.parametrize("where", ["home", "global", "project-root", "served"])
def test_what_cannot_be_proven_is_project_scope(tmp_path: Path, code: int, where: str) -> None:
    project = project_at(tmp_path / "p")
    home = tmp_path / "home"
    capabilities(home)
    capabilities(project)
    path = {
        "home": home,
        "global": home / ".msd" / "capabilities",
        "project-root": project / ".msd" / "capabilities",
        "served": project,
    }[where]
    found = roots_of(project, home, files=Failing(path, code))
    if where == "served":  # cwd itself is walked as it is spelled; its place stays unproven
        assert found.served_path == str(project)
    assert found.global_scope is Scope.PROJECT
    assert (found.store_refusal is not None) == (where in ("home", "served"))


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
def test_an_unprovable_home_stays_global_where_the_project_provably_has_no_overlays(tmp_path: Path, code: int) -> None:
    project = project_at(tmp_path / "p")
    home = tmp_path / "home"
    capabilities(home)
    found = roots_of(project, home, files=Failing(home / ".msd" / "capabilities", code))
    assert found.global_scope is Scope.GLOBAL


def test_a_home_that_does_not_exist_is_an_empty_scan_and_its_store_works_once_created(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    found = roots_of(project, tmp_path / "nowhere")
    assert (found.global_root.state, found.store_refusal) == ("absent", None)
    assert Host(PRODUCT, home=tmp_path / "nowhere").load(cwd=project).overlay is None


def test_a_home_that_would_be_created_inside_the_project_is_refused_before_it_exists(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    assert roots_of(project, project / "later" / "home").store_refusal is not None


def test_a_link_to_nowhere_is_not_taken_for_an_absent_home(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".msd").symlink_to(project / "later")
    assert roots_of(project, home).store_refusal is not None


def test_the_store_says_the_same_on_read_and_write(tmp_path: Path) -> None:
    project = project_at(tmp_path / "p")
    World.plant(World(tmp_path / "unused"), capabilities(project) / "acme", manifest("acme", gates=[gate()]))
    host = Host(PRODUCT, home=project / "home")
    refusal = host.trust.store_problem(project)
    with pytest.raises(ConsentStoreError) as caught:
        host.trust.grant(project, "acme")
    assert refusal is not None and caught.value.message == refusal
    assert not (project / "home").exists()
    hash_now = host.trust.show("acme", project).content_hash
    assert hash_now is not None
    overlay = host.load(cwd=project, trust={"acme": [hash_now]}).overlay
    assert overlay is not None and set(overlay.accepted) == {"acme"}


class TestServedProject:
    def served(self, cwd: Path, home: Path) -> str | None:
        return find_served(Files(), str(cwd), str(home), PRODUCT.project_markers)

    def test_the_nearest_marked_ancestor_itself_first(self, tmp_path: Path) -> None:
        outer = project_at(tmp_path / "outer")
        inner = project_at(outer / "sub" / "inner")
        deep = inner / "a" / "b"
        deep.mkdir(parents=True)
        assert self.served(deep, tmp_path) == str(inner)
        assert self.served(outer / "sub", tmp_path) == str(outer)

    @pytest.mark.parametrize("kind", ["folder", "file", "dangling"])
    def test_any_git_entry_marks_a_project(self, tmp_path: Path, kind: str) -> None:
        project = tmp_path / "p"
        project.mkdir()
        git = project / ".git"
        {
            "folder": git.mkdir,
            "file": lambda: git.write_text("gitdir: /somewhere/trusted\n"),
            "dangling": lambda: git.symlink_to(tmp_path / "gone"),
        }[kind]()
        assert self.served(project, tmp_path) == str(project)

    def test_planning_must_be_a_folder(self, tmp_path: Path) -> None:
        project = tmp_path / "p"
        project.mkdir()
        (project / ".planning").write_text("")
        assert self.served(project, tmp_path / "home") is None

    def test_the_users_home_counts_only_when_one_stands_in_it(self, tmp_path: Path) -> None:
        home = project_at(tmp_path / "home")
        (home / "work").mkdir()
        assert self.served(home / "work", home) is None
        assert self.served(home, home) == str(home)

    def test_a_folder_that_does_not_exist_is_walked_as_it_is_spelled(self, tmp_path: Path) -> None:
        project = project_at(tmp_path / "p")
        assert self.served(project / "not" / "there", tmp_path / "home") == str(project)

    def test_nothing_in_the_tree_or_in_gits_variables_moves_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trusted = World(tmp_path / "trusted")
        trusted.add_project("acme", gates=[gate()])
        trusted.grant("acme")
        other = project_at(tmp_path / "other")
        World.plant(trusted, capabilities(other) / "acme", manifest("acme", gates=[gate()]))
        (other / ".git").write_text(f"gitdir: {trusted.project}/.git\n")
        (other / ".env").write_text(f"MSD_HOME={trusted.home}\nMSD_TRUST=acme\n")
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"):
            monkeypatch.setenv(name, str(trusted.project))
        overlay = trusted.host.load(cwd=other).overlay
        assert overlay is not None
        assert [s.code.value for s in overlay.warnings] == ["unconsented"]

    def test_every_spelling_of_the_project_is_one_place(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        world.add_project("acme")
        world.grant("acme")
        (world.project / "src" / "deep").mkdir(parents=True)
        link = tmp_path / "link"
        link.symlink_to(world.project)
        for cwd in (world.project / "src" / "deep", link, link / "src"):
            overlay = world.host.load(cwd=cwd).overlay
            assert overlay is not None and set(overlay.accepted) == {"acme"}
