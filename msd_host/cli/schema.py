"""`schema`: the manifest's shape as JSON Schema, for editors and other people's tools (spec 60)."""

from __future__ import annotations

from ..composition import codec_of
from ..reading.json_schema import manifest_schema
from .session import Parser, Session

__all__ = ["VERBS"]

_ABOUT = """The JSON Schema (2020-12) of capability.json, made from what the host itself decodes with.

Save it beside your manifest and begin that with "$schema": "./capability.schema.json"; editors then complete and
explain fields. What a schema cannot say (names that refer to each other) `capability check` tells."""


def schema(session: Session, words: list[str]) -> int:
    """One JSON document on stdout."""
    Parser(session, "schema", _ABOUT, "schema > capability.schema.json").parse_args(words)
    product = session.product
    made = manifest_schema(
        codec_of(product).grammar,
        product.contract.points,
        title=f"{product.title} capability manifest",
        id=f"urn:{product.name}:capability-manifest:{product.version}",
    )
    session.out.json(made)
    return 0


VERBS = {"": schema}
