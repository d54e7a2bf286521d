"""Reading untrusted ground: bounded, without following links, from descriptors (spec 10, Reading)."""
