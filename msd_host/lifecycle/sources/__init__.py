"""Where overlays come from: one small interface, an adapter for each kind of source (spec 30, Sources)."""
