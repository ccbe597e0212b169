"""Generates what is checked in from protocol/: the two bundles and the compiled validators.

Standard library only; the schema compiler (fastjsonschema) is handed in by build_pyz.py,
which reads it from its pinned wheel. Three of its habits are replaced: patterns are
compiled as ASCII full matches, integers are JSON integers inside ±(2^53-1) and numbers
finite and exact, and its exception is ours. A `oneOf` whose branches are told apart by a
constant member, or by which required member is present, is compiled to that choice, so a
refusal names the wrong place and not "none of eight".
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from types import ModuleType

BUNDLES = {
    "mcp-contract.json": (
        "rulith-mcp-contract-bundle/v1",
        ("mcp/tools.json", "mcp/surface.json", "mcp/results.json", "mcp/vectors.json", "codes.json", "board-words.json"),
    ),
    "worker-contract.json": (
        "rulith-worker-contract-bundle/v1",
        ("worker/schema.json", "worker/surface.json", "worker/vectors.json"),
    ),
}
SAID = {"integer": "integer within ±9007199254740991", "number": "exact number"}

# Each process imports only the validators it needs: compiling them costs its start.
MODULES = {
    "rulith/wire/contract_validators.py": ("tool", "worker"),
    "rulith/wire/result_validators.py": ("result",),
    "rulith/wire/file_validators.py": ("capability", "constitution"),
}


# -- bundles -------------------------------------------------------------------------------


def git_blob_oid(content: bytes) -> str:
    """The id Git gives these bytes as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def bundle(protocol: Path, name: str, source_commit: str | None) -> bytes:
    """The bytes of one bundle as protocol/ is now."""
    schema, files = BUNDLES[name]
    rows = []
    for path in files:
        content = (protocol / path).read_bytes()
        rows.append({
            "path": f"protocol/{path}",
            "sha256": hashlib.sha256(content).hexdigest(),
            "gitBlobOid": git_blob_oid(content),
            "content": content.decode("utf-8"),
        })
    document = {"schema": schema, "sourceCommit": source_commit, "files": rows}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


# -- validators ----------------------------------------------------------------------------


def named_schemas(protocol: Path) -> list[tuple[str, dict]]:
    """(prefix, schema with definitions) per compile unit; each definition becomes `prefix` + its name."""
    units = []
    for tool in json.loads((protocol / "mcp/tools.json").read_text("utf-8"))["tools"]:
        units.append((f"tool_{tool['name']}", tool["inputSchema"]))
    for unit, path in (
        ("result", "mcp/results.json"), ("worker", "worker/schema.json"),
        ("capability", "capability.schema.json"), ("constitution", "constitution.schema.json"),
    ):
        definitions = json.loads((protocol / path).read_text("utf-8"))["definitions"]
        units.append((unit, {"definitions": definitions}))
    return units


# Which definitions of a unit are validated by name, and under which name.
NAMED = {
    "result": {
        name: name for name in (
            "stripEntry", "strip", "stateEntry", "stateForm", "hostMetadata", "progressMeta", "view", "actionRow",
            "acceptedResult", "refusedResult", "preExecutionRefusal", "heldCallResult", "queryBoardResult",
            "actionOutcome", "artifactWindow", "artifactResult", "artifactTicketResult", "toolResult",
        )
    },
    "worker": {
        name: name for name in (
            "lease", "leasePolicy", "descriptor", "poll", "claimWork", "reportWork", "renewLease", "releaseLease",
            "toolSpec", "sourceUpload", "artifactPolicy", "verificationRow", "evidenceRow", "reviewRow",
            "grantPayload", "fact", "pollAnswer", "refusal", "sourceList", "materialRegister", "materialRegistered", "materialPoll",
            "materialDelivery", "materialResult", "materialClaim", "materialClaimed",
        )
    } | {"actionRow": "workerActionRow"},
    "capability": {"capability": "capability"},
    "constitution": {"constitution": "constitution"},
}


