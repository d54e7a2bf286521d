"""What the user of this machine agreed to, and the exact bytes it was about (spec 20)."""
