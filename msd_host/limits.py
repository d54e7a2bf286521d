"""How much of untrusted input the host is willing to look at, each bound with its reason (spec 10, Reading)."""

from __future__ import annotations

from attrs import frozen

__all__ = ["Limits"]

KIB = 1024
MIB = 1024 * KIB


@frozen
class Limits:
    """Sizes are bytes, counts are entries. An embedder may tighten them through `Product.limits`."""

    manifest_bytes: int = MIB  # the largest real manifest known is 30 KiB
    ledger_bytes: int = 8 * MIB  # thousands of entries with file lists
    config_bytes: int = MIB  # project and user configuration are written by hand
    record_bytes: int = MIB  # a consent record lists one digest per file of a bundle
    fragment_bytes: int = MIB  # a fragment ends up in a prompt; no prompt takes more
    fragments_bytes: int = 4 * MIB  # per capability, so many small fragments cannot do what a large one may not
    bundle_bytes: int = 16 * MIB  # one limit for install, consent and load
    bundle_entries: int = 10_000
    bundle_depth: int = 64  # folders inside folders; keeps the walk off the recursion limit
    download_bytes: int = 64 * MIB  # what one source may send
    unpacked_bytes: int = 128 * MIB  # what an archive or a repository may hold around the bundle
    unpacked_entries: int = 50_000
    unpacked_ratio: int = 200  # bytes out per byte in; text compresses 20 times, a bomb a thousand times
    hashed_bytes_per_root: int = 256 * MIB  # a repository may not make every load hash gigabytes
    searched_bytes_per_root: int = 4 * MIB  # of manifests that only lend their gate points; broken ones count twice
    json_depth: int = 64
    surface_bytes: int = 256 * MIB  # what one projection may hold in memory and put into a tool's folder
    string_chars: int = 64 * KIB
    candidates_per_root: int = 4096
    reason_chars: int = 300  # what a person still reads on one line
