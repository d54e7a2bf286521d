"""Downstream packages: found, vetted, and heard through adapters of the host's own (spec 50)."""
