"""The loop: what is active at a point, and how it is put to whoever runs it (spec 40, Loop; reference, section 7)."""
