"""The suite every capability can inherit, and what is special about this one."""

from pathlib import Path

from msd_host.testing import CapabilitySuite

BUNDLE = Path(__file__).parents[1] / "acme-quality"


class TestAcmeQuality(CapabilitySuite):
    bundle = BUNDLE


def test_the_whole_capability_has_one_switch(msd_world):
    msd_world.copy_global(BUNDLE, "acme-quality")
    (msd_world.home / ".msd" / "config.json").write_text('{"acme-quality": {"enabled": false}}')
    for point in ("execute:post", "verify:pre", "ship:pre"):
        hooks = msd_world.render(point)["activeHooks"]
        assert "acme-quality" not in {h["capId"] for h in hooks}


def test_the_contribution_gets_its_number(msd_world):
    msd_world.copy_global(BUNDLE, "acme-quality")
    hooks = msd_world.render("verify:pre")["activeHooks"]
    (mine,) = [h for h in hooks if h["capId"] == "acme-quality"]
    assert mine["configValues"] == {"maxFindings": 0}
