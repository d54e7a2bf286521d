"""The suite every capability can inherit, and one test of its own."""

from pathlib import Path

from msd_host.testing import CapabilitySuite

BUNDLE = Path(__file__).parents[1] / "hello"


class TestHello(CapabilitySuite):
    bundle = BUNDLE


def test_the_planner_reads_the_line(msd_world):
    msd_world.copy_global(BUNDLE, "hello")
    assert "what will be different for a user" in msd_world.render("plan:pre")["rendered"]
