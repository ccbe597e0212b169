"""Atomic files, locks, the secret vault, the home's layout and profiles."""
