"""A release pipeline on the same host: its own contract, its own first-party set, its own command line.

python release_host.py loop points
python release_host.py capability list
"""

from __future__ import annotations

import sys
from pathlib import Path

from msd_host import Host, LoopContract, LoopStep, Product, cli_main, first_party_from

HERE = Path(__file__).parent

#: Four steps; what each makes is there for the ones after it.
PIPELINE = LoopContract(
    (
        LoopStep("build", ("build:pre", "build:post"), ("builder",), ("ARTIFACTS.md",)),
        LoopStep("test", ("test:pre", "test:post"), ("tester",), ("TESTS.md",), ("ARTIFACTS.md",)),
        LoopStep("sign", ("sign:pre", "sign:post"), ("keeper",), ("SIGNATURES.md",), ("TESTS.md",)),
        LoopStep("publish", ("publish:pre", "publish:post"), ("publisher",), (), ("SIGNATURES.md",)),
    )
)

#: `name` alone decides `.relay`, RELAY_HOME, `.relay-capabilities.json`, `engines.relay` and every word in a message.
RELAY = Product(
    name="relay",
    title="Relay",
    version="2.1.0",
    contract=PIPELINE,
    first_party=first_party_from(HERE, contract=PIPELINE, product_name="relay"),
    first_party_folder=str(HERE / "capabilities"),
    reserved_prefixes=("relay-",),
    project_markers=(".relay-project/", ".git"),
    project_config=".relay-project/config.json",
    extension_group="relay_extensions",
)


def may_publish(project: str | Path, home: str | Path | None = None) -> bool:
    """What a pipeline asks before it publishes: do all gates say yes?"""
    host = Host(RELAY, home=home, discover_extensions=False)
    return host.check_gates("publish:pre", cwd=project).passed


if __name__ == "__main__":
    sys.exit(cli_main(RELAY))
