"""The envelope of one point: JSON for tools and markdown for whoever reads it (reference, section 7.4; spec 40, Loop).

A body comes from outside and ends up in a prompt. It is fenced with a token that no body at the point
contains, carries its provenance, and cannot close or open a block of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ..digests import sha256_hex
from .resolve import ActiveHook, PointState

__all__ = ["envelope", "render"]

_SHORTEST = 12


def envelope(state: PointState) -> dict[str, Any]:
    """Exactly `point`, `activeHooks`, `rendered`, and `warnings` when there are any."""
    answer: dict[str, Any] = {
        "point": state.point,
        "activeHooks": [hook.body for hook in state.hooks],
        "rendered": render(state),
    }
    if state.warnings:
        answer["warnings"] = list(state.warnings)
    return answer


def render(state: PointState) -> str:
    """The markdown of the active hooks, the same for the same hooks."""
    if not state.hooks:
        return f"_No active hooks at {state.point}._"
    token = fence_token([_body(hook) for hook in state.hooks])
    steps = 0
    blocks: list[str] = []
    for hook in state.hooks:
        steps += hook.kind == "step"
        blocks.append(_BLOCKS[hook.kind](hook, token, steps))
    return "\n\n".join(blocks)


def fence_token(bodies: Sequence[str]) -> str:
    """The shortest prefix of the hash over all *bodies*, twelve digits or more, that none of them contains."""
    digest = sha256_hex(json.dumps(bodies).encode())
    for length in range(_SHORTEST, len(digest)):
        if not any(digest[:length] in body for body in bodies):
            return digest[:length]
    return digest


def _body(hook: ActiveHook) -> str:
    text = hook.body.get("fragment", {}).get("inline", "")
    return text if isinstance(text, str) else ""


def _provenance(hook: ActiveHook) -> str:
    return f"{hook.cap_id}, {hook.scope}, {_inline(hook.version)}"


def _inline(value: object) -> str:
    """*value* on one line, unable to open or close anything of ours."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=False)
    flat = json.dumps(text)[1:-1] if isinstance(value, str) else text
    return flat.replace("<", "\\u003c").replace(">", "\\u003e").replace("`", "\\u0060").replace("&", "\\u0026")


def _attribute(value: object) -> str:
    return '"' + str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;") + '"'


def _fenced(hook: ActiveHook, token: str) -> list[str]:
    body = _body(hook)
    if not body:
        return []
    safe = body.replace("</contribution", "<\\/contribution").replace("<contribution", "<\\contribution")
    return [f"<<<{token}", safe.rstrip("\n"), f"{token}>>>"]


def _bullets(hook: ActiveHook) -> list[str]:
    lines: list[str] = []
    for name in ("produces", "consumes"):
        values: Iterable[object] = hook.body.get(name, ())
        shown = ", ".join(f"`{_inline(v)}`" for v in values)
        if shown:
            lines.append(f"- {name}: {shown}")
    given = [name for name in ("when", "onError") if hook.body.get(name) is not None]
    lines.extend(f"- {name}: `{_inline(hook.body[name])}`" for name in given)
    if "configValues" in hook.body:
        lines.append(f"- configValues: `{_inline(hook.body['configValues'])}`")
    return lines


def _step(hook: ActiveHook, token: str, number: int) -> str:
    ref = hook.body.get("ref", {})
    target = next((f"{k}:{ref[k]}" for k in ("skill", "agent", "command") if k in ref), "")
    head = f"### Step {number}: {_inline(target)} ({_provenance(hook)})"
    return "\n".join([head, *_bullets(hook), *_fenced(hook, token)])


def _contribution(hook: ActiveHook, token: str, number: int) -> str:
    attributes = (
        f"from={_attribute(hook.cap_id)} into={_attribute(hook.body.get('into', ''))}"
        f" scope={_attribute(hook.scope)} version={_attribute(hook.version)} fence={_attribute(token)}"
    )
    lines = [f"<contribution {attributes}>", *_bullets(hook), *_fenced(hook, token), f"</contribution {token}>"]
    return "\n".join(lines)


def _gate(hook: ActiveHook, token: str, number: int) -> str:
    head = (
        f"**Gate** ({_provenance(hook)}): check=`{_inline(hook.body['check'])}`,"
        f" blocking={json.dumps(hook.body['blocking'])}, onError={_inline(hook.body.get('onError', 'skip'))}"
    )
    when = [f"- when: `{_inline(hook.body['when'])}`"] if hook.body.get("when") is not None else []
    return "\n".join([head, *when])


_BLOCKS = {"step": _step, "contribution": _contribution, "gate": _gate}
