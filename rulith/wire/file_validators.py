"""Compiled from protocol/ by build_pyz.py; `build_pyz.py --check` compares. Not edited by hand."""
# fmt: off

import re

from rulith.wire.validation import Invalid, is_integer, is_number, listed

PATTERNS = {
    '^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$': re.compile('^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_-]{1,63}$': re.compile('^[a-z][a-z0-9_-]{1,63}$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$': re.compile('^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]*$': re.compile('^[a-z][a-z0-9_]*$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$': re.compile('^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$': re.compile('^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]{0,63}$': re.compile('^[a-z][a-z0-9_]{0,63}$', re.ASCII).fullmatch,
    '^\\$[A-Za-z0-9_]+$': re.compile('^\\$[A-Za-z0-9_]+$', re.ASCII).fullmatch,
}


def capability___definitions_capability(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'version', 'title', 'vocabulary']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "format" in data_keys:
   data_keys.pop("format")
   data__format = data["format"]
   if not (isinstance(data__format, str)):
    raise Invalid(at + ".format", "must be string")
   if not (isinstance(data__format, str) and data__format == 'rulith-capability/1'):
    raise Invalid(at + ".format", "must be same as const definition: rulith-capability/1")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_predicateid(data__id, at + ".id")
  if "version" in data_keys:
   data_keys.pop("version")
   data__version = data["version"]
   if not (isinstance(data__version, str)):
    raise Invalid(at + ".version", "must be string")
   if isinstance(data__version, str):
    if not PATTERNS['^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$'](data__version):
     raise Invalid(at + ".version", "must match pattern ^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$")
  if "title" in data_keys:
   data_keys.pop("title")
   data__title = data["title"]
   capability___definitions_text(data__title, at + ".title")
  if "summary" in data_keys:
   data_keys.pop("summary")
   data__summary = data["summary"]
   capability___definitions_text(data__summary, at + ".summary")
  if "vocabulary" in data_keys:
   data_keys.pop("vocabulary")
   data__vocabulary = data["vocabulary"]
   if not (isinstance(data__vocabulary, dict)):
    raise Invalid(at + ".vocabulary", "must be object")
   data__vocabulary_is_dict = isinstance(data__vocabulary, dict)
   if data__vocabulary_is_dict:
    data__vocabulary__missing_keys = set(['defines']) - data__vocabulary.keys()
    if data__vocabulary__missing_keys:
     raise Invalid(at + ".vocabulary", "must contain " + listed(data__vocabulary__missing_keys))
    data__vocabulary_keys = dict(data__vocabulary)
    if "defines" in data__vocabulary_keys:
     data__vocabulary_keys.pop("defines")
     data__vocabulary__defines = data__vocabulary["defines"]
     if not (isinstance(data__vocabulary__defines, list)):
      raise Invalid(at + ".vocabulary.defines", "must be array")
     data__vocabulary__defines_is_list = isinstance(data__vocabulary__defines, (list, tuple))
     if data__vocabulary__defines_is_list:
      data__vocabulary__defines_len = len(data__vocabulary__defines)
      if data__vocabulary__defines_len > 1000:
       raise Invalid(at + ".vocabulary.defines", "must contain less than or equal to 1000 items")
      for data__vocabulary__defines_x, data__vocabulary__defines_item in enumerate(data__vocabulary__defines):
       capability___definitions_define(data__vocabulary__defines_item, at + ".vocabulary.defines[{data__vocabulary__defines_x}]".format(**locals()))
    if "imports" in data__vocabulary_keys:
     data__vocabulary_keys.pop("imports")
     data__vocabulary__imports = data__vocabulary["imports"]
     if not (isinstance(data__vocabulary__imports, list)):
      raise Invalid(at + ".vocabulary.imports", "must be array")
     data__vocabulary__imports_is_list = isinstance(data__vocabulary__imports, (list, tuple))
     if data__vocabulary__imports_is_list:
      data__vocabulary__imports_len = len(data__vocabulary__imports)
      if data__vocabulary__imports_len > 1000:
       raise Invalid(at + ".vocabulary.imports", "must contain less than or equal to 1000 items")
      for data__vocabulary__imports_x, data__vocabulary__imports_item in enumerate(data__vocabulary__imports):
       capability___definitions_import(data__vocabulary__imports_item, at + ".vocabulary.imports[{data__vocabulary__imports_x}]".format(**locals()))
    if data__vocabulary_keys:
     raise Invalid(at + ".vocabulary", "must not contain " + listed(data__vocabulary_keys))
  if "pins" in data_keys:
   data_keys.pop("pins")
   data__pins = data["pins"]
   if not (isinstance(data__pins, list)):
    raise Invalid(at + ".pins", "must be array")
   data__pins_is_list = isinstance(data__pins, (list, tuple))
   if data__pins_is_list:
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    data__pins_len = len(data__pins)
    if data__pins_len > len(set(fn(data__pins_x) for data__pins_x in data__pins)):
     raise Invalid(at + ".pins", "must contain unique items")
    for data__pins_x, data__pins_item in enumerate(data__pins):
     capability___definitions_alias(data__pins_item, at + ".pins[{data__pins_x}]".format(**locals()))
  if "rules" in data_keys:
   data_keys.pop("rules")
   data__rules = data["rules"]
   if not (isinstance(data__rules, list)):
    raise Invalid(at + ".rules", "must be array")
   data__rules_is_list = isinstance(data__rules, (list, tuple))
   if data__rules_is_list:
    data__rules_len = len(data__rules)
    if data__rules_len > 1000:
     raise Invalid(at + ".rules", "must contain less than or equal to 1000 items")
    for data__rules_x, data__rules_item in enumerate(data__rules):
     capability___definitions_rule(data__rules_item, at + ".rules[{data__rules_x}]".format(**locals()))
  if "acceptance" in data_keys:
   data_keys.pop("acceptance")
   data__acceptance = data["acceptance"]
   if not (isinstance(data__acceptance, list)):
    raise Invalid(at + ".acceptance", "must be array")
   data__acceptance_is_list = isinstance(data__acceptance, (list, tuple))
   if data__acceptance_is_list:
    data__acceptance_len = len(data__acceptance)
    if data__acceptance_len > 1000:
     raise Invalid(at + ".acceptance", "must contain less than or equal to 1000 items")
    for data__acceptance_x, data__acceptance_item in enumerate(data__acceptance):
     capability___definitions_acceptance(data__acceptance_item, at + ".acceptance[{data__acceptance_x}]".format(**locals()))
  if "actions" in data_keys:
   data_keys.pop("actions")
   data__actions = data["actions"]
   if not (isinstance(data__actions, list)):
    raise Invalid(at + ".actions", "must be array")
   data__actions_is_list = isinstance(data__actions, (list, tuple))
   if data__actions_is_list:
    data__actions_len = len(data__actions)
    if data__actions_len > 1000:
     raise Invalid(at + ".actions", "must contain less than or equal to 1000 items")
    for data__actions_x, data__actions_item in enumerate(data__actions):
     capability___definitions_action(data__actions_item, at + ".actions[{data__actions_x}]".format(**locals()))
  if "case_types" in data_keys:
   data_keys.pop("case_types")
   data__casetypes = data["case_types"]
   if not (isinstance(data__casetypes, dict)):
    raise Invalid(at + ".case_types", "must be object")
   data__casetypes_is_dict = isinstance(data__casetypes, dict)
   if data__casetypes_is_dict:
    data__casetypes_keys = dict(data__casetypes)
    if "exploration" in data__casetypes_keys:
     data__casetypes_keys.pop("exploration")
     data__casetypes__exploration = data__casetypes["exploration"]
     raise Invalid(at + ".case_types.exploration", "must not be there")
    for data__casetypes_key in data__casetypes_keys:
     if data__casetypes_key not in ['exploration']:
      data__casetypes_value = data__casetypes.get(data__casetypes_key)
      capability___definitions_casetype(data__casetypes_value, at + ".case_types.{data__casetypes_key}".format(**locals()))
    data__casetypes_len = len(data__casetypes)
    if data__casetypes_len != 0:
     data__casetypes_property_names = True
     for data__casetypes_key in data__casetypes:
      try:
       if isinstance(data__casetypes_key, str):
        if not PATTERNS['^[a-z][a-z0-9_-]{1,63}$'](data__casetypes_key):
         raise Invalid(at + ".case_types", "must match pattern ^[a-z][a-z0-9_-]{1,63}$")
      except Invalid:
       data__casetypes_property_names = False
     if not data__casetypes_property_names:
      raise Invalid(at + ".case_types", "must be named by propertyName definition")
  if "aggregates" in data_keys:
   data_keys.pop("aggregates")
   data__aggregates = data["aggregates"]
   if not (isinstance(data__aggregates, list)):
    raise Invalid(at + ".aggregates", "must be array")
   data__aggregates_is_list = isinstance(data__aggregates, (list, tuple))
   if data__aggregates_is_list:
    data__aggregates_len = len(data__aggregates)
    for data__aggregates_x, data__aggregates_item in enumerate(data__aggregates):
     capability___definitions_aggregate(data__aggregates_item, at + ".aggregates[{data__aggregates_x}]".format(**locals()))
  if "terms" in data_keys:
   data_keys.pop("terms")
   data__terms = data["terms"]
   if not (isinstance(data__terms, str)):
    raise Invalid(at + ".terms", "must be string")
  if "examples" in data_keys:
   data_keys.pop("examples")
   data__examples = data["examples"]
   if not (isinstance(data__examples, list)):
    raise Invalid(at + ".examples", "must be array")
   data__examples_is_list = isinstance(data__examples, (list, tuple))
   if data__examples_is_list:
    data__examples_len = len(data__examples)
    if data__examples_len > 1000:
     raise Invalid(at + ".examples", "must contain less than or equal to 1000 items")
    for data__examples_x, data__examples_item in enumerate(data__examples):
     capability___definitions_example(data__examples_item, at + ".examples[{data__examples_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_example(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['given']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "title" in data_keys:
   data_keys.pop("title")
   data__title = data["title"]
   capability___definitions_text(data__title, at + ".title")
  if "given" in data_keys:
   data_keys.pop("given")
   data__given = data["given"]
   capability___definitions_heads(data__given, at + ".given")
  if "follows" in data_keys:
   data_keys.pop("follows")
   data__follows = data["follows"]
   capability___definitions_heads(data__follows, at + ".follows")
  if "never" in data_keys:
   data_keys.pop("never")
   data__never = data["never"]
   capability___definitions_heads(data__never, at + ".never")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_heads(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 1000:
   raise Invalid(at, "must contain less than or equal to 1000 items")
  for data_x, data_item in enumerate(data):
   capability___definitions_head(data_item, at + "[{data_x}]".format(**locals()))
 return data


def capability___definitions_head(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   capability___definitions_alias(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   capability___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_args(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  for data_key in data_keys:
   if data_key not in []:
    data_value = data.get(data_key)
    capability___definitions_scalar(data_value, at + ".{data_key}".format(**locals()))
  data_len = len(data)
  if data_len != 0:
   data_property_names = True
   for data_key in data:
    try:
     if isinstance(data_key, str):
      if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data_key):
       raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]{0,63}$")
    except Invalid:
     data_property_names = False
   if not data_property_names:
    raise Invalid(at, "must be named by propertyName definition")
 return data


def capability___definitions_scalar(data, at="data"):
 if not (isinstance(data, str) or is_number(data) or isinstance(data, bool)):
  raise Invalid(at, "must be string or exact number or boolean")
 return data


def capability___definitions_aggregate(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['into', 'source', 'kind']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_name(data__id, at + ".id")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   capability___definitions_text(data__label, at + ".label")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'sum' or isinstance(data__kind, str) and data__kind == 'count' or isinstance(data__kind, str) and data__kind == 'min' or isinstance(data__kind, str) and data__kind == 'max' or isinstance(data__kind, str) and data__kind == 'avg'):
    raise Invalid(at + ".kind", "must be one of ['sum', 'count', 'min', 'max', 'avg']")
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   if not (isinstance(data__source, dict)):
    raise Invalid(at + ".source", "must be object")
   data__source_is_dict = isinstance(data__source, dict)
   if data__source_is_dict:
    data__source__missing_keys = set(['predicate']) - data__source.keys()
    if data__source__missing_keys:
     raise Invalid(at + ".source", "must contain " + listed(data__source__missing_keys))
    data__source_keys = dict(data__source)
    if "predicate" in data__source_keys:
     data__source_keys.pop("predicate")
     data__source__predicate = data__source["predicate"]
     capability___definitions_alias(data__source__predicate, at + ".source.predicate")
    if "valueArg" in data__source_keys:
     data__source_keys.pop("valueArg")
     data__source__valueArg = data__source["valueArg"]
     capability___definitions_name(data__source__valueArg, at + ".source.valueArg")
    if data__source_keys:
     raise Invalid(at + ".source", "must not contain " + listed(data__source_keys))
  if "into" in data_keys:
   data_keys.pop("into")
   data__into = data["into"]
   if not (isinstance(data__into, dict)):
    raise Invalid(at + ".into", "must be object")
   data__into_is_dict = isinstance(data__into, dict)
   if data__into_is_dict:
    data__into__missing_keys = set(['predicate', 'valueArg']) - data__into.keys()
    if data__into__missing_keys:
     raise Invalid(at + ".into", "must contain " + listed(data__into__missing_keys))
    data__into_keys = dict(data__into)
    if "predicate" in data__into_keys:
     data__into_keys.pop("predicate")
     data__into__predicate = data__into["predicate"]
     capability___definitions_alias(data__into__predicate, at + ".into.predicate")
    if "valueArg" in data__into_keys:
     data__into_keys.pop("valueArg")
     data__into__valueArg = data__into["valueArg"]
     capability___definitions_name(data__into__valueArg, at + ".into.valueArg")
    if data__into_keys:
     raise Invalid(at + ".into", "must not contain " + listed(data__into_keys))
  if "where" in data_keys:
   data_keys.pop("where")
   data__where = data["where"]
   if not (isinstance(data__where, dict)):
    raise Invalid(at + ".where", "must be object")
   data__where_is_dict = isinstance(data__where, dict)
   if data__where_is_dict:
    data__where__missing_keys = set(['arg', 'equals']) - data__where.keys()
    if data__where__missing_keys:
     raise Invalid(at + ".where", "must contain " + listed(data__where__missing_keys))
    data__where_keys = dict(data__where)
    if "arg" in data__where_keys:
     data__where_keys.pop("arg")
     data__where__arg = data__where["arg"]
     capability___definitions_name(data__where__arg, at + ".where.arg")
    if "equals" in data__where_keys:
     data__where_keys.pop("equals")
     data__where__equals = data__where["equals"]
     capability___definitions_scalar(data__where__equals, at + ".where.equals")
    if data__where_keys:
     raise Invalid(at + ".where", "must not contain " + listed(data__where_keys))
  if "group_by" in data_keys:
   data_keys.pop("group_by")
   data__groupby = data["group_by"]
   capability___definitions_name(data__groupby, at + ".group_by")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_name(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data):
   raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]{0,63}$")
 return data


def capability___definitions_casetype(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['title', 'business_key', 'floor', 'task']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "title" in data_keys:
   data_keys.pop("title")
   data__title = data["title"]
   capability___definitions_text(data__title, at + ".title")
  if "business_key" in data_keys:
   data_keys.pop("business_key")
   data__businesskey = data["business_key"]
   if not (isinstance(data__businesskey, dict)):
    raise Invalid(at + ".business_key", "must be object")
   data__businesskey_is_dict = isinstance(data__businesskey, dict)
   if data__businesskey_is_dict:
    data__businesskey_len = len(data__businesskey)
    if data__businesskey_len < 1:
     raise Invalid(at + ".business_key", "must contain at least 1 properties")
    data__businesskey_keys = dict(data__businesskey)
    for data__businesskey_key in data__businesskey_keys:
     if data__businesskey_key not in []:
      data__businesskey_value = data__businesskey.get(data__businesskey_key)
      capability___definitions_scalartype(data__businesskey_value, at + ".business_key.{data__businesskey_key}".format(**locals()))
    if data__businesskey_len != 0:
     data__businesskey_property_names = True
     for data__businesskey_key in data__businesskey:
      try:
       if isinstance(data__businesskey_key, str):
        if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data__businesskey_key):
         raise Invalid(at + ".business_key", "must match pattern ^[a-z][a-z0-9_]{0,63}$")
      except Invalid:
       data__businesskey_property_names = False
     if not data__businesskey_property_names:
      raise Invalid(at + ".business_key", "must be named by propertyName definition")
  if "floor" in data_keys:
   data_keys.pop("floor")
   data__floor = data["floor"]
   capability___definitions_tier(data__floor, at + ".floor")
  if "agent_rules" in data_keys:
   data_keys.pop("agent_rules")
   data__agentrules = data["agent_rules"]
   if not (isinstance(data__agentrules, str)):
    raise Invalid(at + ".agent_rules", "must be string")
   if not (isinstance(data__agentrules, str) and data__agentrules == 'none' or isinstance(data__agentrules, str) and data__agentrules == 'rules_only' or isinstance(data__agentrules, str) and data__agentrules == 'rules_and_actions'):
    raise Invalid(at + ".agent_rules", "must be one of ['none', 'rules_only', 'rules_and_actions']")
  if "task" in data_keys:
   data_keys.pop("task")
   data__task = data["task"]
   if not (isinstance(data__task, list)):
    raise Invalid(at + ".task", "must be array")
   data__task_is_list = isinstance(data__task, (list, tuple))
   if data__task_is_list:
    data__task_len = len(data__task)
    if data__task_len < 1:
     raise Invalid(at + ".task", "must contain at least 1 items")
    if data__task_len > 16:
     raise Invalid(at + ".task", "must contain less than or equal to 16 items")
    for data__task_x, data__task_item in enumerate(data__task):
     capability___definitions_tasknode(data__task_item, at + ".task[{data__task_x}]".format(**locals()))
  if "drive" in data_keys:
   data_keys.pop("drive")
   data__drive = data["drive"]
   if not (isinstance(data__drive, list)):
    raise Invalid(at + ".drive", "must be array")
   data__drive_is_list = isinstance(data__drive, (list, tuple))
   if data__drive_is_list:
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    data__drive_len = len(data__drive)
    if data__drive_len > len(set(fn(data__drive_x) for data__drive_x in data__drive)):
     raise Invalid(at + ".drive", "must contain unique items")
    for data__drive_x, data__drive_item in enumerate(data__drive):
     capability___definitions_name(data__drive_item, at + ".drive[{data__drive_x}]".format(**locals()))
  if "deadline_s" in data_keys:
   data_keys.pop("deadline_s")
   data__deadlines = data["deadline_s"]
   if not (is_integer(data__deadlines)):
    raise Invalid(at + ".deadline_s", "must be integer within ±9007199254740991")
   if isinstance(data__deadlines, (int, float)) and not isinstance(data__deadlines, bool):
    if data__deadlines < 1:
     raise Invalid(at + ".deadline_s", "must be bigger than or equal to 1")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_tasknode(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['node', 'goal', 'acceptance']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "node" in data_keys:
   data_keys.pop("node")
   data__node = data["node"]
   capability___definitions_name(data__node, at + ".node")
  if "goal" in data_keys:
   data_keys.pop("goal")
   data__goal = data["goal"]
   capability___definitions_text(data__goal, at + ".goal")
  if "acceptance" in data_keys:
   data_keys.pop("acceptance")
   data__acceptance = data["acceptance"]
   capability___definitions_name(data__acceptance, at + ".acceptance")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_tier(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'verified' or isinstance(data, str) and data == 'attested' or isinstance(data, str) and data == 'approximate' or isinstance(data, str) and data == 'inductive' or isinstance(data, str) and data == 'uncertain' or isinstance(data, str) and data == 'perceived' or isinstance(data, str) and data == 'asserted'):
  raise Invalid(at, "must be one of ['verified', 'attested', 'approximate', 'inductive', 'uncertain', 'perceived', 'asserted']")
 return data


def capability___definitions_scalartype(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'string' or isinstance(data, str) and data == 'number' or isinstance(data, str) and data == 'integer' or isinstance(data, str) and data == 'boolean'):
  raise Invalid(at, "must be one of ['string', 'number', 'integer', 'boolean']")
 return data


def capability___definitions_action(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'description']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_name(data__id, at + ".id")
  if "description" in data_keys:
   data_keys.pop("description")
   data__description = data["description"]
   capability___definitions_text(data__description, at + ".description")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   if not (isinstance(data__tool, str)):
    raise Invalid(at + ".tool", "must be string")
   if isinstance(data__tool, str):
    if not PATTERNS['^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$'](data__tool):
     raise Invalid(at + ".tool", "must match pattern ^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'read' or isinstance(data__kind, str) and data__kind == 'write' or isinstance(data__kind, str) and data__kind == 'run'):
    raise Invalid(at + ".kind", "must be one of ['read', 'write', 'run']")
  if "source_types" in data_keys:
   data_keys.pop("source_types")
   data__sourcetypes = data["source_types"]
   if not (isinstance(data__sourcetypes, list)):
    raise Invalid(at + ".source_types", "must be array")
   data__sourcetypes_is_list = isinstance(data__sourcetypes, (list, tuple))
   if data__sourcetypes_is_list:
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    data__sourcetypes_len = len(data__sourcetypes)
    if data__sourcetypes_len > len(set(fn(data__sourcetypes_x) for data__sourcetypes_x in data__sourcetypes)):
     raise Invalid(at + ".source_types", "must contain unique items")
    for data__sourcetypes_x, data__sourcetypes_item in enumerate(data__sourcetypes):
     capability___definitions_sourcetype(data__sourcetypes_item, at + ".source_types[{data__sourcetypes_x}]".format(**locals()))
  if "decision" in data_keys:
   data_keys.pop("decision")
   data__decision = data["decision"]
   capability___definitions_decision(data__decision, at + ".decision")
  if "params" in data_keys:
   data_keys.pop("params")
   data__params = data["params"]
   if not (isinstance(data__params, dict)):
    raise Invalid(at + ".params", "must be object")
   data__params_is_dict = isinstance(data__params, dict)
   if data__params_is_dict:
    data__params_keys = dict(data__params)
    if "source" in data__params_keys:
     data__params_keys.pop("source")
     data__params__source = data__params["source"]
     raise Invalid(at + ".params.source", "must not be there")
    for data__params_key in data__params_keys:
     if data__params_key not in ['source']:
      data__params_value = data__params.get(data__params_key)
      capability___definitions_paramtype(data__params_value, at + ".params.{data__params_key}".format(**locals()))
    data__params_len = len(data__params)
    if data__params_len != 0:
     data__params_property_names = True
     for data__params_key in data__params:
      try:
       if isinstance(data__params_key, str):
        if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data__params_key):
         raise Invalid(at + ".params", "must match pattern ^[a-z][a-z0-9_]{0,63}$")
      except Invalid:
       data__params_property_names = False
     if not data__params_property_names:
      raise Invalid(at + ".params", "must be named by propertyName definition")
  if "preconditions" in data_keys:
   data_keys.pop("preconditions")
   data__preconditions = data["preconditions"]
   capability___definitions_body(data__preconditions, at + ".preconditions")
  if "effects" in data_keys:
   data_keys.pop("effects")
   data__effects = data["effects"]
   capability___definitions_heads(data__effects, at + ".effects")
  if "returns" in data_keys:
   data_keys.pop("returns")
   data__returns = data["returns"]
   if not (isinstance(data__returns, list)):
    raise Invalid(at + ".returns", "must be array")
   data__returns_is_list = isinstance(data__returns, (list, tuple))
   if data__returns_is_list:
    data__returns_len = len(data__returns)
    if data__returns_len > 32:
     raise Invalid(at + ".returns", "must contain less than or equal to 32 items")
    for data__returns_x, data__returns_item in enumerate(data__returns):
     capability___definitions_returnrow(data__returns_item, at + ".returns[{data__returns_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['tool']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['effects']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "kind" in data_keys:
    data_keys.pop("kind")
    data__kind = data["kind"]
    raise Invalid(at + ".kind", "must not be there")
   if "source_types" in data_keys:
    data_keys.pop("source_types")
    data__sourcetypes = data["source_types"]
    raise Invalid(at + ".source_types", "must not be there")
   if "returns" in data_keys:
    data_keys.pop("returns")
    data__returns = data["returns"]
    raise Invalid(at + ".returns", "must not be there")
   if "decision" in data_keys:
    data_keys.pop("decision")
    data__decision = data["decision"]
    raise Invalid(at + ".decision", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['kind', 'source_types', 'returns']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 return data


def capability___definitions_returnrow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate', 'args']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   capability___definitions_alias(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   if not (isinstance(data__args, dict)):
    raise Invalid(at + ".args", "must be object")
   data__args_is_dict = isinstance(data__args, dict)
   if data__args_is_dict:
    data__args_keys = dict(data__args)
    for data__args_key in data__args_keys:
     if data__args_key not in []:
      data__args_value = data__args.get(data__args_key)
      if not (isinstance(data__args_value, str)):
       raise Invalid(at + ".args.{data__args_key}".format(**locals()), "must be string")
      if isinstance(data__args_value, str):
       if not PATTERNS['^\\$[A-Za-z0-9_]+$'](data__args_value):
        raise Invalid(at + ".args.{data__args_key}".format(**locals()), "must match pattern ^\\$[A-Za-z0-9_]+$")
    data__args_len = len(data__args)
    if data__args_len != 0:
     data__args_property_names = True
     for data__args_key in data__args:
      try:
       if isinstance(data__args_key, str):
        if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data__args_key):
         raise Invalid(at + ".args", "must match pattern ^[a-z][a-z0-9_]{0,63}$")
      except Invalid:
       data__args_property_names = False
     if not data__args_property_names:
      raise Invalid(at + ".args", "must be named by propertyName definition")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_body(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 1000:
   raise Invalid(at, "must contain less than or equal to 1000 items")
  for data_x, data_item in enumerate(data):
   capability___definitions_literal(data_item, at + "[{data_x}]".format(**locals()))
 return data


def capability___definitions_literal(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   capability___definitions_alias(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   capability___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if "naf" in data_keys:
   data_keys.pop("naf")
   data__naf = data["naf"]
   if not (isinstance(data__naf, bool)):
    raise Invalid(at + ".naf", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_paramtype(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'string' or isinstance(data, str) and data == 'number' or isinstance(data, str) and data == 'boolean' or isinstance(data, str) and data == 'string?' or isinstance(data, str) and data == 'number?' or isinstance(data, str) and data == 'boolean?'):
  raise Invalid(at, "must be one of ['string', 'number', 'boolean', 'string?', 'number?', 'boolean?']")
 return data


def capability___definitions_decision(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if isinstance(data__kind, str):
    data__kind_len = len(data__kind)
    if data__kind_len < 1:
     raise Invalid(at + ".kind", "must be longer than or equal to 1 characters")
    if data__kind_len > 200:
     raise Invalid(at + ".kind", "must be shorter than or equal to 200 characters")
  if "people" in data_keys:
   data_keys.pop("people")
   data__people = data["people"]
   if not (is_integer(data__people)):
    raise Invalid(at + ".people", "must be integer within ±9007199254740991")
   if isinstance(data__people, (int, float)) and not isinstance(data__people, bool):
    if data__people < 1:
     raise Invalid(at + ".people", "must be bigger than or equal to 1")
    if data__people > 8:
     raise Invalid(at + ".people", "must be smaller than or equal to 8")
  if "expires_s" in data_keys:
   data_keys.pop("expires_s")
   data__expiress = data["expires_s"]
   if not (is_integer(data__expiress)):
    raise Invalid(at + ".expires_s", "must be integer within ±9007199254740991")
   if isinstance(data__expiress, (int, float)) and not isinstance(data__expiress, bool):
    if data__expiress < 1:
     raise Invalid(at + ".expires_s", "must be bigger than or equal to 1")
    if data__expiress > 31536000:
     raise Invalid(at + ".expires_s", "must be smaller than or equal to 31536000")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_sourcetype(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'db' or isinstance(data, str) and data == 'file' or isinstance(data, str) and data == 'http' or isinstance(data, str) and data == 'mcp' or isinstance(data, str) and data == 'sensor' or isinstance(data, str) and data == 'compute' or isinstance(data, str) and data == 'human'):
  raise Invalid(at, "must be one of ['db', 'file', 'http', 'mcp', 'sensor', 'compute', 'human']")
 return data


def capability___definitions_acceptance(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'when']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_name(data__id, at + ".id")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   capability___definitions_text(data__label, at + ".label")
  if "when" in data_keys:
   data_keys.pop("when")
   data__when = data["when"]
   capability___definitions_body(data__when, at + ".when")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_rule(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'when', 'then']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_name(data__id, at + ".id")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   capability___definitions_text(data__label, at + ".label")
  if "when" in data_keys:
   data_keys.pop("when")
   data__when = data["when"]
   capability___definitions_body(data__when, at + ".when")
  if "then" in data_keys:
   data_keys.pop("then")
   data__then = data["then"]
   if not (isinstance(data__then, list)):
    raise Invalid(at + ".then", "must be array")
   data__then_is_list = isinstance(data__then, (list, tuple))
   if data__then_is_list:
    data__then_len = len(data__then)
    if data__then_len < 1:
     raise Invalid(at + ".then", "must contain at least 1 items")
    if data__then_len > 1000:
     raise Invalid(at + ".then", "must contain less than or equal to 1000 items")
    for data__then_x, data__then_item in enumerate(data__then):
     capability___definitions_head(data__then_item, at + ".then[{data__then_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_alias(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-z][a-z0-9_]*$'](data):
   raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]*$")
 return data


def capability___definitions_import(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'as']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_boardword(data__id, at + ".id")
  if "as" in data_keys:
   data_keys.pop("as")
   data__as = data["as"]
   capability___definitions_alias(data__as, at + ".as")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_boardword(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$'](data):
   raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)*$")
 return data


def capability___definitions_define(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'as', 'args']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   capability___definitions_predicateid(data__id, at + ".id")
  if "as" in data_keys:
   data_keys.pop("as")
   data__as = data["as"]
   capability___definitions_alias(data__as, at + ".as")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   capability___definitions_typedargs(data__args, at + ".args")
  if "sources" in data_keys:
   data_keys.pop("sources")
   data__sources = data["sources"]
   if not (isinstance(data__sources, list)):
    raise Invalid(at + ".sources", "must be array")
   data__sources_is_list = isinstance(data__sources, (list, tuple))
   if data__sources_is_list:
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    data__sources_len = len(data__sources)
    if data__sources_len > len(set(fn(data__sources_x) for data__sources_x in data__sources)):
     raise Invalid(at + ".sources", "must contain unique items")
    for data__sources_x, data__sources_item in enumerate(data__sources):
     capability___definitions_sourcetype(data__sources_item, at + ".sources[{data__sources_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def capability___definitions_typedargs(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  for data_key in data_keys:
   if data_key not in []:
    data_value = data.get(data_key)
    data_value_any_of_count2 = 0
    if not data_value_any_of_count2:
     try:
      capability___definitions_scalartype(data_value, at + ".{data_key}".format(**locals()))
      data_value_any_of_count2 += 1
     except Invalid: pass
    if not data_value_any_of_count2:
     try:
      if not (isinstance(data_value, dict)):
       raise Invalid(at + ".{data_key}".format(**locals()), "must be object")
      data_value_is_dict = isinstance(data_value, dict)
      if data_value_is_dict:
       data_value__missing_keys = set(['type']) - data_value.keys()
       if data_value__missing_keys:
        raise Invalid(at + ".{data_key}".format(**locals()), "must contain " + listed(data_value__missing_keys))
       data_value_keys = dict(data_value)
       if "type" in data_value_keys:
        data_value_keys.pop("type")
        data_value__type = data_value["type"]
        capability___definitions_scalartype(data_value__type, at + ".{data_key}.type".format(**locals()))
       if "unit" in data_value_keys:
        data_value_keys.pop("unit")
        data_value__unit = data_value["unit"]
        capability___definitions_text(data_value__unit, at + ".{data_key}.unit".format(**locals()))
       if data_value_keys:
        raise Invalid(at + ".{data_key}".format(**locals()), "must not contain " + listed(data_value_keys))
      data_value_any_of_count2 += 1
     except Invalid: pass
    if not data_value_any_of_count2:
     raise Invalid(at + ".{data_key}".format(**locals()), "cannot be validated by any definition")
  data_len = len(data)
  if data_len != 0:
   data_property_names = True
   for data_key in data:
    try:
     if isinstance(data_key, str):
      if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data_key):
       raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]{0,63}$")
    except Invalid:
     data_property_names = False
   if not data_property_names:
    raise Invalid(at, "must be named by propertyName definition")
 return data


def capability___definitions_text(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must be longer than or equal to 1 characters")
 return data


def capability___definitions_predicateid(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$'](data):
   raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$")
 return data


def constitution___definitions_constitution(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['format', 'version', 'title', 'rules']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "format" in data_keys:
   data_keys.pop("format")
   data__format = data["format"]
   if not (isinstance(data__format, str)):
    raise Invalid(at + ".format", "must be string")
   if not (isinstance(data__format, str) and data__format == 'rulith-constitution/1'):
    raise Invalid(at + ".format", "must be same as const definition: rulith-constitution/1")
  if "version" in data_keys:
   data_keys.pop("version")
   data__version = data["version"]
   if not (isinstance(data__version, str)):
    raise Invalid(at + ".version", "must be string")
   if isinstance(data__version, str):
    if not PATTERNS['^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$'](data__version):
     raise Invalid(at + ".version", "must match pattern ^(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)\\.(?:0|[1-9][0-9]*)$")
  if "title" in data_keys:
   data_keys.pop("title")
   data__title = data["title"]
   constitution___definitions_text(data__title, at + ".title")
  if "summary" in data_keys:
   data_keys.pop("summary")
   data__summary = data["summary"]
   constitution___definitions_text(data__summary, at + ".summary")
  if "rules" in data_keys:
   data_keys.pop("rules")
   data__rules = data["rules"]
   if not (isinstance(data__rules, list)):
    raise Invalid(at + ".rules", "must be array")
   data__rules_is_list = isinstance(data__rules, (list, tuple))
   if data__rules_is_list:
    data__rules_len = len(data__rules)
    if data__rules_len > 1000:
     raise Invalid(at + ".rules", "must contain less than or equal to 1000 items")
    for data__rules_x, data__rules_item in enumerate(data__rules):
     constitution___definitions_rule(data__rules_item, at + ".rules[{data__rules_x}]".format(**locals()))
  if "examples" in data_keys:
   data_keys.pop("examples")
   data__examples = data["examples"]
   if not (isinstance(data__examples, list)):
    raise Invalid(at + ".examples", "must be array")
   data__examples_is_list = isinstance(data__examples, (list, tuple))
   if data__examples_is_list:
    data__examples_len = len(data__examples)
    if data__examples_len > 1000:
     raise Invalid(at + ".examples", "must contain less than or equal to 1000 items")
    for data__examples_x, data__examples_item in enumerate(data__examples):
     constitution___definitions_example(data__examples_item, at + ".examples[{data__examples_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_example(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['title', 'given']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "title" in data_keys:
   data_keys.pop("title")
   data__title = data["title"]
   constitution___definitions_text(data__title, at + ".title")
  if "given" in data_keys:
   data_keys.pop("given")
   data__given = data["given"]
   constitution___definitions_facts(data__given, at + ".given")
  if "follows" in data_keys:
   data_keys.pop("follows")
   data__follows = data["follows"]
   constitution___definitions_facts(data__follows, at + ".follows")
  if "never" in data_keys:
   data_keys.pop("never")
   data__never = data["never"]
   constitution___definitions_facts(data__never, at + ".never")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_facts(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 1000:
   raise Invalid(at, "must contain less than or equal to 1000 items")
  for data_x, data_item in enumerate(data):
   constitution___definitions_fact(data_item, at + "[{data_x}]".format(**locals()))
 return data


def constitution___definitions_fact(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   constitution___definitions_name(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   constitution___definitions_args(data__args, at + ".args")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_args(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  for data_key in data_keys:
   if data_key not in []:
    data_value = data.get(data_key)
    if not (isinstance(data_value, str) or is_number(data_value) or isinstance(data_value, bool)):
     raise Invalid(at + ".{data_key}".format(**locals()), "must be string or exact number or boolean")
  data_len = len(data)
  if data_len != 0:
   data_property_names = True
   for data_key in data:
    try:
     if isinstance(data_key, str):
      if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data_key):
       raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]{0,63}$")
    except Invalid:
     data_property_names = False
   if not data_property_names:
    raise Invalid(at, "must be named by propertyName definition")
 return data


def constitution___definitions_name(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data):
   raise Invalid(at, "must match pattern ^[a-z][a-z0-9_]{0,63}$")
 return data


def constitution___definitions_rule(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'label', 'when', 'then']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   constitution___definitions_name(data__id, at + ".id")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   constitution___definitions_text(data__label, at + ".label")
  if "when" in data_keys:
   data_keys.pop("when")
   data__when = data["when"]
   if not (isinstance(data__when, list)):
    raise Invalid(at + ".when", "must be array")
   data__when_is_list = isinstance(data__when, (list, tuple))
   if data__when_is_list:
    data__when_len = len(data__when)
    if data__when_len < 1:
     raise Invalid(at + ".when", "must contain at least 1 items")
    if data__when_len > 1000:
     raise Invalid(at + ".when", "must contain less than or equal to 1000 items")
    for data__when_x, data__when_item in enumerate(data__when):
     constitution___definitions_literal(data__when_item, at + ".when[{data__when_x}]".format(**locals()))
  if "then" in data_keys:
   data_keys.pop("then")
   data__then = data["then"]
   if not (isinstance(data__then, list)):
    raise Invalid(at + ".then", "must be array")
   data__then_is_list = isinstance(data__then, (list, tuple))
   if data__then_is_list:
    data__then_len = len(data__then)
    if data__then_len < 1:
     raise Invalid(at + ".then", "must contain at least 1 items")
    if data__then_len > 1000:
     raise Invalid(at + ".then", "must contain less than or equal to 1000 items")
    for data__then_x, data__then_item in enumerate(data__then):
     constitution___definitions_head(data__then_item, at + ".then[{data__then_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_head(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "predicate" in data_keys:
    data_keys.pop("predicate")
    data__predicate = data["predicate"]
    if not (isinstance(data__predicate, str) and data__predicate == 'forbidden'):
     raise Invalid(at + ".predicate", "must be same as const definition: forbidden")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['args']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "args" in data_keys:
    data_keys.pop("args")
    data__args = data["args"]
    data__args_is_dict = isinstance(data__args, dict)
    if data__args_is_dict:
     data__args_len = len(data__args)
     if data__args_len < 2:
      raise Invalid(at + ".args", "must contain at least 2 properties")
     if data__args_len > 2:
      raise Invalid(at + ".args", "must contain less than or equal to 2 properties")
     data__args__missing_keys = set(['action', 'reason']) - data__args.keys()
     if data__args__missing_keys:
      raise Invalid(at + ".args", "must contain " + listed(data__args__missing_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "predicate" in data_keys:
    data_keys.pop("predicate")
    data__predicate = data["predicate"]
    if not (isinstance(data__predicate, str) and data__predicate == 'needs_decision'):
     raise Invalid(at + ".predicate", "must be same as const definition: needs_decision")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['args']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "args" in data_keys:
    data_keys.pop("args")
    data__args = data["args"]
    data__args_is_dict = isinstance(data__args, dict)
    if data__args_is_dict:
     data__args_len = len(data__args)
     if data__args_len < 2:
      raise Invalid(at + ".args", "must contain at least 2 properties")
     if data__args_len > 2:
      raise Invalid(at + ".args", "must contain less than or equal to 2 properties")
     data__args__missing_keys = set(['action', 'kind']) - data__args.keys()
     if data__args__missing_keys:
      raise Invalid(at + ".args", "must contain " + listed(data__args__missing_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "predicate" in data_keys:
    data_keys.pop("predicate")
    data__predicate = data["predicate"]
    if not (isinstance(data__predicate, str) and data__predicate == 'proposed' or isinstance(data__predicate, str) and data__predicate == 'proposed_arg' or isinstance(data__predicate, str) and data__predicate == 'proposed_source' or isinstance(data__predicate, str) and data__predicate == 'rests_on' or isinstance(data__predicate, str) and data__predicate == 'case' or isinstance(data__predicate, str) and data__predicate == 'agent'):
     raise Invalid(at + ".predicate", "must be one of ['proposed', 'proposed_arg', 'proposed_source', 'rests_on', 'case', 'agent']")
 except Invalid: pass
 else:
  raise Invalid(at, "must NOT match a disallowed definition")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   constitution___definitions_name(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   constitution___definitions_args(data__args, at + ".args")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_literal(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   constitution___definitions_name(data__predicate, at + ".predicate")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   constitution___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if "naf" in data_keys:
   data_keys.pop("naf")
   data__naf = data["naf"]
   if not (isinstance(data__naf, bool)):
    raise Invalid(at + ".naf", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def constitution___definitions_text(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must be longer than or equal to 1 characters")
 return data


VALIDATORS = {
    'capability': capability___definitions_capability,
    'constitution': constitution___definitions_constitution,
}
