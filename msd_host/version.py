"""The version of this distribution, without asking the installed metadata (which costs more than a whole start)."""

__all__ = ["__version__"]

__version__ = "1.0.0"
