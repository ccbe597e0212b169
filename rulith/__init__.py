"""rulith: a local multi-agent working environment in one file."""

VERSION = "0.1.0"
