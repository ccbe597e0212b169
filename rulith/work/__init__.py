"""The Worker: poll, check, claim, run, report, release."""
