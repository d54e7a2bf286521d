"""One page for people who rather look: what is on, what is skipped and why, who was agreed to (spec 60, `report`)."""
