"""The words all rooms share: codes, ids, clock, canonical bytes, limits."""
