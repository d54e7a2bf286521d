"""`msd report`: one page that says what the other verbs say, and in which nothing from outside runs (spec 60)."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from msd_host import MSD
from tests.cli import msd
from tests.planted import World, boolean, contribution, gate

HOSTILE = (
    "</td></table><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\" autofocus onfocus=document.title='owned' x=\"",
    "' onmouseover='document.title=1",
    "</style><style>*{display:none}</style>",
    "</script><script>document.title='owned'</script>",
    "<!--",
    "&lt;script&gt;&#60;b&#62;",
    "<a href=javascript:alert(1)>press</a>",
    "\u202egnp.exe\u202c \x1b[31m \u2066x",
)
VOID = {"meta", "input", "br", "link", "img"}


@define
class Seen(HTMLParser):
    """The tags of a page with their attributes, its texts by the section they are in, and whether it nests."""

    tags: list[tuple[str, dict[str, str | None]]] = field(factory=list)
    texts: dict[str, str] = field(factory=dict)
    bare: dict[str, str] = field(factory=dict)
    open: list[tuple[str, str]] = field(factory=list)
    nests: bool = True

    def __attrs_pre_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id") or ""))

    def handle_endtag(self, tag: str) -> None:
        self.nests &= bool(self.open) and self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] in ("script", "style"):
            self.bare[self.open[-1][0]] = data
            return
        section = next((id for tag, id in self.open if tag == "section"), "")
        self.texts[section] = self.texts.get(section, "") + data + " "

    def text(self) -> str:
        return " ".join(self.texts.values())


def seen(page: str) -> Seen:
    parser = Seen()
    parser.feed(page)
    parser.close()
    assert parser.nests and not parser.open
    return parser


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, MSD)
    world.add_global("acme", config={"acme.on": boolean()}, contributions=[contribution()], gates=[gate("plan:pre")])
    world.add_project("agreed", gates=[gate("verify:post")])
    world.grant("agreed")
    world.add_project("unknown", gates=[gate("ship:pre")], title="NEVERSHOWN", description="NEVERSHOWN")
    world.add_project("changed", gates=[gate("execute:pre")])
    world.grant("changed")
    (world.project_folder("changed") / "x").write_text("x")
    world.host.trust.deny(world.project, "unwanted")
    return world


def page(world: World, *words: str) -> str:
    done = msd(world, "report", "--html", "-", *words)
    assert (done.code, done.err.strip()) == (0, ""), done.err
    return done.out


class TestWhatItSays:
    def test_the_same_as_the_verbs(self, world: World) -> None:
        found = seen(page(world))
        for row in msd(world, "capability", "list", "--json").json():
            assert row["id"] in found.texts["skipped" if row["state"] == "skipped" else "capabilities"]
        for row in msd(world, "capability", "trust", "status", "--json").json():
            if row["scope"] != "first-party":
                assert row["id"] in found.texts["trust"] and row["state"] in found.texts["trust"]
        warnings = msd(world, "loop", "render-hooks", "ship:pre").json()["warnings"]
        silent = [w for w in warnings if w["kind"] == "gate-skipped"]
        assert silent
        for one in silent:
            assert all(one[name] in found.texts["loud"] for name in ("point", "id", "code", "reason", "remedy"))
        assert "2 gates are not in force" in found.texts["loud"]
        for point in msd(world, "loop", "points", "--json").json():
            assert point["point"] in found.texts["loop"]
        assert "unwanted" in found.texts["trust"]

    def test_loud_gates_come_first(self, world: World) -> None:
        sections = [a["id"] for tag, a in seen(page(world)).tags if tag == "section"]
        assert sections == ["loud", "loop", "capabilities", "skipped", "trust", "more"]

    def test_all_is_well(self, tmp_path: Path) -> None:
        found = seen(page(World(tmp_path, MSD)))
        assert "Every gate is in force" in found.texts["loud"] and "Nothing was skipped" in found.texts["skipped"]

    def test_of_what_nobody_agreed_to_its_words_are_not_shown(self, world: World) -> None:
        assert "NEVERSHOWN" not in page(world)

    def test_the_same_twice(self, world: World) -> None:
        assert page(world) == page(world)

    def test_outside_a_project(self, world: World) -> None:
        done = msd(world, "report", "--html", "-", cwd=world.root)
        assert done.code == 0 and "No project" in done.out

    def test_it_is_this_products_own(self, world: World) -> None:
        from msd_host import Host
        from msd_host.report.gather import gather
        from msd_host.report.page import to_html

        host = Host(evolve(MSD, name="rel", title="Releaser"), home=str(world.home))
        told = seen(to_html(gather(host, host.compose(str(world.project)))))
        assert "Releaser at a glance" in told.text() and re.search(r"MSD|\bmsd ", told.text()) is None


class TestNothingGetsIn:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_words_are_words(self, tmp_path: Path, text: str) -> None:
        plain, hostile = World(tmp_path / "a", MSD), World(tmp_path / "b", MSD)
        for one, words in ((plain, "harmless"), (hostile, text)):
            fields: dict[str, Any] = {"title": words, "description": words}
            one.add_global("acme", gates=[gate("plan:pre")], **fields)
            one.add_project("needy", requires=["nobody"], gates=[gate("plan:pre")], **fields)
            one.grant("needy")
        shape = [
            [(tag, {k: v for k, v in a.items() if k != "data-find"}) for tag, a in seen(page(one)).tags]
            for one in (plain, hostile)
        ]
        assert shape[0] == shape[1]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page(hostile))

    @pytest.mark.parametrize("text", [t for t in HOSTILE if "/" not in t])
    def test_names_of_folders_too(self, tmp_path: Path, text: str) -> None:
        world = World(tmp_path, MSD)
        world.add_project("acme")
        folder = world.project_folder("acme")
        folder.rename(folder.parent / text)
        tags = [tag for tag, _ in seen(page(world)).tags]
        assert tags.count("script") == 1 and tags.count("style") == 1 and "img" not in tags

    def test_only_our_style_and_script_may_run(self, world: World) -> None:
        found = seen(page(world))
        policy = next(a["content"] for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
        allowed = dict(part.strip().split(" ", 1) for part in (policy or "").split(";"))
        for kind in ("script", "style"):
            digest = base64.b64encode(hashlib.sha256(found.bare[kind].encode()).digest()).decode()
            assert allowed[f"{kind}-src"] == f"'sha256-{digest}'"
        assert allowed["default-src"] == "'none'"

    def test_nothing_is_fetched_and_no_attribute_runs(self, world: World) -> None:
        for tag, attributes in seen(page(world)).tags:
            assert not {"src", "srcset", "style", "action", "background"} & set(attributes), tag
            assert not any(name.startswith("on") for name in attributes)
            assert (attributes.get("href") or "#").startswith("#")
        assert "http://" not in page(world) and "https://" not in page(world) and "url(" not in page(world)


class TestForEveryReader:
    def test_landmarks_headings_and_names(self, world: World) -> None:
        tags = seen(page(world)).tags
        names = [tag for tag, _ in tags]
        assert [names.count(one) for one in ("h1", "main", "header", "nav", "footer")] == [1, 1, 1, 1, 1]
        levels = [int(n[1]) for n in names if re.fullmatch(r"h[1-6]", n)]
        assert all(b - a <= 1 for a, b in zip(levels, levels[1:]))
        ids = [a["id"] for _, a in tags if "id" in a]
        assert len(ids) == len(set(ids))
        for tag, a in tags:
            if tag == "section":
                assert a["aria-labelledby"] in ids
            if tag == "a":
                assert (a["href"] or "").removeprefix("#") in ids
            if tag == "th":
                assert a["scope"] in ("col", "row")
            if tag == "input":
                assert any(t == "label" and x.get("for") == a["id"] for t, x in tags)
        assert next(a for tag, a in tags if tag == "html")["lang"] == "en"

    def test_without_its_script_everything_is_there(self, world: World) -> None:
        """What the script adds is hidden until it runs, and it adds no content."""
        tags = seen(page(world)).tags
        assert all("hidden" in a for tag, a in tags if tag == "button")
        assert not any("hidden" in a for tag, a in tags if tag in ("section", "tr", "li", "table"))


class TestWriting:
    def test_where_it_was_told(self, world: World) -> None:
        done = msd(world, "report", "--html", "r.html")
        target = world.project / "r.html"
        assert (done.code, done.out) == (0, f"written: {target}\n")
        assert target.read_text() == page(world)
        assert msd(world, "report", "--html", "r.html", "--json").json() == {
            "written": str(target),
            "bytes": target.stat().st_size,
        }

    def test_a_link_is_neither_followed_nor_replaced(self, world: World) -> None:
        (world.root / "kept").write_text("kept")
        (world.project / "r.html").symlink_to(world.root / "kept")
        done = msd(world, "report", "--html", "r.html")
        assert done.code != 0 and "is a link" in done.err and "Traceback" not in done.err
        assert (world.root / "kept").read_text() == "kept" and (world.project / "r.html").is_symlink()

    @pytest.mark.parametrize("target", ["nowhere/r.html", "folder", "", "a" * 300])
    def test_where_nothing_can_be_written(self, world: World, target: str) -> None:
        (world.project / "folder").mkdir()
        before = sorted(os.listdir(world.project))
        done = msd(world, "report", "--html", target)
        assert done.code not in (0, 70) and done.out == "" and "Traceback" not in done.err
        assert sorted(os.listdir(world.project)) == before

    def test_it_needs_a_file(self, world: World) -> None:
        assert msd(world, "report").code == 2


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium to look at the page with")
class TestInABrowser:
    def look(self, tmp_path: Path, file: Path, *flags: str) -> str:
        """The page as it stands after its scripts ran."""
        quiet = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        still = "--disable-component-update --disable-sync --disable-dev-shm-usage"
        done = subprocess.run(
            [BROWSER or "", *quiet.split(), *still.split(), f"--user-data-dir={tmp_path / 'browser'}"]
            + [*flags, "--virtual-time-budget=2000", "--dump-dom", file.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_our_script_runs_and_no_other(self, tmp_path: Path) -> None:
        world = World(tmp_path, MSD)
        for number, text in enumerate(HOSTILE):
            world.add_global(f"acme{number}", title=text, description=text, gates=[gate("plan:pre")])
            world.add_global(f"needy{number}", requires=["nobody"], title=text, gates=[gate("plan:pre")])
        file = world.project / "r.html"
        file.write_text(page(world))
        dom = self.look(tmp_path, file)
        found = [(tag, a) for tag, a in _loose(dom)]
        assert "<title>MSD: what is on, what is skipped</title>" in dom
        assert not any(tag in ("img", "iframe", "object", "embed") for tag, _ in found)
        assert [tag for tag, _ in found].count("script") == 1
        theme = next(a for tag, a in found if a.get("id") == "theme")
        assert "hidden" not in theme
        told = re.search(r'id="found"[^>]*>(\d+) in all<', dom)
        assert told is not None and int(told[1]) == sum("data-find" in a for _, a in found)

    def test_a_script_that_came_in_all_the_same_would_not_run(self, tmp_path: Path, world: World) -> None:
        """The policy holds by itself: put past the escaping on purpose, a script stays dead."""
        file = world.project / "r.html"
        evil = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
        file.write_text(page(world).replace('<main id="main">', f'<main id="main">{evil}', 1))
        dom = self.look(tmp_path, file)
        assert "<title>MSD: what is on, what is skipped</title>" in dom
        theme = next(a for tag, a in _loose(dom) if a.get("id") == "theme")
        assert "hidden" not in theme  # ours did run


def _loose(dom: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Seen()
    parser.feed(dom)
    return parser.tags
