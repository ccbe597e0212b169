"""Shape of the files people write: Capability and Constitution.

Only shapes; whether the rules are safe and the words exist is for law to say.

Source  protocol/capability.schema.json, protocol/constitution.schema.json.
"""

from __future__ import annotations

from rulith.wire import file_validators, validation


def validate_file(name: str, value: object) -> None:
    """Check a parsed file against its format: `name` is capability or constitution.

    Raises Refused bad_command naming the first place and the problem.
    """
    validation.run(file_validators.VALIDATORS[name], f"the {name} file", value)