def _lint(schema: object, where: str) -> None:
    """Refuse what the compiler or a reader of another language could take differently."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            _lint(item, f"{where}[{index}]")
    if not isinstance(schema, dict):
        return
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        if not (pattern.startswith("^") and pattern.endswith("$")) or re.search(r"(?<!\\)\.|\\[dwsbDWSB]", re.sub(r"\[[^]]*\]", "", pattern)):
            raise SystemExit(f"{where}: pattern {pattern!r} is not anchored, or uses a class that readers differ on")
    if "patternProperties" in schema and isinstance(schema["patternProperties"], dict):
        raise SystemExit(f"{where}: patternProperties match anywhere in a name; use propertyNames")
    if "format" in schema and isinstance(schema["format"], str):
        raise SystemExit(f"{where}: formats differ between readers; use a pattern")
    for key, value in schema.items():
        _lint(value, f"{where}/{key}")


def _compiler(library: ModuleType) -> type:
    """The library's draft-07 generator with its loose ends tied."""
    base = library.draft07.CodeGeneratorDraft07

    class Compiler(base):
        INDENT = 1  # a third of the text is indentation

        def exc(self, msg, *args, append_to_msg=None, rule=None):
            definition = self._definition if isinstance(self._definition, dict) else {}
            told = msg.replace("{name} ", "", 1)
            arg = f'"{told}"' + (f" + ({append_to_msg})" if append_to_msg else "")
            self.l('raise Invalid("{name}", ' + arg + ")", *args, definition_rule=self.e(definition.get(rule)))

        def generate_type(self):
            kinds = self._definition["type"]
            kinds = kinds if isinstance(kinds, list) else [kinds]
            tests = {
                "string": "isinstance({variable}, str)", "boolean": "isinstance({variable}, bool)",
                "object": "isinstance({variable}, dict)", "array": "isinstance({variable}, list)",
                "null": "{variable} is None", "integer": "is_integer({variable})", "number": "is_number({variable})",
            }
            test = " or ".join(tests[kind] for kind in kinds)
            with self.l(f"if not ({test}):"):
                self.exc("{name} must be {}", " or ".join(SAID.get(kind, kind) for kind in kinds), rule="type")

        def generate_one_of(self):
            branches = [self._resolved(branch) for branch in self._definition["oneOf"]]
            tag = _constant_member(branches)
            if tag:
                self._choose_by_constant(tag, branches)
            elif _required_members(branches):
                self._choose_by_presence(branches)
            else:
                super().generate_one_of()

        def _resolved(self, branch):
            if "$ref" not in branch:
                return branch
            with self._resolver.resolving(branch["$ref"]) as found:
                return found

        def _branch(self, index):
            self.generate_func_code_block(
                self._definition["oneOf"][index], self._variable, self._variable_name, clear_variables=True
            )

        def _choose_by_constant(self, tag, branches):
            values = [branch["properties"][tag]["const"] for branch in branches]
            with self.l("if not isinstance({variable}, dict):"):
                self.exc("{name} must be object", rule="type")
            for index, value in enumerate(values):
                with self.l("{}if {variable}.get({!r}) == {!r}:", "el" if index else "", tag, value):
                    self._branch(index)
            with self.l("else:"):
                self.l('raise Invalid("{name}.' + tag + '", "must be one of ' + ", ".join(values) + '")')

        def _choose_by_presence(self, branches):
            keys = [branch["required"][0] for branch in branches]
            with self.l("if not isinstance({variable}, dict):"):
                self.exc("{name} must be object", rule="type")
            with self.l("if sum(key in {variable} for key in {!r}) != 1:", tuple(keys)):
                self.l('raise Invalid("{name}", "must contain exactly one of ' + ", ".join(keys) + '")')
            for index, key in enumerate(keys):
                with self.l("if {!r} in {variable}:", key):
                    self._branch(index)

    return Compiler


def _constant_member(branches: list[dict]) -> str | None:
    """The required member whose text constant differs in every branch."""
    for name in branches[0].get("required", ()):
        values = [b.get("properties", {}).get(name, {}) for b in branches if name in b.get("required", ())]
        constants = [v.get("const") for v in values if isinstance(v, dict)]
        if len(constants) == len(branches) == len(set(map(str, constants))) and all(isinstance(c, str) for c in constants):
            return name
    # one level of nesting: reportWork's branches share `kind` and differ in `workType`
    return None


