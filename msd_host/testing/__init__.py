"""For authors of capabilities and of extensions: a pytest plugin and suites to inherit from (spec 50, For authors).

`World` builds a home and a project; `CapabilitySuite` and `ExtensionSuite` hold the tests that every capability
and every stage or observer should pass. The plugin (entry point `pytest11`) imports nothing until it is used.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .suites import CapabilitySuite, ExtensionSuite
    from .world import World, sample_manifest

__all__ = ["CapabilitySuite", "ExtensionSuite", "World", "sample_manifest"]

_HOMES = {"CapabilitySuite": "suites", "ExtensionSuite": "suites", "World": "world", "sample_manifest": "world"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
