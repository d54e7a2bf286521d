"""The rules of composition as pure functions of values; `stages` only puts them in order (spec 10)."""
