"""Hooks and MCP servers in the settings files of coding tools, only where the user named one (spec 30, Shared files)."""
