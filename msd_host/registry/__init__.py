"""From a set of capabilities to every derived view, by one builder (spec 10, Build)."""
