"""Values only: no file, no environment, no plugin manager."""
