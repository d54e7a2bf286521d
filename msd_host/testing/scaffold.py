"""What `new` writes: a capability, a stage or an observer that passes its own tests at once (spec 50, For authors)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..errors import Refused, UsageError
from ..product import Product
from ..remedies import is_valid_id
from ..text import clean, quoted

__all__ = ["KINDS", "scaffold"]

KINDS = ("capability", "stage", "observer")


def scaffold(product: Product, kind: str, name: str, folder: str) -> list[str]:
    """Write a new *kind* called *name* below *folder*; the files written, relative to it.

    Raises `UsageError` for a name that will not do, `Refused` where something is in the way; then nothing is written.
    """
    if not is_valid_id(name):
        raise UsageError(f"{quoted(name)} is not a name: lower-case letters, digits and hyphens, a letter first")
    if kind == "capability" and any(name.startswith(p) for p in product.reserved_prefixes):
        raise UsageError(f"{quoted(name)} begins with a reserved prefix ({', '.join(product.reserved_prefixes)})")
    texts = _capability(product, name) if kind == "capability" else _extension(product, kind, name)
    target = os.path.join(folder, name)
    if os.path.lexists(target):
        raise Refused(f"{clean(target, 300)} is there already; nothing was written")
    for path, text in texts.items():
        whole = os.path.join(target, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "x", encoding="utf-8") as stream:
            stream.write(text)
    return [os.path.join(name, path) for path in texts]


def _capability(product: Product, name: str) -> Mapping[str, str]:
    point = product.contract.points[0]
    role = product.contract.roles[point][0]
    major = product.version.split(".")[0]
    manifest = {
        "id": name,
        "role": "feature",
        "version": "0.1.0",
        "title": name.replace("-", " ").capitalize(),
        "description": f"Say in one sentence what {name} adds to the loop.",
        "tier": "full",
        "requires": [],
        "engines": {product.name: f">={major}.0.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [name],
        "agents": [],
        "config": {
            f"{name}.enabled": {"type": "boolean", "default": True, "description": f"Whether {name} takes part."}
        },
        "activationKey": f"{name}.enabled",
        "steps": [],
        "contributions": [
            {
                "point": point,
                "into": role,
                "produces": [],
                "consumes": [],
                "fragment": {"path": f"fragments/{point.replace(':', '-')}.md"},
            }
        ],
        "gates": [],
    }
    skill = (
        f"---\nname: {name}\ndescription: Say when this skill is the right one.\n---\n\nSay what to do, step by step.\n"
    )
    return {
        f"{name}/capability.json": json.dumps(manifest, indent=2) + "\n",
        f"{name}/fragments/{point.replace(':', '-')}.md": f"Tell the {role} one thing it would not do by itself.\n",
        f"{name}/skills/{name}/SKILL.md": skill,
        f"tests/test_{_module(name)}.py": _CAPABILITY_TEST.format(name=name, title=_camel(name)),
        "README.md": _CAPABILITY_README.format(name=name, command=product.command),
    }


def _extension(product: Product, kind: str, name: str) -> Mapping[str, str]:
    module = _module(name)
    code = _STAGE if kind == "stage" else _OBSERVER
    return {
        "pyproject.toml": _PYPROJECT.format(name=name, module=module, kind=kind, group=product.extension_group),
        f"{module}/__init__.py": code.format(name=name),
        f"tests/test_{module}.py": _EXTENSION_TEST.format(module=module, title=_camel(name)),
        "noxfile.py": _NOXFILE,
        "README.md": _EXTENSION_README.format(name=name, kind=kind, command=product.command),
    }


def _module(name: str) -> str:
    return name.replace("-", "_")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


_CAPABILITY_TEST = '''"""The tests every capability can inherit; add what is special about this one."""

from pathlib import Path

from msd_host.testing import CapabilitySuite


class Test{title}(CapabilitySuite):
    bundle = Path(__file__).parents[1] / "{name}"
'''

_CAPABILITY_README = """# {name}

```sh
{command} capability check {name}     # what the host would say, with line and column
python -m pytest tests                # needs msd-host and pytest
```
"""

_PYPROJECT = """[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
description = "Say in one sentence what this {kind} is for"
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["msd-host>=1.0"]

[project.entry-points.{group}]
{kind} = "{module}"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""

_STAGE = '''"""{name}: a downstream stage. It may veto an overlay that stands, and say nothing else."""

from __future__ import annotations

from msd_host import ReviewCandidate, ReviewContext, Veto, hookimpl


@hookimpl
def msd_review(candidate: ReviewCandidate, context: ReviewContext) -> Veto | None:
    """Veto overlays whose manifest says that they are experimental."""
    if "experimental" in candidate.manifest.get("keywords", ()):
        return Veto("experimental overlays are not wanted here")
    return None
'''

_OBSERVER = '''"""{name}: an observer. It hears what happened and answers nothing."""

from __future__ import annotations

import logging

from msd_host import Event, hookimpl

_LOG = logging.getLogger(__name__)


@hookimpl
def msd_observe(event: Event) -> None:
    """Log every overlay that was skipped."""
    if event.kind == "candidate-skipped":
        _LOG.warning("%s skipped: %s", event.data["id"], event.data["code"])
'''

_EXTENSION_TEST = '''"""The tests every stage and observer can inherit; add what is special about this one."""

import {module}
from msd_host.testing import ExtensionSuite


class Test{title}(ExtensionSuite):
    extension = {module}
'''

_NOXFILE = '''"""This extension against every host version it claims to work with: `nox`.

Hosts are whatever pip installs: requirements, wheels or checkouts. Others than those below, without an edit:

    MSD_HOSTS="msd-host==1.0.0,./dist/msd_host-1.1.0-py3-none-any.whl" nox
"""

import os

import nox

HOSTS = ["msd-host~=1.0.0"]

nox.options.error_on_missing_interpreters = False
TRIED = [host.strip() for host in os.environ.get("MSD_HOSTS", ",".join(HOSTS)).split(",") if host.strip()]


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
@nox.parametrize("host", TRIED, ids=[os.path.basename(host) for host in TRIED])
def tests(session: nox.Session, host: str) -> None:
    session.install("pytest", host)
    session.install("--no-deps", ".")  # the host that was chosen stays
    session.run("python", "-m", "pytest", "tests", *session.posargs)
'''

_EXTENSION_README = """# {name}

```sh
pip install -e .
{command} plugins check {name}
python -m pytest tests
nox                                   # against every host version; MSD_HOSTS names others
```
"""
