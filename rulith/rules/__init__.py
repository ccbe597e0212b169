"""Datalog: terms, reader, safety, strata, evaluation, explanation. Pure: no IO, no clock."""
