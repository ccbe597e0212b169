"""docs/models.md names every wish and habit of model services, in the words that the card shows."""

from rulith.base.limits import MODEL_BUSY_TRIES, MODEL_BUSY_WAIT_S, MODEL_HABITS_DAYS, MODEL_SILENCE_S
from rulith.dialects.quirks import WORDS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text("utf-8")


def test_every_quirk_has_its_row():
    missing = [name for name, words in WORDS.items() if f"| `{name}` | {words} |" not in PAGE]
    assert not missing


def test_the_numbers_are_those_of_the_code():
    assert f"silent for {MODEL_SILENCE_S:g} s" in PAGE and f"(at most {MODEL_BUSY_WAIT_S:g})" in PAGE
    assert (MODEL_BUSY_TRIES, MODEL_HABITS_DAYS) == (3, 7) and "three times" in PAGE and "seven days" in PAGE
