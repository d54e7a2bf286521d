"""The host's own implementation of the sealed stages: one module each, a judge and a hook (spec 10, The line)."""
