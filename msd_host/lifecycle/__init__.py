"""Installing, updating and removing overlays. No capability code ever runs here (spec 30)."""
