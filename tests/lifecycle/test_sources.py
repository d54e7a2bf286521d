"""Git, archives, wheels and npm packages as sources: what they give, and everything they must not (spec 30, Sources)."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from msd_host import Scope
from msd_host.errors import LifecycleError, UsageError
from msd_host.lifecycle.values import Request
from tests.cli import msd
from tests.lifecycle.ground import Bench
from tests.lifecycle.serving import (
    bundle_members,
    certificate_for,
    cut_off,
    endless,
    git,
    git_server,
    member,
    redirect,
    repository,
    served,
    slow,
    tar_of,
    zip_of,
)

HERE = Request(allow_insecure_loopback=True, seconds=30)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def code_of(bench: Bench, spec: str, request: Request = HERE) -> str:
    with pytest.raises((LifecycleError, UsageError)) as caught:
        bench.install(spec, request=request)
    assert bench.accepted() == set() and not bench.leftovers()
    assert "secret" not in caught.value.message
    return caught.value.code


def integrity(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


@needs_git
class TestGit:
    def repo(self, bench: Bench) -> Path:
        """Two releases on `main`, a branch, and what a repository could try to have run."""
        repo = repository(bench.root / "repo")
        for version in ("1.0.0", "1.1.0"):
            shutil.copytree(bench.source(version=version, text=version), repo, dirs_exist_ok=True)
            git("add", "-A", cwd=repo)
            git("commit", "-qm", version, cwd=repo)
            git("tag", f"v{version}", cwd=repo)
        git("branch", "next", cwd=repo)
        git("tag", "junk", cwd=repo)
        return repo

    @pytest.mark.parametrize(
        ("ref", "version"),
        [("", "1.1.0"), ("#tag:v1.0.0", "1.0.0"), ("#v1.0.0", "1.0.0"), ("#branch:next", "1.1.0"), ("#next", "1.1.0")],
    )
    def test_every_kind_of_ref_W19(self, bench: Bench, ref: str, version: str) -> None:
        repo = self.repo(bench)
        done = bench.install(f"git+file://{repo}{ref}", request=HERE)
        assert done.version == version
        commit = git("rev-parse", f"v{version}", cwd=repo)
        assert bench.ledger()["acme"]["resolved"]["commit"] == commit
        assert not (bench.folder_of("acme") / ".git").exists()  # W-20

    def test_a_commit_that_no_branch_begins_with_W19(self, bench: Bench) -> None:
        repo = self.repo(bench)
        git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=repo)
        commit = git("rev-parse", "v1.0.0", cwd=repo)
        assert bench.install(f"git+file://{repo}#sha:{commit}", request=HERE).version == "1.0.0"

    @pytest.mark.parametrize(
        ("ref", "code"),
        [
            ("#tag:nothing", "ref-not-found"),
            ("#sha:" + "0" * 40, "fetch-failed"),
            ("#--upload-pack=x", "usage"),
            ("#a b", "usage"),
        ],
    )
    def test_refs_that_lead_nowhere(self, bench: Bench, ref: str, code: str) -> None:
        assert code_of(bench, f"git+file://{self.repo(bench)}{ref}") == code

    def test_over_http_and_its_redirects(self, bench: Bench) -> None:
        self.repo(bench)
        with git_server(bench.root) as address:
            assert bench.install(f"git+{address}/repo/.git#tag:v1.0.0", request=HERE).version == "1.0.0"
        assert bench.ledger()["acme"]["source"].endswith("#tag:v1.0.0")

    def test_from_a_tag_into_a_project_through_the_command_line(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        repo = self.repo(bench)
        words = (
            "capability",
            "install",
            f"git+file://{repo}#tag:v1.0.0",
            "--scope",
            "project",
            "--allow-insecure-loopback",
        )
        plan = msd(bench, *words, "--dry-run", "--json").json()
        done = msd(bench, *words, "--yes", "--hash", plan["contentHash"])
        assert done.out == "acme: installed 1.0.0 (project)\n"
        (row,) = msd(bench, "capability", "outdated", "--json", "--allow-insecure-loopback").json()
        assert row["status"] == "pinned"

    def test_outdated_and_update_follow_the_tags_S34(self, bench: Bench) -> None:
        repo = self.repo(bench)
        git("checkout", "-q", "v1.0.0", cwd=repo)
        bench.install(f"git+file://{repo}", request=HERE)
        assert bench.ledger()["acme"]["version"] == "1.0.0"
        (row,) = bench.lifecycle.outdated(request=HERE)
        assert (row.latest, row.status) == ("1.1.0", "outdated")

    def test_nothing_of_a_repository_runs(self, bench: Bench) -> None:
        repo = self.repo(bench)
        trap = f"touch {bench.root}/ran"
        for name in ("post-checkout", "pre-commit", "post-merge"):
            (repo / ".git" / "hooks" / name).write_text(f"#!/bin/sh\n{trap}\n")
            (repo / ".git" / "hooks" / name).chmod(0o755)
        (repo / ".gitattributes").write_text("* filter=trap\n")
        (repo / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "{trap}"\n')
        git("config", "filter.trap.smudge", trap, cwd=repo)
        git("add", "-A", cwd=repo)
        git("commit", "-qm", "traps", "--no-verify", cwd=repo)
        (bench.root / "ran").unlink(missing_ok=True)
        bench.install(f"git+file://{repo}", request=HERE)
        assert not (bench.root / "ran").exists()

    def test_links_in_a_repository(self, bench: Bench) -> None:
        repo = self.repo(bench)
        (repo / "link").symlink_to("/etc/passwd")
        git("add", "-A", cwd=repo)
        git("commit", "-qm", "link", cwd=repo)
        assert code_of(bench, f"git+file://{repo}") == "bundle-refused"

    @pytest.mark.parametrize("how", ["insteadOf", "remote"])
    def test_what_is_fetched_is_what_was_named_and_judged(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        """The user's own configuration of git cannot send it past the policy, nor past what is recorded."""
        repo = self.repo(bench)
        other = bench.root / "other"
        shutil.copytree(repo, other)
        settings = bench.root / "owner" / ".gitconfig"
        settings.parent.mkdir()
        lines = {"insteadOf": f'[url "file://{other}"]\n\tinsteadOf', "remote": f'[remote "file://{repo}"]\n\turl'}
        settings.write_text(f"{lines[how]} = file://{repo if how == 'insteadOf' else other}\n")
        monkeypatch.setenv("HOME", str(settings.parent))
        assert code_of(bench, f"git+file://{repo}") == "address-refused"

    def test_pins_that_git_cannot_verify_S16(self, bench: Bench) -> None:
        request = Request(allow_insecure_loopback=True, integrity=integrity(b""))
        assert code_of(bench, f"git+file://{self.repo(bench)}", request) == "pin-refused"

    @pytest.mark.parametrize(
        "spec",
        [
            "git+ext::sh -c x",
            "git+fd::17",
            "git+git://h/x",
            "git+http://example.org/x.git",
            "git+ssh://-oProxyCommand=x/y",
        ],
    )
    def test_transports_that_are_not_spoken_S21(self, bench: Bench, spec: str) -> None:
        assert code_of(bench, spec) in ("usage", "insecure-refused", "source-unsupported", "unreachable")

    def test_credentials_go_nowhere_but_to_their_host_W16(self, bench: Bench) -> None:
        self.repo(bench)
        with git_server(bench.root) as address:
            spec = f"git+{address.replace('://', '://user:secret@')}/repo/.git"
            bench.install(spec, request=HERE)
        assert "secret" not in (bench.home / ".msd-capabilities.json").read_text()


