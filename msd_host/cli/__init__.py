"""The command line: one small module per group of verbs; each imports its part of the engine late (spec 60)."""
