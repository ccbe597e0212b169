"""Tool schemas as a provider takes them.

Local `$ref`s are replaced by what they name and `allOf`s whose parts cannot disagree are
merged; what validates stays the same. Providers refuse alternatives at the top level, so
there, and only there, closed forms become one object offering the names of all of them:
the Board still judges the real form, the provider merely guides the model.
"""

from __future__ import annotations

_DEPTH_MAX = 40          # a schema that refers to itself stops being expanded here
_FORMS = ("oneOf", "anyOf")
_DROPPED = ("$schema", "$id", "definitions", "$defs")


def for_provider(schema: dict) -> dict:
    """`schema` expanded, with one object at its top."""
    expanded = _expand(schema, schema, 0)
    for word in _FORMS:
        if word in expanded:
            expanded = _one_object(expanded, word)
    expanded = {name: value for name, value in expanded.items() if name not in _DROPPED}
    expanded.setdefault("type", "object")
    expanded.setdefault("properties", {})
    return expanded


_SIMPLE = ("type", "properties", "items", "required", "enum", "description")


def simple(schema: dict) -> dict:
    """`schema` in the words that every service takes: what is conditional in it is left to the Board."""
    return _simple(for_provider(schema))


def _simple(node: object) -> object:
    if not isinstance(node, dict):
        return {}
    kept = {name: value for name, value in node.items() if name in _SIMPLE}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _simple(value) for name, value in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _simple(kept["items"])
    if isinstance(kept.get("type"), list):
        named = [word for word in kept["type"] if word != "null"]
        kept["type"] = named[0] if named else "string"
    return kept


def _resolve(pointer: str, root: dict) -> object:
    value: object = root
    for part in pointer[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _expand(node: object, root: dict, depth: int) -> object:
    if depth > _DEPTH_MAX:
        return {}                            # anything validates; the Board judges
    if isinstance(node, list):
        return [_expand(inner, root, depth + 1) for inner in node]
    if not isinstance(node, dict):
        return node
    pointer = node.get("$ref")
    if isinstance(pointer, str) and pointer.startswith("#/"):
        target = _resolve(pointer, root)
        if target is not None:               # in draft-07 the words beside a $ref are ignored
            return _expand(target, root, depth + 1)
    expanded = {name: _expand(value, root, depth + 1) for name, value in node.items()}
    return _merge_all(expanded)


def _merge_all(node: dict) -> dict:
    parts = node.get("allOf")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return node
    merged = {name: value for name, value in node.items() if name != "allOf"}
    for part in parts:
        joined = _join(merged, part)
        if joined is None:
            return node                      # the parts could disagree: leave it to the validator
        merged = joined
    return merged


def _join(left: dict, right: dict) -> dict | None:
    """Both at once, or None where a plain union would validate something else."""
    if left.get("additionalProperties") is False or right.get("additionalProperties") is False:
        if set(left.get("properties", {})) != set(right.get("properties", {})):
            return None
    joined = dict(left)
    for name, value in right.items():
        if name not in joined or joined[name] == value:
            joined[name] = value
        elif name == "required":
            joined[name] = [*joined[name], *(word for word in value if word not in joined[name])]
        elif name == "properties" and all(joined[name].get(key, row) == row for key, row in value.items()):
            joined[name] = {**joined[name], **value}
        else:
            return None
    return joined


def _one_object(schema: dict, word: str) -> dict:
    forms = [form for form in schema[word] if isinstance(form, dict)]
    merged = {name: value for name, value in schema.items() if name != word}
    properties = dict(merged.get("properties", {}))
    for form in forms:
        for name, row in form.get("properties", {}).items():
            properties.setdefault(name, row)
    required = [name for name in (forms[0].get("required", []) if forms else [])
                if all(name in form.get("required", []) for form in forms)]
    merged["properties"] = properties
    both = [*merged.get("required", []), *required]
    if both:
        merged["required"] = both
    if all(form.get("additionalProperties") is False for form in forms):
        merged["additionalProperties"] = False
    choices = "; or ".join(", ".join(form.get("properties", {})) for form in forms)
    note = f"Use exactly one of these groups of names: {choices}."
    merged["description"] = f"{merged['description']} {note}" if merged.get("description") else note
    return merged
