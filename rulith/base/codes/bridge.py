"""What `rulith bridge` refuses before it begins."""

CODES = {
    "bridge_setting": ("The bridge cannot use {name}: {problem}.", "Set RIVENDELL_URL to the council's /mcp address and RIVENDELL_KEY to the agent's key, for this program only."),
}
