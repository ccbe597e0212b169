"""What a child process of an adapter may see in its environment.

Pure: takes the ambient variables and answers the child's. Nothing of rulith's own, nothing
that looks like a credential, unless the Tool's owner named that variable; never a Case name.

Source  protocol/worker-contract.json, "run"; the tables are its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

DENIED_NAMES = frozenset(("ANTHROPIC_API_KEY", "DEMO_DB_URL"))
DENIED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(^|_)API_?KEY$",
        r"(^|_)PRIVATE_KEY$",
        r"(^|_)TOKEN$",
        r"SECRET",
        r"PASSWORD|PASSWD",
        r"(^|_)(DATABASE|DB)_URL$",
        r"(^|_)DSN$",
        r"^(AWS|AZURE|GOOGLE|ANTHROPIC|OPENAI)_",
    )
)
BASICS = frozenset(
    "COMSPEC HOME HOMEDRIVE HOMEPATH LANG LC_ALL NUMBER_OF_PROCESSORS OS PATH PATHEXT "
    "PROCESSOR_ARCHITECTURE SHELL SYSTEMDRIVE SYSTEMROOT TEMP TMP TMPDIR USERPROFILE WINDIR".split()
)
OURS = ("RULITH_", "RIVENDELL_")     # settings and credentials of our own roles, never a Tool's


def is_denied(name: str) -> bool:
    """Whether a variable of this name looks like a credential."""
    upper = name.upper()
    return upper in DENIED_NAMES or any(pattern.search(upper) for pattern in DENIED)


def child_environment(
    ambient: Mapping[str, str], *, passed: Iterable[str] | None, added: Mapping[str, str]
) -> dict[str, str]:
    """The child's variables: filtered ambient ones, then `added`.

    passed  None: everything but the denied; else the basics and the variables of these
            names in any case, which pass even where their name would be denied
    """
    if passed is None:
        kept = {name: value for name, value in ambient.items() if not is_denied(name)}
    else:
        named = BASICS | {name.upper() for name in passed}
        kept = {name: value for name, value in ambient.items() if name.upper() in named}
    kept = {name: value for name, value in kept.items() if not name.upper().startswith(OURS)}
    return {**kept, **added}
