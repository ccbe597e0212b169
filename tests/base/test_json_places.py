"""A checked file's errors carry their line. Duty: style §5, messages name the thing refused."""

from __future__ import annotations

import json

import pytest

from rulith.base.json_places import Places
from rulith.base.resources import shipped_text

TEXT = """{
  "id": "a",
  "rules": [
    {"id": "r", "when": []},
    {
      "id": "s", "label": "a \\"quoted\\", [bracketed] {text}: 1",
      "when": [
        {"predicate": "p",
         "args": {"x": -1.5e3, "y": true}}
      ]
    }
  ],
  "é\\u0020b": null
}
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [("the file", 1), ("id", 2), ("rules", 3), ("rules[0]", 4), ("rules[0].when", 4), ("rules[1]", 5), ("rules[1].label", 6),
     ("rules[1].when[0]", 8), ("rules[1].when[0].args", 9), ("rules[1].when[0].args.y", 9), ("rules[1].then", 5),
     ("rules[7].when[0]", 3), ("nothing.of.this", 1), ("rules[1] (a title, with [brackets])", 5)],
)
def test_a_place_leads_to_its_line_or_to_what_is_around_it(place, line):
    assert Places(TEXT).line_of(place) == line


def test_every_value_of_a_real_file_is_found_where_it_stands():
    """Each number and text, read back at its own line."""
    text = shipped_text("examples", "verified-calculation", "capability.json")
    places, lines = Places(text), text.splitlines()

    def walk(value, path):
        if isinstance(value, dict):
            for name, each in value.items():
                walk(each, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for number, each in enumerate(value):
                walk(each, f"{path}[{number}]")
        elif "rulith." not in path:
            assert json.dumps(value, ensure_ascii=False) in lines[places.line_of(path) - 1], path

    walk(json.loads(text), "")


@pytest.mark.parametrize("text", ['"x"', "7", "[]", "{}", "[[],{}]", ' \n [1,\n2]'])
def test_any_json_text_has_places(text):
    assert Places(text).line_of("the file") >= 1


@pytest.mark.parametrize("place", ["rules[0].", "rules[0].x]", "rules[", "rules[0]..x", "rules[0].when[x]", "]", "."])
def test_a_name_with_dots_or_brackets_leads_somewhere(place):
    assert Places(TEXT).line_of(place) >= 1


def test_long_names_are_not_multiplied_by_what_they_hold():
    text = json.dumps({"a" * 100_000: {"b" * 100_000: [{"c": 1}] * 2_000}})
    places = Places(text)
    assert sum(map(len, places._offsets)) < 100_000 and places.line_of("a.b[0].c") == 1


@pytest.mark.parametrize("name", ["x" * 400_000, "." * 400_000, "]" * 400_000, "[" * 400_000, "[0].a" * 80_000])
def test_a_place_with_a_long_name_costs_what_its_length_costs(name):
    """400 kB squared would be hours."""
    assert Places(TEXT).line_of("rules[1]." + name) >= 1
    assert Places(TEXT).line_of("rules[1].when[0]." + "x" * 400_000) == 8