class TestArchives:
    def archive(self, bench: Bench, kind: str = "tgz", prefix: str = "") -> bytes:
        files = bundle_members(bench.source(), prefix)
        return zip_of(files) if kind == "zip" else tar_of([member(n, d) for n, d in files.items()])  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["acme.tgz", "acme.tar.gz", "acme.zip"])
    @pytest.mark.parametrize("prefix", ["", "package/", "repo-1.0/capabilities/acme/"])
    def test_wherever_the_bundle_lies_in_it_W21(self, bench: Bench, name: str, prefix: str) -> None:
        data = self.archive(bench, name.rpartition(".")[2], prefix)
        with served({f"/{name}": data}) as address:
            assert bench.install(f"{address}/{name}", request=HERE).version == "1.0.0"
        assert bench.ledger()["acme"]["integrity"] == integrity(data)

    def test_redirects_are_followed_and_recorded_W22(self, bench: Bench) -> None:
        data = self.archive(bench)
        with served({"/a.tgz": redirect("/b.tgz"), "/b.tgz": data}) as address:
            bench.install(f"{address}/a.tgz", request=HERE)
            assert bench.ledger()["acme"]["resolved"]["url"] == f"{address}/b.tgz"

    @pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
    @pytest.mark.parametrize(
        ("known", "name", "code"),
        [(True, "localhost", None), (False, "localhost", "unreachable"), (True, "example.org", "unreachable")],
        ids=["good", "signed-by-nobody-known", "of-another-host"],
    )
    def test_https_is_asked_for_its_certificate(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, known: bool, name: str, code: str | None
    ) -> None:
        certificate = certificate_for(bench.root, name)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate if known else bench.root / "none.pem"))
        (bench.root / "none.pem").write_text("")
        data = self.archive(bench)
        with served({"/a.tgz": redirect("/b.tgz"), "/b.tgz": data}, certificate) as address:
            if code is None:
                assert bench.install(f"{address}/a.tgz", request=HERE).version == "1.0.0"
                assert bench.ledger()["acme"]["resolved"]["url"] == f"{address}/b.tgz"
            else:
                assert code_of(bench, f"{address}/a.tgz", HERE) == code
                assert bench.accepted() == set()

    @pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
    def test_https_does_not_lead_back_to_http(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        certificate = certificate_for(bench.root, "localhost")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with served({"/b.tgz": self.archive(bench)}) as plain:
            with served({"/a.tgz": redirect(f"{plain}/b.tgz")}, certificate) as address:
                assert code_of(bench, f"{address}/a.tgz", HERE) == "redirect-refused"

    def test_a_pin_holds_or_refuses_S14(self, bench: Bench) -> None:
        data = self.archive(bench)
        with served({"/a.tgz": data}) as address:
            good = Request(allow_insecure_loopback=True, integrity=integrity(data))
            assert (
                code_of(bench, f"{address}/a.tgz", Request(allow_insecure_loopback=True, integrity=integrity(b"x")))
                == "pin-mismatch"
            )
            assert (
                code_of(bench, f"{address}/a.tgz", Request(allow_insecure_loopback=True, integrity="sha256-x"))
                == "usage"
            )
            assert bench.install(f"{address}/a.tgz", request=good).status == "installed"

    @pytest.mark.parametrize(
        ("target", "code"),
        [
            ("http://10.0.0.1/x.tgz", "insecure-refused"),
            ("https://10.0.0.1/x.tgz", "address-refused"),
            ("https://169.254.169.254/latest", "address-refused"),
            ("https://[::ffff:10.0.0.1]/x.tgz", "address-refused"),
            ("file:///etc/passwd", "redirect-refused"),
            ("ftp://example.org/x.tgz", "redirect-refused"),
            ("https://user:pw@example.org/x.tgz", "redirect-refused"),
            ("/a.tgz", "redirect-refused"),
        ],
    )
    def test_redirects_that_lead_astray_W14(self, bench: Bench, target: str, code: str) -> None:
        with served({"/a.tgz": redirect(target)}) as address:
            assert code_of(bench, f"{address}/a.tgz") == code

    def test_http_only_to_this_machine_and_only_when_asked_for(self, bench: Bench) -> None:
        data = self.archive(bench)
        with served({"/a.tgz": data}) as address:
            assert code_of(bench, f"{address}/a.tgz", Request()) == "insecure-refused"
        assert code_of(bench, "http://example.org/a.tgz") == "usage"

    @pytest.mark.parametrize("answer", ["slow", "cut", "endless", "silent", "missing"])
    def test_answers_that_come_to_no_end(self, bench: Bench, answer: str) -> None:
        data = self.archive(bench)
        routes: dict[str, Any] = {
            "slow": slow(data),
            "cut": cut_off(data),
            "endless": endless,
            "silent": slow(data, 60),
        }
        request = Request(allow_insecure_loopback=True, seconds=1.5 if answer in ("slow", "silent") else 30)
        with served({"/a.tgz": routes[answer]} if answer in routes else {}) as address:
            code = code_of(bench, f"{address}/a.tgz", request)
        assert code in {
            "slow": ("timeout",),
            "silent": ("timeout",),
            "cut": ("cut-off",),
            "endless": ("too-large",),
        }.get(answer, ("fetch-failed",))

    ATTACKS = {
        "absolute": [member("/etc/evil", b"x")],
        "upward": [member("../../evil", b"x")],
        "inner upward": [member("a/../../x", b"x")],
        "symlink": [member("link", type=tarfile.SYMTYPE, linkname="/etc")],
        "hard link": [member("link", type=tarfile.LNKTYPE, linkname="capability.json")],
        "device": [member("dev", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
        "pipe": [member("pipe", type=tarfile.FIFOTYPE)],
        "twice": [member("capability.json", b"{}"), member("capability.json", b"[]")],
        "backslash": [member("a\\..\\x", b"x")],
        "control": [member("a\x1b[31m", b"x")],
        "bomb": [member("zeros", b"\0" * (48 << 20))],
    }

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_members_that_attack_S23_S24_S49_S50(self, bench: Bench, attack: str) -> None:
        files = [member(n, d) for n, d in bundle_members(bench.source()).items()]
        with served({"/a.tgz": tar_of([*files, *self.ATTACKS[attack]])}) as address:
            assert code_of(bench, f"{address}/a.tgz") in ("archive-refused", "too-large")
        assert not (bench.root / "evil").exists()

    def test_too_many_members_W52(self, bench: Bench) -> None:
        files = [member(n, d) for n, d in bundle_members(bench.source()).items()]
        with served({"/a.tgz": tar_of([*files, *(member(f"f{n}") for n in range(60_000))])}) as address:
            assert code_of(bench, f"{address}/a.tgz") == "too-large"

    @pytest.mark.parametrize("attack", ["upward", "symlink", "bomb", "twice", "encrypted"])
    def test_zips_that_attack(self, bench: Bench, attack: str) -> None:
        files: dict[Any, bytes] = dict(bundle_members(bench.source()))
        if attack == "upward":
            files["../evil"] = b"x"
        elif attack == "bomb":
            files["zeros"] = b"\0" * (48 << 20)
        elif attack == "symlink":
            info = zipfile.ZipInfo("link")
            info.external_attr = 0o120777 << 16
            files[info] = b"/etc"
        data = zip_of(files)
        if attack == "encrypted":
            at = data.index(b"PK\1\2")
            data = data[: at + 8] + bytes([data[at + 8] | 1]) + data[at + 9 :]
        elif attack == "twice":
            data = data.replace(b"skills/acme-skill/SKILL.md", b"capability.json\0\0\0\0\0\0\0\0\0\0\0")
        with served({"/a.zip": data}) as address:
            assert code_of(bench, f"{address}/a.zip") in ("archive-refused", "too-large")

    @pytest.mark.parametrize("data", [b"", b"not an archive", b"\x1f\x8b\x08", b"PK\3\4"])
    @pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
    def test_what_is_no_archive(self, bench: Bench, data: bytes, name: str) -> None:
        with served({f"/{name}": data}) as address:
            assert code_of(bench, f"{address}/{name}") in ("archive-refused", "no-bundle")

    def test_an_archive_cut_anywhere_is_refused(self, bench: Bench) -> None:
        data = self.archive(bench)
        for at in range(1, len(data) - 8, max(1, len(data) // 12)):
            with served({"/a.tgz": data[:at]}) as address:
                assert code_of(bench, f"{address}/a.tgz") in ("archive-refused", "no-bundle")

    def test_more_than_one_or_none(self, bench: Bench) -> None:
        files = bundle_members(bench.source())
        two = {**{f"a/{n}": d for n, d in files.items()}, **{f"b/{n}": d for n, d in files.items()}}
        with served({"/a.zip": zip_of(two), "/b.zip": zip_of({"x": b""})}) as address:  # type: ignore[arg-type]
            assert code_of(bench, f"{address}/a.zip") == "several-bundles"
            assert code_of(bench, f"{address}/b.zip") == "no-bundle"


class TestPackages:
    def wheel(self, bench: Bench, folder: Path, version: str) -> None:
        info = f"acme_dist-{version}.dist-info"
        files = bundle_members(bench.source(version=version, text=version), "acme_dist/capability/")
        files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: acme-dist\nVersion: {version}\n".encode()
        files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        files[f"{info}/RECORD"] = b""
        folder.mkdir(exist_ok=True)
        (folder / f"acme_dist-{version}-py3-none-any.whl").write_bytes(zip_of(files))  # type: ignore[arg-type]

    @pytest.fixture
    def index(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            pytest.skip("pip is not installed beside this interpreter")
        folder = bench.root / "index"
        for version in ("1.0.0", "1.1.0"):
            self.wheel(bench, folder, version)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
        return folder

    def test_a_wheel_brings_its_bundle(self, bench: Bench, index: Path) -> None:
        done = bench.install("pypi:acme-dist==1.0.0", request=HERE)
        assert done.version == "1.0.0" and bench.ledger()["acme"]["integrity"].startswith("sha512-")
        data = (index / "acme_dist-1.0.0-py3-none-any.whl").read_bytes()
        assert bench.ledger()["acme"]["integrity"] == integrity(data)

    def test_a_source_distribution_is_never_built(self, bench: Bench, index: Path) -> None:
        trap = f"import pathlib; pathlib.Path({str(bench.root / 'ran')!r}).touch()\n"
        for wheel in index.iterdir():
            wheel.unlink()
        (index / "acme-dist-2.0.tar.gz").write_bytes(tar_of([member("acme-dist-2.0/setup.py", trap.encode())]))
        assert code_of(bench, "pypi:acme-dist") == "fetch-failed"
        assert not (bench.root / "ran").exists()

    @needs_npm
    def test_an_npm_package_brings_its_bundle_and_runs_no_script(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = bundle_members(bench.source(), "package/")
        scripts = {s: f"touch {bench.root}/ran" for s in ("preinstall", "install", "postinstall", "prepare", "prepack")}
        files["package/package.json"] = json.dumps(
            {"name": "@org/acme", "version": "1.0.0", "scripts": scripts}
        ).encode()
        data = tar_of([member(n, d) for n, d in files.items()])
        routes: dict[str, Any] = {"/t/acme.tgz": data}
        with served(routes) as address:
            dist = {"tarball": f"{address}/t/acme.tgz", "integrity": integrity(data)}
            about = {"name": "@org/acme", "version": "1.0.0", "dist": dist}
            document = {"name": "@org/acme", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}
            routes["/@org%2facme"] = routes["/@org/acme"] = json.dumps(document).encode()
            monkeypatch.setenv("npm_config_registry", address)
            done = bench.install("npm:@org/acme@^1.0.0", request=HERE)
        assert done.version == "1.0.0" and not (bench.root / "ran").exists()

    @pytest.mark.parametrize(
        "spec",
        [
            "npm:https://x/y.tgz",
            "npm:file:../x",
            "npm:../x",
            "npm:x;rm",
            "npm:",
            "pypi:",
            "pypi:x @ file:///y",
            "pypi:-r x",
        ],
    )
    def test_names_and_nothing_else_W7_S19(self, bench: Bench, spec: str) -> None:
        assert code_of(bench, spec) == "usage"


class TestPolicy:
    """`capabilities.strict_known_registries`: the user's word first, the project can only tighten (W-8, W-9)."""

    def rule(self, path: Path, value: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            value if isinstance(value, str) else json.dumps({"capabilities": {"strict_known_registries": value}})
        )

    @pytest.mark.parametrize("level", ["user", "project"])
    @pytest.mark.parametrize("value", [[], ["example.org"], "[]", 42, {"a": 1}, "{"])
    def test_what_is_not_listed_is_never_asked(self, bench: Bench, level: str, value: object) -> None:
        where = {"user": bench.home / ".msd" / "config.json", "project": bench.project / ".planning" / "config.json"}[
            level
        ]
        self.rule(where, value)
        asked: list[int] = []
        with served({"/a.tgz": lambda handler: asked.append(1)}) as address:
            assert code_of(bench, f"{address}/a.tgz") == "policy-refused"
        assert code_of(bench, "npm:acme") == "policy-refused" and not asked
        assert bench.install(bench.source()).status == "installed"

    def test_a_project_loosens_nothing_W9(self, bench: Bench) -> None:
        self.rule(bench.home / ".msd" / "config.json", [])
        self.rule(bench.project / ".planning" / "config.json", ["127.0.0.1"])
        with served({"/a.tgz": b""}) as address:
            assert code_of(bench, f"{address}/a.tgz") == "policy-refused"

    def test_every_hop_is_judged(self, bench: Bench) -> None:
        self.rule(bench.home / ".msd" / "config.json", ["127.0.0.1"])
        with served({"/a.tgz": redirect("https://example.org/a.tgz")}) as address:
            assert code_of(bench, f"{address}/a.tgz") == "policy-refused"

    def test_update_and_outdated_too_W8(self, bench: Bench) -> None:
        files = bundle_members(bench.source())
        with served({"/a.zip": zip_of(files)}) as address:  # type: ignore[arg-type]
            bench.install(f"{address}/a.zip", request=HERE)
            self.rule(bench.home / ".msd" / "config.json", [])
            with pytest.raises(LifecycleError) as caught:
                bench.update(request=HERE)
            assert caught.value.code == "policy-refused"


def test_a_host_at_a_private_address_is_not_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up once, judged, and only the judged addresses are used."""
    asked: list[Any] = []

    def looked_up(host: str, port: int, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.168.1.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: asked.append(a))
    assert code_of(bench, "https://example.org/a.tgz") == "address-refused"
    assert not asked


def test_tools_see_no_folder_of_the_project(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called git in the project is not the one that runs."""
    trap = bench.project / "git"
    trap.write_text(f"#!/bin/sh\ntouch {bench.root}/ran\n")
    trap.chmod(0o755)
    monkeypatch.chdir(bench.project)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    code_of(bench, f"git+file://{bench.root}/nothing")
    assert not (bench.root / "ran").exists()
