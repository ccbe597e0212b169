"""The smaller doors, one short module each; every one has `main(argv) -> int`."""
