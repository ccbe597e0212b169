"""Stratified Datalog with negation, exact arithmetic and proofs: terms, safety, strata, closure, explanations."""
