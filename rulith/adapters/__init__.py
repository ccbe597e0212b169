"""Hands: the adapters that act on this machine for one granted call at a time."""
