"""What `Settings` answers with: values that turn into JSON (spec 40, Config activation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ..text import clean
from .config import Setting

__all__ = ["Explained", "Written"]


@frozen(unsafe_hash=False)
class Explained:
    """A key with everything about it: its owner and slice, its value, and why somebody may be surprised."""

    key: str
    owner: str | None
    declared: Mapping[str, Any] | None
    setting: Setting
    users_first: bool
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        declared = self.declared or {}
        return {
            "key": self.key,
            "owner": self.owner,
            "type": declared.get("type"),
            "values": list(declared["values"]) if "values" in declared else None,
            "default": declared.get("default"),
            "description": clean(declared["description"]) if "description" in declared else None,
            "value": self.setting.value,
            "layer": self.setting.layer,
            "userFirst": self.users_first,
            "layers": [
                {
                    "layer": s.layer,
                    "path": s.path,
                    "present": s.present,
                    "value": s.value,
                    "problem": s.problem,
                    "wins": s.layer == self.setting.layer,
                }
                for s in self.setting.said
            ],
            "problems": list(self.setting.problems),
            "notes": list(self.notes),
        }


@frozen
class Written:
    """What `set` and `unset` did. `setting` is what the key is worth now, which may be another layer's word."""

    key: str
    layer: str
    path: str
    changed: bool
    setting: Setting
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "written": self.layer,
            "path": self.path,
            "changed": self.changed,
            "value": self.setting.value,
            "layer": self.setting.layer,
            "notes": list(self.notes),
        }