def _required_members(branches: list[dict]) -> bool:
    keys = [tuple(branch.get("required", ())) for branch in branches]
    return all(len(key) == 1 for key in keys) and len(set(keys)) == len(keys)


_HEAD = '''"""Compiled from protocol/ by build_pyz.py; `build_pyz.py --check` compares. Not edited by hand."""
# fmt: off

import re

from rulith.wire.validation import Invalid, is_integer, is_number, listed

'''


def validators(protocol: Path, library: ModuleType, units: tuple[str, ...]) -> bytes:
    """The source of one validator module: a function per named schema of `units`, and VALIDATORS by name."""
    compiler = _compiler(library)
    parts, patterns, table = [], set(), []
    for unit, schema in named_schemas(protocol):
        if unit.partition("_")[0] not in units:
            continue
        _lint(schema, unit)
        wanted = NAMED.get(unit)
        root = schema if wanted is None else {
            "definitions": schema["definitions"],
            "anyOf": [{"$ref": f"#/definitions/{name}"} for name in wanted],
        }
        resolver = library.ref_resolver.RefResolver.from_schema(root, store={})
        generator = compiler(root, resolver=resolver, use_default=False, use_formats=False)
        for function in re.split(r"(?m)^(?=def )", generator.func_code)[1:]:
            # with `wanted` the root is ours and only its definitions are kept
            if wanted is None or not re.match(r"def validate\(", function):
                parts.append(_tidy(function, unit))
        patterns |= set(generator._compile_regexps)
        if wanted is None:
            table.append((unit.removeprefix("tool_"), unit))
        else:
            table += [(shown, f"{unit}___definitions_{name.lower()}") for name, shown in wanted.items()]
    rows = "".join(f"    {pattern!r}: re.compile({pattern!r}, re.ASCII).fullmatch,\n" for pattern in sorted(patterns))
    names = "".join(f"    {shown!r}: {function},\n" for shown, function in table)
    return (
        _HEAD + "PATTERNS = {\n" + rows + "}\n\n\n" + "\n\n".join(parts) + "\n\nVALIDATORS = {\n" + names + "}\n"
    ).encode("utf-8")


def _tidy(function: str, unit: str) -> str:
    """One compiled function under our names, with the library's pattern tests and messages replaced."""
    function = re.sub(r"\bvalidate(___\w+)?\(", lambda m: f"{unit}{m[1] or ''}(", function)
    function = function.replace(", custom_formats={}, name_prefix=None):", ', at="data"):')
    function = function.replace(", custom_formats, ", ", ")
    function = function.replace('"" + (name_prefix or "data")', "at").replace('(name_prefix or "data")', "at")
    function = function.replace(' + "",', ",").replace('at + ""', "at")
    function = re.sub(
        r"REGEX_PATTERNS\[('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]\.search\(", r"PATTERNS[\1](", function
    )
    function = function.replace("(int, float, Decimal)", "(int, float)")
    function = function.replace("except (JsonSchemaValueException, JsonSchemaValuesException)", "except Invalid")
    # documents keep their order in a refusal: a set would name another member on each run
    function = re.sub(r"_keys = set\((\w+)\.keys\(\)\)", r"_keys = dict(\1)", function)
    function = re.sub(r"_keys\.remove\((.+)\)$", r"_keys.pop(\1)", function, flags=re.MULTILINE)
    function = re.sub(r'"must contain " \+ \(str\(sorted\((\w+)\)\) \+ " properties"\)', r'"must contain " + listed(\1)', function)
    function = re.sub(r'"must not contain "\+str\((\w+)\)\+" properties"', r'"must not contain " + listed(\1)', function)
    left = re.search(r"REGEX_PATTERNS|JsonSchema|Decimal|custom_formats|name_prefix|\.search\(|NoneType", function)
    if left:
        raise SystemExit(f"{unit}: the schema compiler's output has changed; {left[0]!r} is not replaced")
    return function.rstrip() + "\n"
