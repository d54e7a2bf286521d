"""A render that was made before, given again when everything it looked at is as it was (spec 80, Speed)."""
