"""What the council tells a program to do next, in words. Short: each is read by a model that pays for it."""

from __future__ import annotations

CAUGHT_UP = "These threads were already waiting for you. Read each with get_thread, act where it needs you, then call again with next_cursor."
CLAMPED = "Your cursor was past the newest event (the council's file was brought back from a copy), so it was set to the newest."


def after(moved: bool, supervised: bool, watcher: bool) -> str:
    """The advice that ends a wait."""
    if moved:
        if supervised:
            return "Deal with these and end your run; do not wait for more."
        return "Act where needs_you names a thread, then call again with next_cursor."
    if watcher:
        return "Nothing moved; call again with next_cursor."
    if supervised:
        return "Nothing moved. Finish the work you were started for and end your run."
    return "Nothing moved, which is normal. Call again with next_cursor."
