"""Compiled from protocol/ by build_pyz.py; `build_pyz.py --check` compares. Not edited by hand."""
# fmt: off

import re

from rulith.wire.validation import Invalid, is_integer, is_number, listed

PATTERNS = {
    '^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$': re.compile('^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$', re.ASCII).fullmatch,
    '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?Z$': re.compile('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?Z$', re.ASCII).fullmatch,
    '^[A-Za-z0-9!#&^_.+-]{1,127}/[A-Za-z0-9!#&^_.+-]{1,127}(?:; ?[A-Za-z0-9=._ -]{1,80})?$': re.compile('^[A-Za-z0-9!#&^_.+-]{1,127}/[A-Za-z0-9!#&^_.+-]{1,127}(?:; ?[A-Za-z0-9=._ -]{1,80})?$', re.ASCII).fullmatch,
    '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$': re.compile('^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$', re.ASCII).fullmatch,
    '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$': re.compile('^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$', re.ASCII).fullmatch,
    '^[a-f0-9]{64}$': re.compile('^[a-f0-9]{64}$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_-]{1,63}$': re.compile('^[a-z][a-z0-9_-]{1,63}$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$': re.compile('^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$': re.compile('^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$', re.ASCII).fullmatch,
    '^[a-z][a-z0-9_]{0,63}$': re.compile('^[a-z][a-z0-9_]{0,63}$', re.ASCII).fullmatch,
    '^\\$[A-Za-z0-9_]+$': re.compile('^\\$[A-Za-z0-9_]+$', re.ASCII).fullmatch,
    '^art_[a-f0-9]{32}$': re.compile('^art_[a-f0-9]{32}$', re.ASCII).fullmatch,
    '^history:[a-f0-9]{64}$': re.compile('^history:[a-f0-9]{64}$', re.ASCII).fullmatch,
    '^https?://[!-~]+$': re.compile('^https?://[!-~]+$', re.ASCII).fullmatch,
    '^mat_[a-f0-9]{32}$': re.compile('^mat_[a-f0-9]{32}$', re.ASCII).fullmatch,
    '^mdr_[a-f0-9]{32}$': re.compile('^mdr_[a-f0-9]{32}$', re.ASCII).fullmatch,
    '^mlt_[A-Za-z0-9_-]{43}$': re.compile('^mlt_[A-Za-z0-9_-]{43}$', re.ASCII).fullmatch,
    '^sha256:[a-f0-9]{16}$': re.compile('^sha256:[a-f0-9]{16}$', re.ASCII).fullmatch,
    '^sha256:[a-f0-9]{64}$': re.compile('^sha256:[a-f0-9]{64}$', re.ASCII).fullmatch,
    '^tool:[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$': re.compile('^tool:[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$', re.ASCII).fullmatch,
    '^wkr_[A-Za-z0-9_-]{8,80}$': re.compile('^wkr_[A-Za-z0-9_-]{8,80}$', re.ASCII).fullmatch,
}


def tool_OpenCase(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 if not isinstance(data, dict):
  raise Invalid(at, "must be object")
 if sum(key in data for key in ('caseType', 'caseId')) != 1:
  raise Invalid(at, "must contain exactly one of caseType, caseId")
 if 'caseType' in data:
  if not (isinstance(data, dict)):
   raise Invalid(at, "must be object")
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['caseType']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "caseType" in data_keys:
    data_keys.pop("caseType")
    data__caseType = data["caseType"]
    if not (isinstance(data__caseType, str)):
     raise Invalid(at + ".caseType", "must be string")
    if isinstance(data__caseType, str):
     if not PATTERNS['^[a-z][a-z0-9_-]{1,63}$'](data__caseType):
      raise Invalid(at + ".caseType", "must match pattern ^[a-z][a-z0-9_-]{1,63}$")
   if "businessKey" in data_keys:
    data_keys.pop("businessKey")
    data__businessKey = data["businessKey"]
    if not (isinstance(data__businessKey, dict)):
     raise Invalid(at + ".businessKey", "must be object")
    data__businessKey_is_dict = isinstance(data__businessKey, dict)
    if data__businessKey_is_dict:
     data__businessKey_keys = dict(data__businessKey)
     for data__businessKey_key in data__businessKey_keys:
      if data__businessKey_key not in []:
       data__businessKey_value = data__businessKey.get(data__businessKey_key)
       if not (isinstance(data__businessKey_value, str) or is_number(data__businessKey_value) or isinstance(data__businessKey_value, bool)):
        raise Invalid(at + ".businessKey.{data__businessKey_key}".format(**locals()), "must be string or exact number or boolean")
   if data_keys:
    raise Invalid(at, "must not contain " + listed(data_keys))
 if 'caseId' in data:
  if not (isinstance(data, dict)):
   raise Invalid(at, "must be object")
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['caseId']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "caseId" in data_keys:
    data_keys.pop("caseId")
    data__caseId = data["caseId"]
    if not (isinstance(data__caseId, str)):
     raise Invalid(at + ".caseId", "must be string")
    if isinstance(data__caseId, str):
     data__caseId_len = len(data__caseId)
     if data__caseId_len < 1:
      raise Invalid(at + ".caseId", "must be longer than or equal to 1 characters")
   if data_keys:
    raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['operations']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   if not (isinstance(data__operations, list)):
    raise Invalid(at + ".operations", "must be array")
   data__operations_is_list = isinstance(data__operations, (list, tuple))
   if data__operations_is_list:
    data__operations_len = len(data__operations)
    if data__operations_len < 1:
     raise Invalid(at + ".operations", "must contain at least 1 items")
    for data__operations_x, data__operations_item in enumerate(data__operations):
     if not isinstance(data__operations_item, dict):
      raise Invalid(at + ".operations[{data__operations_x}]".format(**locals()), "must be object")
     if data__operations_item.get('op') == 'assert_fact':
      tool_ApplyBatch___definitions_assertfact(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'declare_goal':
      tool_ApplyBatch___definitions_declaregoal(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'add_axiom':
      tool_ApplyBatch___definitions_addaxiom(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'define_action':
      tool_ApplyBatch___definitions_defineaction(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'apply_action':
      tool_ApplyBatch___definitions_applyaction(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'derive_aggregate':
      tool_ApplyBatch___definitions_deriveaggregate(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'retract_node':
      tool_ApplyBatch___definitions_retractnode(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     elif data__operations_item.get('op') == 'revise_fact':
      tool_ApplyBatch___definitions_revisefact(data__operations_item, at + ".operations[{data__operations_x}]".format(**locals()))
     else:
      raise Invalid(at + ".operations[{data__operations_x}]".format(**locals()) + ".op", "must be one of assert_fact, declare_goal, add_axiom, define_action, apply_action, derive_aggregate, retract_node, revise_fact")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_revisefact(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'nodeId', 'predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'revise_fact'):
    raise Invalid(at + ".op", "must be same as const definition: revise_fact")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
  if "nodeId" in data_keys:
   data_keys.pop("nodeId")
   data__nodeId = data["nodeId"]
   if not (isinstance(data__nodeId, str)):
    raise Invalid(at + ".nodeId", "must be string")
   if isinstance(data__nodeId, str):
    data__nodeId_len = len(data__nodeId)
    if data__nodeId_len < 1:
     raise Invalid(at + ".nodeId", "must be longer than or equal to 1 characters")
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   if not (isinstance(data__predicate, str)):
    raise Invalid(at + ".predicate", "must be string")
   if isinstance(data__predicate, str):
    data__predicate_len = len(data__predicate)
    if data__predicate_len < 1:
     raise Invalid(at + ".predicate", "must be longer than or equal to 1 characters")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   tool_ApplyBatch___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_args(data, at="data"):
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
 return data


def tool_ApplyBatch___definitions_retractnode(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'nodeId']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'retract_node'):
    raise Invalid(at + ".op", "must be same as const definition: retract_node")
  if "nodeId" in data_keys:
   data_keys.pop("nodeId")
   data__nodeId = data["nodeId"]
   if not (isinstance(data__nodeId, str)):
    raise Invalid(at + ".nodeId", "must be string")
   if isinstance(data__nodeId, str):
    data__nodeId_len = len(data__nodeId)
    if data__nodeId_len < 1:
     raise Invalid(at + ".nodeId", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_deriveaggregate(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'source', 'into']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'derive_aggregate'):
    raise Invalid(at + ".op", "must be same as const definition: derive_aggregate")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
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
     if not (isinstance(data__source__predicate, str)):
      raise Invalid(at + ".source.predicate", "must be string")
     if isinstance(data__source__predicate, str):
      data__source__predicate_len = len(data__source__predicate)
      if data__source__predicate_len < 1:
       raise Invalid(at + ".source.predicate", "must be longer than or equal to 1 characters")
    if "valueArg" in data__source_keys:
     data__source_keys.pop("valueArg")
     data__source__valueArg = data__source["valueArg"]
     if not (isinstance(data__source__valueArg, str)):
      raise Invalid(at + ".source.valueArg", "must be string")
     if isinstance(data__source__valueArg, str):
      data__source__valueArg_len = len(data__source__valueArg)
      if data__source__valueArg_len < 1:
       raise Invalid(at + ".source.valueArg", "must be longer than or equal to 1 characters")
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
     if not (isinstance(data__into__predicate, str)):
      raise Invalid(at + ".into.predicate", "must be string")
     if isinstance(data__into__predicate, str):
      data__into__predicate_len = len(data__into__predicate)
      if data__into__predicate_len < 1:
       raise Invalid(at + ".into.predicate", "must be longer than or equal to 1 characters")
    if "valueArg" in data__into_keys:
     data__into_keys.pop("valueArg")
     data__into__valueArg = data__into["valueArg"]
     if not (isinstance(data__into__valueArg, str)):
      raise Invalid(at + ".into.valueArg", "must be string")
     if isinstance(data__into__valueArg, str):
      data__into__valueArg_len = len(data__into__valueArg)
      if data__into__valueArg_len < 1:
       raise Invalid(at + ".into.valueArg", "must be longer than or equal to 1 characters")
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
     if not (isinstance(data__where__arg, str)):
      raise Invalid(at + ".where.arg", "must be string")
     if isinstance(data__where__arg, str):
      data__where__arg_len = len(data__where__arg)
      if data__where__arg_len < 1:
       raise Invalid(at + ".where.arg", "must be longer than or equal to 1 characters")
    if "equals" in data__where_keys:
     data__where_keys.pop("equals")
     data__where__equals = data__where["equals"]
     if not (isinstance(data__where__equals, str) or is_number(data__where__equals) or isinstance(data__where__equals, bool)):
      raise Invalid(at + ".where.equals", "must be string or exact number or boolean")
    if data__where_keys:
     raise Invalid(at + ".where", "must not contain " + listed(data__where_keys))
  if "group_by" in data_keys:
   data_keys.pop("group_by")
   data__groupby = data["group_by"]
   if not (isinstance(data__groupby, str)):
    raise Invalid(at + ".group_by", "must be string")
   if isinstance(data__groupby, str):
    data__groupby_len = len(data__groupby)
    if data__groupby_len < 1:
     raise Invalid(at + ".group_by", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_applyaction(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'action']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'apply_action'):
    raise Invalid(at + ".op", "must be same as const definition: apply_action")
  if "action" in data_keys:
   data_keys.pop("action")
   data__action = data["action"]
   if not (isinstance(data__action, str)):
    raise Invalid(at + ".action", "must be string")
   if isinstance(data__action, str):
    data__action_len = len(data__action)
    if data__action_len < 1:
     raise Invalid(at + ".action", "must be longer than or equal to 1 characters")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   tool_ApplyBatch___definitions_args(data__args, at + ".args")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_defineaction(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'action', 'effects']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'define_action'):
    raise Invalid(at + ".op", "must be same as const definition: define_action")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   if not (isinstance(data__label, str)):
    raise Invalid(at + ".label", "must be string")
  if "action" in data_keys:
   data_keys.pop("action")
   data__action = data["action"]
   if not (isinstance(data__action, str)):
    raise Invalid(at + ".action", "must be string")
   if isinstance(data__action, str):
    data__action_len = len(data__action)
    if data__action_len < 1:
     raise Invalid(at + ".action", "must be longer than or equal to 1 characters")
  if "preconditions" in data_keys:
   data_keys.pop("preconditions")
   data__preconditions = data["preconditions"]
   if not (isinstance(data__preconditions, list)):
    raise Invalid(at + ".preconditions", "must be array")
   data__preconditions_is_list = isinstance(data__preconditions, (list, tuple))
   if data__preconditions_is_list:
    data__preconditions_len = len(data__preconditions)
    for data__preconditions_x, data__preconditions_item in enumerate(data__preconditions):
     tool_ApplyBatch___definitions_atom(data__preconditions_item, at + ".preconditions[{data__preconditions_x}]".format(**locals()))
  if "effects" in data_keys:
   data_keys.pop("effects")
   data__effects = data["effects"]
   if not (isinstance(data__effects, list)):
    raise Invalid(at + ".effects", "must be array")
   data__effects_is_list = isinstance(data__effects, (list, tuple))
   if data__effects_is_list:
    data__effects_len = len(data__effects)
    for data__effects_x, data__effects_item in enumerate(data__effects):
     tool_ApplyBatch___definitions_head(data__effects_item, at + ".effects[{data__effects_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_head(data, at="data"):
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
   if not (isinstance(data__predicate, str)):
    raise Invalid(at + ".predicate", "must be string")
   if isinstance(data__predicate, str):
    data__predicate_len = len(data__predicate)
    if data__predicate_len < 1:
     raise Invalid(at + ".predicate", "must be longer than or equal to 1 characters")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   tool_ApplyBatch___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_atom(data, at="data"):
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
   if not (isinstance(data__predicate, str)):
    raise Invalid(at + ".predicate", "must be string")
   if isinstance(data__predicate, str):
    data__predicate_len = len(data__predicate)
    if data__predicate_len < 1:
     raise Invalid(at + ".predicate", "must be longer than or equal to 1 characters")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   tool_ApplyBatch___definitions_args(data__args, at + ".args")
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


def tool_ApplyBatch___definitions_addaxiom(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'when', 'then']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'add_axiom'):
    raise Invalid(at + ".op", "must be same as const definition: add_axiom")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   if not (isinstance(data__label, str)):
    raise Invalid(at + ".label", "must be string")
  if "when" in data_keys:
   data_keys.pop("when")
   data__when = data["when"]
   if not (isinstance(data__when, list)):
    raise Invalid(at + ".when", "must be array")
   data__when_is_list = isinstance(data__when, (list, tuple))
   if data__when_is_list:
    data__when_len = len(data__when)
    for data__when_x, data__when_item in enumerate(data__when):
     tool_ApplyBatch___definitions_atom(data__when_item, at + ".when[{data__when_x}]".format(**locals()))
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
    for data__then_x, data__then_item in enumerate(data__then):
     tool_ApplyBatch___definitions_head(data__then_item, at + ".then[{data__then_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_declaregoal(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'desired']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'declare_goal'):
    raise Invalid(at + ".op", "must be same as const definition: declare_goal")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   if not (isinstance(data__label, str)):
    raise Invalid(at + ".label", "must be string")
  if "desired" in data_keys:
   data_keys.pop("desired")
   data__desired = data["desired"]
   if not (isinstance(data__desired, list)):
    raise Invalid(at + ".desired", "must be array")
   data__desired_is_list = isinstance(data__desired, (list, tuple))
   if data__desired_is_list:
    data__desired_len = len(data__desired)
    if data__desired_len < 1:
     raise Invalid(at + ".desired", "must contain at least 1 items")
    for data__desired_x, data__desired_item in enumerate(data__desired):
     tool_ApplyBatch___definitions_head(data__desired_item, at + ".desired[{data__desired_x}]".format(**locals()))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyBatch___definitions_assertfact(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['op', 'predicate']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "op" in data_keys:
   data_keys.pop("op")
   data__op = data["op"]
   if not (isinstance(data__op, str)):
    raise Invalid(at + ".op", "must be string")
   if not (isinstance(data__op, str) and data__op == 'assert_fact'):
    raise Invalid(at + ".op", "must be same as const definition: assert_fact")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    data__id_len = len(data__id)
    if data__id_len < 1:
     raise Invalid(at + ".id", "must be longer than or equal to 1 characters")
  if "predicate" in data_keys:
   data_keys.pop("predicate")
   data__predicate = data["predicate"]
   if not (isinstance(data__predicate, str)):
    raise Invalid(at + ".predicate", "must be string")
   if isinstance(data__predicate, str):
    data__predicate_len = len(data__predicate)
    if data__predicate_len < 1:
     raise Invalid(at + ".predicate", "must be longer than or equal to 1 characters")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   tool_ApplyBatch___definitions_args(data__args, at + ".args")
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ApplyAction(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['action']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "action" in data_keys:
   data_keys.pop("action")
   data__action = data["action"]
   if not (isinstance(data__action, str)):
    raise Invalid(at + ".action", "must be string")
   if isinstance(data__action, str):
    data__action_len = len(data__action)
    if data__action_len < 1:
     raise Invalid(at + ".action", "must be longer than or equal to 1 characters")
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
      if not (isinstance(data__args_value, str) or is_number(data__args_value) or isinstance(data__args_value, bool)):
       raise Invalid(at + ".args.{data__args_key}".format(**locals()), "must be string or exact number or boolean")
  if "target" in data_keys:
   data_keys.pop("target")
   data__target = data["target"]
   if not (isinstance(data__target, str)):
    raise Invalid(at + ".target", "must be string")
   if isinstance(data__target, str):
    data__target_len = len(data__target)
    if data__target_len < 1:
     raise Invalid(at + ".target", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_CloseCase(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['root']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "root" in data_keys:
   data_keys.pop("root")
   data__root = data["root"]
   if not (isinstance(data__root, str)):
    raise Invalid(at + ".root", "must be string")
   if isinstance(data__root, str):
    data__root_len = len(data__root)
    if data__root_len < 1:
     raise Invalid(at + ".root", "must be longer than or equal to 1 characters")
  if "disposition" in data_keys:
   data_keys.pop("disposition")
   data__disposition = data["disposition"]
   if not (isinstance(data__disposition, str)):
    raise Invalid(at + ".disposition", "must be string")
   if not (isinstance(data__disposition, str) and data__disposition == 'completed' or isinstance(data__disposition, str) and data__disposition == 'cancelled' or isinstance(data__disposition, str) and data__disposition == 'failed' or isinstance(data__disposition, str) and data__disposition == 'abandoned' or isinstance(data__disposition, str) and data__disposition == 'superseded'):
    raise Invalid(at + ".disposition", "must be one of ['completed', 'cancelled', 'failed', 'abandoned', 'superseded']")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
   if isinstance(data__reason, str):
    data__reason_len = len(data__reason)
    if data__reason_len < 1:
     raise Invalid(at + ".reason", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_QueryBoard(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  if "include" in data_keys:
   data_keys.pop("include")
   data__include = data["include"]
   if not (isinstance(data__include, list)):
    raise Invalid(at + ".include", "must be array")
   data__include_is_list = isinstance(data__include, (list, tuple))
   if data__include_is_list:
    data__include_len = len(data__include)
    for data__include_x, data__include_item in enumerate(data__include):
     if not (isinstance(data__include_item, str)):
      raise Invalid(at + ".include[{data__include_x}]".format(**locals()), "must be string")
     if not (isinstance(data__include_item, str) and data__include_item == 'cases' or isinstance(data__include_item, str) and data__include_item == 'nodes' or isinstance(data__include_item, str) and data__include_item == 'gaps' or isinstance(data__include_item, str) and data__include_item == 'taskStatus' or isinstance(data__include_item, str) and data__include_item == 'caseHistory'):
      raise Invalid(at + ".include[{data__include_x}]".format(**locals()), "must be one of ['cases', 'nodes', 'gaps', 'taskStatus', 'caseHistory']")
  if "selector" in data_keys:
   data_keys.pop("selector")
   data__selector = data["selector"]
   if not (isinstance(data__selector, dict)):
    raise Invalid(at + ".selector", "must be object")
   data__selector_is_dict = isinstance(data__selector, dict)
   if data__selector_is_dict:
    data__selector__missing_keys = set(['roots']) - data__selector.keys()
    if data__selector__missing_keys:
     raise Invalid(at + ".selector", "must contain " + listed(data__selector__missing_keys))
    data__selector_keys = dict(data__selector)
    if "roots" in data__selector_keys:
     data__selector_keys.pop("roots")
     data__selector__roots = data__selector["roots"]
     if not (isinstance(data__selector__roots, list)):
      raise Invalid(at + ".selector.roots", "must be array")
     data__selector__roots_is_list = isinstance(data__selector__roots, (list, tuple))
     if data__selector__roots_is_list:
      data__selector__roots_len = len(data__selector__roots)
      if data__selector__roots_len < 1:
       raise Invalid(at + ".selector.roots", "must contain at least 1 items")
      if data__selector__roots_len > 1000:
       raise Invalid(at + ".selector.roots", "must contain less than or equal to 1000 items")
      for data__selector__roots_x, data__selector__roots_item in enumerate(data__selector__roots):
       if not (isinstance(data__selector__roots_item, str)):
        raise Invalid(at + ".selector.roots[{data__selector__roots_x}]".format(**locals()), "must be string")
       if isinstance(data__selector__roots_item, str):
        data__selector__roots_item_len = len(data__selector__roots_item)
        if data__selector__roots_item_len < 1:
         raise Invalid(at + ".selector.roots[{data__selector__roots_x}]".format(**locals()), "must be longer than or equal to 1 characters")
    if data__selector_keys:
     raise Invalid(at + ".selector", "must not contain " + listed(data__selector_keys))
  if "limit" in data_keys:
   data_keys.pop("limit")
   data__limit = data["limit"]
   if not (is_integer(data__limit)):
    raise Invalid(at + ".limit", "must be integer within ±9007199254740991")
   if isinstance(data__limit, (int, float)) and not isinstance(data__limit, bool):
    if data__limit < 0:
     raise Invalid(at + ".limit", "must be bigger than or equal to 0")
    if data__limit > 1000:
     raise Invalid(at + ".limit", "must be smaller than or equal to 1000")
  if "historyOffset" in data_keys:
   data_keys.pop("historyOffset")
   data__historyOffset = data["historyOffset"]
   if not (is_integer(data__historyOffset)):
    raise Invalid(at + ".historyOffset", "must be integer within ±9007199254740991")
   if isinstance(data__historyOffset, (int, float)) and not isinstance(data__historyOffset, bool):
    if data__historyOffset < 0:
     raise Invalid(at + ".historyOffset", "must be bigger than or equal to 0")
    if data__historyOffset > 9007199254740991:
     raise Invalid(at + ".historyOffset", "must be smaller than or equal to 9007199254740991")
  if "historyVersion" in data_keys:
   data_keys.pop("historyVersion")
   data__historyVersion = data["historyVersion"]
   if not (isinstance(data__historyVersion, str)):
    raise Invalid(at + ".historyVersion", "must be string")
   if isinstance(data__historyVersion, str):
    if not PATTERNS['^history:[a-f0-9]{64}$'](data__historyVersion):
     raise Invalid(at + ".historyVersion", "must match pattern ^history:[a-f0-9]{64}$")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def tool_ReadArtifact(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['ref']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "ref" in data_keys:
   data_keys.pop("ref")
   data__ref = data["ref"]
   if not (isinstance(data__ref, str)):
    raise Invalid(at + ".ref", "must be string")
   if isinstance(data__ref, str):
    if not PATTERNS['^art_[a-f0-9]{32}$'](data__ref):
     raise Invalid(at + ".ref", "must match pattern ^art_[a-f0-9]{32}$")
  if "offset" in data_keys:
   data_keys.pop("offset")
   data__offset = data["offset"]
   if not (is_integer(data__offset)):
    raise Invalid(at + ".offset", "must be integer within ±9007199254740991")
   if isinstance(data__offset, (int, float)) and not isinstance(data__offset, bool):
    if data__offset < 0:
     raise Invalid(at + ".offset", "must be bigger than or equal to 0")
    if data__offset > 9007199254740991:
     raise Invalid(at + ".offset", "must be smaller than or equal to 9007199254740991")
  if "maxBytes" in data_keys:
   data_keys.pop("maxBytes")
   data__maxBytes = data["maxBytes"]
   if not (is_integer(data__maxBytes)):
    raise Invalid(at + ".maxBytes", "must be integer within ±9007199254740991")
   if isinstance(data__maxBytes, (int, float)) and not isinstance(data__maxBytes, bool):
    if data__maxBytes < 1:
     raise Invalid(at + ".maxBytes", "must be bigger than or equal to 1")
    if data__maxBytes > 9007199254740991:
     raise Invalid(at + ".maxBytes", "must be smaller than or equal to 9007199254740991")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_actionrow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['workType', 'work', 'tool', 'boardId', 'toolContractId', 'sourceRecordId', 'connectionId', 'toolDigest', 'executionGrant', 'args', 'target', 'toolSpec', 'sourceUpload', 'artifactPolicy']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'action'):
    raise Invalid(at + ".workType", "must be same as const definition: action")
  if "work" in data_keys:
   data_keys.pop("work")
   data__work = data["work"]
   worker___definitions_name(data__work, at + ".work")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   worker___definitions_name(data__tool, at + ".tool")
  if "boardId" in data_keys:
   data_keys.pop("boardId")
   data__boardId = data["boardId"]
   worker___definitions_name(data__boardId, at + ".boardId")
  if "toolContractId" in data_keys:
   data_keys.pop("toolContractId")
   data__toolContractId = data["toolContractId"]
   worker___definitions_name(data__toolContractId, at + ".toolContractId")
  if "sourceRecordId" in data_keys:
   data_keys.pop("sourceRecordId")
   data__sourceRecordId = data["sourceRecordId"]
   if not (isinstance(data__sourceRecordId, str)):
    raise Invalid(at + ".sourceRecordId", "must be string")
  if "connectionId" in data_keys:
   data_keys.pop("connectionId")
   data__connectionId = data["connectionId"]
   worker___definitions_name(data__connectionId, at + ".connectionId")
  if "toolDigest" in data_keys:
   data_keys.pop("toolDigest")
   data__toolDigest = data["toolDigest"]
   worker___definitions_hex(data__toolDigest, at + ".toolDigest")
  if "executionGrant" in data_keys:
   data_keys.pop("executionGrant")
   data__executionGrant = data["executionGrant"]
   worker___definitions_name(data__executionGrant, at + ".executionGrant")
  if "args" in data_keys:
   data_keys.pop("args")
   data__args = data["args"]
   if not (isinstance(data__args, str)):
    raise Invalid(at + ".args", "must be string")
   if isinstance(data__args, str):
    data__args_len = len(data__args)
    if data__args_len < 2:
     raise Invalid(at + ".args", "must be longer than or equal to 2 characters")
  if "target" in data_keys:
   data_keys.pop("target")
   data__target = data["target"]
   if not (isinstance(data__target, str)):
    raise Invalid(at + ".target", "must be string")
  if "toolSpec" in data_keys:
   data_keys.pop("toolSpec")
   data__toolSpec = data["toolSpec"]
   if not (isinstance(data__toolSpec, str)):
    raise Invalid(at + ".toolSpec", "must be string")
   if isinstance(data__toolSpec, str):
    data__toolSpec_len = len(data__toolSpec)
    if data__toolSpec_len < 2:
     raise Invalid(at + ".toolSpec", "must be longer than or equal to 2 characters")
  if "sourceUpload" in data_keys:
   data_keys.pop("sourceUpload")
   data__sourceUpload = data["sourceUpload"]
   worker___definitions_sourceupload(data__sourceUpload, at + ".sourceUpload")
  if "artifactPolicy" in data_keys:
   data_keys.pop("artifactPolicy")
   data__artifactPolicy = data["artifactPolicy"]
   worker___definitions_artifactpolicy(data__artifactPolicy, at + ".artifactPolicy")
  if "completionRequirement" in data_keys:
   data_keys.pop("completionRequirement")
   data__completionRequirement = data["completionRequirement"]
   if not (isinstance(data__completionRequirement, dict)):
    raise Invalid(at + ".completionRequirement", "must be object")
   data__completionRequirement_is_dict = isinstance(data__completionRequirement, dict)
   if data__completionRequirement_is_dict:
    data__completionRequirement__missing_keys = set(['stage']) - data__completionRequirement.keys()
    if data__completionRequirement__missing_keys:
     raise Invalid(at + ".completionRequirement", "must contain " + listed(data__completionRequirement__missing_keys))
    data__completionRequirement_keys = dict(data__completionRequirement)
    if "stage" in data__completionRequirement_keys:
     data__completionRequirement_keys.pop("stage")
     data__completionRequirement__stage = data__completionRequirement["stage"]
     if not (isinstance(data__completionRequirement__stage, str)):
      raise Invalid(at + ".completionRequirement.stage", "must be string")
     if not (isinstance(data__completionRequirement__stage, str) and data__completionRequirement__stage == 'terminal'):
      raise Invalid(at + ".completionRequirement.stage", "must be same as const definition: terminal")
    if data__completionRequirement_keys:
     raise Invalid(at + ".completionRequirement", "must not contain " + listed(data__completionRequirement_keys))
  if "materialInput" in data_keys:
   data_keys.pop("materialInput")
   data__materialInput = data["materialInput"]
   if not (isinstance(data__materialInput, dict)):
    raise Invalid(at + ".materialInput", "must be object")
   data__materialInput_is_dict = isinstance(data__materialInput, dict)
   if data__materialInput_is_dict:
    data__materialInput__missing_keys = set(['selector', 'digest', 'custodyId', 'totalBytes', 'deviceId', 'bindingDigest']) - data__materialInput.keys()
    if data__materialInput__missing_keys:
     raise Invalid(at + ".materialInput", "must contain " + listed(data__materialInput__missing_keys))
    data__materialInput_keys = dict(data__materialInput)
    if "selector" in data__materialInput_keys:
     data__materialInput_keys.pop("selector")
     data__materialInput__selector = data__materialInput["selector"]
     if not (isinstance(data__materialInput__selector, str)):
      raise Invalid(at + ".materialInput.selector", "must be string")
     if isinstance(data__materialInput__selector, str):
      if not PATTERNS['^mat_[a-f0-9]{32}$'](data__materialInput__selector):
       raise Invalid(at + ".materialInput.selector", "must match pattern ^mat_[a-f0-9]{32}$")
    if "digest" in data__materialInput_keys:
     data__materialInput_keys.pop("digest")
     data__materialInput__digest = data__materialInput["digest"]
     worker___definitions_digest(data__materialInput__digest, at + ".materialInput.digest")
    if "custodyId" in data__materialInput_keys:
     data__materialInput_keys.pop("custodyId")
     data__materialInput__custodyId = data__materialInput["custodyId"]
     if not (isinstance(data__materialInput__custodyId, str)):
      raise Invalid(at + ".materialInput.custodyId", "must be string")
     if isinstance(data__materialInput__custodyId, str):
      if not PATTERNS['^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$'](data__materialInput__custodyId):
       raise Invalid(at + ".materialInput.custodyId", "must match pattern ^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$")
    if "totalBytes" in data__materialInput_keys:
     data__materialInput_keys.pop("totalBytes")
     data__materialInput__totalBytes = data__materialInput["totalBytes"]
     if not (is_integer(data__materialInput__totalBytes)):
      raise Invalid(at + ".materialInput.totalBytes", "must be integer within ±9007199254740991")
     if isinstance(data__materialInput__totalBytes, (int, float)) and not isinstance(data__materialInput__totalBytes, bool):
      if data__materialInput__totalBytes < 1:
       raise Invalid(at + ".materialInput.totalBytes", "must be bigger than or equal to 1")
      if data__materialInput__totalBytes > 8388608:
       raise Invalid(at + ".materialInput.totalBytes", "must be smaller than or equal to 8388608")
    if "deviceId" in data__materialInput_keys:
     data__materialInput_keys.pop("deviceId")
     data__materialInput__deviceId = data__materialInput["deviceId"]
     worker___definitions_name(data__materialInput__deviceId, at + ".materialInput.deviceId")
    if "bindingDigest" in data__materialInput_keys:
     data__materialInput_keys.pop("bindingDigest")
     data__materialInput__bindingDigest = data__materialInput["bindingDigest"]
     worker___definitions_digest(data__materialInput__bindingDigest, at + ".materialInput.bindingDigest")
    if data__materialInput_keys:
     raise Invalid(at + ".materialInput", "must not contain " + listed(data__materialInput_keys))
  if "sourceBinding" in data_keys:
   data_keys.pop("sourceBinding")
   data__sourceBinding = data["sourceBinding"]
   if not (isinstance(data__sourceBinding, dict)):
    raise Invalid(at + ".sourceBinding", "must be object")
   data__sourceBinding_is_dict = isinstance(data__sourceBinding, dict)
   if data__sourceBinding_is_dict:
    data__sourceBinding__missing_keys = set(['version', 'sourceRecordId', 'connectionId', 'access']) - data__sourceBinding.keys()
    if data__sourceBinding__missing_keys:
     raise Invalid(at + ".sourceBinding", "must contain " + listed(data__sourceBinding__missing_keys))
    data__sourceBinding_keys = dict(data__sourceBinding)
    if "version" in data__sourceBinding_keys:
     data__sourceBinding_keys.pop("version")
     data__sourceBinding__version = data__sourceBinding["version"]
     if not (isinstance(data__sourceBinding__version, str)):
      raise Invalid(at + ".sourceBinding.version", "must be string")
     if not (isinstance(data__sourceBinding__version, str) and data__sourceBinding__version == 'rulith-http-source-binding/1'):
      raise Invalid(at + ".sourceBinding.version", "must be same as const definition: rulith-http-source-binding/1")
    if "sourceRecordId" in data__sourceBinding_keys:
     data__sourceBinding_keys.pop("sourceRecordId")
     data__sourceBinding__sourceRecordId = data__sourceBinding["sourceRecordId"]
     worker___definitions_name(data__sourceBinding__sourceRecordId, at + ".sourceBinding.sourceRecordId")
    if "connectionId" in data__sourceBinding_keys:
     data__sourceBinding_keys.pop("connectionId")
     data__sourceBinding__connectionId = data__sourceBinding["connectionId"]
     worker___definitions_name(data__sourceBinding__connectionId, at + ".sourceBinding.connectionId")
    if "access" in data__sourceBinding_keys:
     data__sourceBinding_keys.pop("access")
     data__sourceBinding__access = data__sourceBinding["access"]
     if not (isinstance(data__sourceBinding__access, str)):
      raise Invalid(at + ".sourceBinding.access", "must be string")
     if isinstance(data__sourceBinding__access, str):
      if not PATTERNS['^https?://[!-~]+$'](data__sourceBinding__access):
       raise Invalid(at + ".sourceBinding.access", "must match pattern ^https?://[!-~]+$")
    if data__sourceBinding_keys:
     raise Invalid(at + ".sourceBinding", "must not contain " + listed(data__sourceBinding_keys))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_digest(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^sha256:[a-f0-9]{64}$'](data):
   raise Invalid(at, "must match pattern ^sha256:[a-f0-9]{64}$")
 return data


def worker___definitions_hex(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[a-f0-9]{64}$'](data):
   raise Invalid(at, "must match pattern ^[a-f0-9]{64}$")
 return data


def worker___definitions_name(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must be longer than or equal to 1 characters")
 return data


def worker___definitions_materialclaimed(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'ref', 'custodyId', 'mediaType', 'encoding', 'totalBytes', 'digest', 'chunkBytes', 'firstChunk', 'chunkDigests', 'offset', 'maximumLength', 'trimming', 'modelDisclosure']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "ref" in data_keys:
   data_keys.pop("ref")
   data__ref = data["ref"]
   worker___definitions_artifactref(data__ref, at + ".ref")
  if "custodyId" in data_keys:
   data_keys.pop("custodyId")
   data__custodyId = data["custodyId"]
   worker___definitions_custodyid(data__custodyId, at + ".custodyId")
  if "mediaType" in data_keys:
   data_keys.pop("mediaType")
   data__mediaType = data["mediaType"]
   if not (isinstance(data__mediaType, str)):
    raise Invalid(at + ".mediaType", "must be string")
   if isinstance(data__mediaType, str):
    data__mediaType_len = len(data__mediaType)
    if data__mediaType_len < 1:
     raise Invalid(at + ".mediaType", "must be longer than or equal to 1 characters")
  if "encoding" in data_keys:
   data_keys.pop("encoding")
   data__encoding = data["encoding"]
   worker___definitions_encoding(data__encoding, at + ".encoding")
  if "totalBytes" in data_keys:
   data_keys.pop("totalBytes")
   data__totalBytes = data["totalBytes"]
   worker___definitions_count(data__totalBytes, at + ".totalBytes")
  if "digest" in data_keys:
   data_keys.pop("digest")
   data__digest = data["digest"]
   worker___definitions_digest(data__digest, at + ".digest")
  if "chunkBytes" in data_keys:
   data_keys.pop("chunkBytes")
   data__chunkBytes = data["chunkBytes"]
   if not (is_integer(data__chunkBytes)):
    raise Invalid(at + ".chunkBytes", "must be integer within ±9007199254740991")
   if not (isinstance(data__chunkBytes, (int, float)) and not isinstance(data__chunkBytes, bool) and data__chunkBytes == 65536):
    raise Invalid(at + ".chunkBytes", "must be same as const definition: 65536")
  if "firstChunk" in data_keys:
   data_keys.pop("firstChunk")
   data__firstChunk = data["firstChunk"]
   if not (is_integer(data__firstChunk)):
    raise Invalid(at + ".firstChunk", "must be integer within ±9007199254740991")
   if isinstance(data__firstChunk, (int, float)) and not isinstance(data__firstChunk, bool):
    if data__firstChunk < 0:
     raise Invalid(at + ".firstChunk", "must be bigger than or equal to 0")
    if data__firstChunk > 16383:
     raise Invalid(at + ".firstChunk", "must be smaller than or equal to 16383")
  if "chunkDigests" in data_keys:
   data_keys.pop("chunkDigests")
   data__chunkDigests = data["chunkDigests"]
   if not (isinstance(data__chunkDigests, list)):
    raise Invalid(at + ".chunkDigests", "must be array")
   data__chunkDigests_is_list = isinstance(data__chunkDigests, (list, tuple))
   if data__chunkDigests_is_list:
    data__chunkDigests_len = len(data__chunkDigests)
    if data__chunkDigests_len < 1:
     raise Invalid(at + ".chunkDigests", "must contain at least 1 items")
    if data__chunkDigests_len > 17:
     raise Invalid(at + ".chunkDigests", "must contain less than or equal to 17 items")
    for data__chunkDigests_x, data__chunkDigests_item in enumerate(data__chunkDigests):
     worker___definitions_digest(data__chunkDigests_item, at + ".chunkDigests[{data__chunkDigests_x}]".format(**locals()))
  if "offset" in data_keys:
   data_keys.pop("offset")
   data__offset = data["offset"]
   if not (is_integer(data__offset)):
    raise Invalid(at + ".offset", "must be integer within ±9007199254740991")
   if isinstance(data__offset, (int, float)) and not isinstance(data__offset, bool):
    if data__offset < 0:
     raise Invalid(at + ".offset", "must be bigger than or equal to 0")
    if data__offset > 9007199254740991:
     raise Invalid(at + ".offset", "must be smaller than or equal to 9007199254740991")
  if "maximumLength" in data_keys:
   data_keys.pop("maximumLength")
   data__maximumLength = data["maximumLength"]
   if not (is_integer(data__maximumLength)):
    raise Invalid(at + ".maximumLength", "must be integer within ±9007199254740991")
   if isinstance(data__maximumLength, (int, float)) and not isinstance(data__maximumLength, bool):
    if data__maximumLength < 1:
     raise Invalid(at + ".maximumLength", "must be bigger than or equal to 1")
    if data__maximumLength > 1048576:
     raise Invalid(at + ".maximumLength", "must be smaller than or equal to 1048576")
  if "trimming" in data_keys:
   data_keys.pop("trimming")
   data__trimming = data["trimming"]
   if not (isinstance(data__trimming, str)):
    raise Invalid(at + ".trimming", "must be string")
   if not (isinstance(data__trimming, str) and data__trimming == 'utf8-code-point/1'):
    raise Invalid(at + ".trimming", "must be same as const definition: utf8-code-point/1")
  if "modelDisclosure" in data_keys:
   data_keys.pop("modelDisclosure")
   data__modelDisclosure = data["modelDisclosure"]
   worker___definitions_permission(data__modelDisclosure, at + ".modelDisclosure")
 return data


def worker___definitions_permission(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'granted' or isinstance(data, str) and data == 'denied' or isinstance(data, str) and data == 'absent'):
  raise Invalid(at, "must be one of ['granted', 'denied', 'absent']")
 return data


def worker___definitions_count(data, at="data"):
 if not (is_integer(data)):
  raise Invalid(at, "must be integer within ±9007199254740991")
 if isinstance(data, (int, float)) and not isinstance(data, bool):
  if data < 1:
   raise Invalid(at, "must be bigger than or equal to 1")
  if data > 9007199254740991:
   raise Invalid(at, "must be smaller than or equal to 9007199254740991")
 return data


def worker___definitions_encoding(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'utf8' or isinstance(data, str) and data == 'base64'):
  raise Invalid(at, "must be one of ['utf8', 'base64']")
 return data


def worker___definitions_custodyid(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$'](data):
   raise Invalid(at, "must match pattern ^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$")
 return data


def worker___definitions_artifactref(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^art_[a-f0-9]{32}$'](data):
   raise Invalid(at, "must match pattern ^art_[a-f0-9]{32}$")
 return data


def worker___definitions_materialprotocol(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'rulith-worker-material/1'):
  raise Invalid(at, "must be same as const definition: rulith-worker-material/1")
 return data


def worker___definitions_materialclaim(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'kind', 'workerId', 'workerGeneration', 'ticket']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ClaimLocalRead'):
    raise Invalid(at + ".kind", "must be same as const definition: ClaimLocalRead")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "ticket" in data_keys:
   data_keys.pop("ticket")
   data__ticket = data["ticket"]
   if not (isinstance(data__ticket, str)):
    raise Invalid(at + ".ticket", "must be string")
   if isinstance(data__ticket, str):
    if not PATTERNS['^mlt_[A-Za-z0-9_-]{43}$'](data__ticket):
     raise Invalid(at + ".ticket", "must match pattern ^mlt_[A-Za-z0-9_-]{43}$")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_generation(data, at="data"):
 if not (is_integer(data)):
  raise Invalid(at, "must be integer within ±9007199254740991")
 if isinstance(data, (int, float)) and not isinstance(data, bool):
  if data < 1:
   raise Invalid(at, "must be bigger than or equal to 1")
  if data > 9007199254740991:
   raise Invalid(at, "must be smaller than or equal to 9007199254740991")
 return data


def worker___definitions_workerid(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^wkr_[A-Za-z0-9_-]{8,80}$'](data):
   raise Invalid(at, "must match pattern ^wkr_[A-Za-z0-9_-]{8,80}$")
 return data


def worker___definitions_materialresult(data, at="data"):
 if not isinstance(data, dict):
  raise Invalid(at, "must be object")
 if data.get('kind') == 'DeliverChunks':
  worker___definitions_deliverchunks(data, at)
 elif data.get('kind') == 'DeliverUnavailable':
  worker___definitions_deliverunavailable(data, at)
 else:
  raise Invalid(at + ".kind", "must be one of DeliverChunks, DeliverUnavailable")
 return data


def worker___definitions_deliverunavailable(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'kind', 'workerId', 'workerGeneration', 'requestId', 'reason']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'DeliverUnavailable'):
    raise Invalid(at + ".kind", "must be same as const definition: DeliverUnavailable")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "requestId" in data_keys:
   data_keys.pop("requestId")
   data__requestId = data["requestId"]
   worker___definitions_deliveryid(data__requestId, at + ".requestId")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
   if not (isinstance(data__reason, str) and data__reason == 'material_missing' or isinstance(data__reason, str) and data__reason == 'material_corrupt' or isinstance(data__reason, str) and data__reason == 'material_unreadable' or isinstance(data__reason, str) and data__reason == 'material_permission_withdrawn'):
    raise Invalid(at + ".reason", "must be one of ['material_missing', 'material_corrupt', 'material_unreadable', 'material_permission_withdrawn']")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_deliveryid(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^mdr_[a-f0-9]{32}$'](data):
   raise Invalid(at, "must match pattern ^mdr_[a-f0-9]{32}$")
 return data


def worker___definitions_deliverchunks(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'kind', 'workerId', 'workerGeneration', 'requestId', 'ref', 'firstChunk', 'chunks']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'DeliverChunks'):
    raise Invalid(at + ".kind", "must be same as const definition: DeliverChunks")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "requestId" in data_keys:
   data_keys.pop("requestId")
   data__requestId = data["requestId"]
   worker___definitions_deliveryid(data__requestId, at + ".requestId")
  if "ref" in data_keys:
   data_keys.pop("ref")
   data__ref = data["ref"]
   worker___definitions_artifactref(data__ref, at + ".ref")
  if "firstChunk" in data_keys:
   data_keys.pop("firstChunk")
   data__firstChunk = data["firstChunk"]
   if not (is_integer(data__firstChunk)):
    raise Invalid(at + ".firstChunk", "must be integer within ±9007199254740991")
   if isinstance(data__firstChunk, (int, float)) and not isinstance(data__firstChunk, bool):
    if data__firstChunk < 0:
     raise Invalid(at + ".firstChunk", "must be bigger than or equal to 0")
    if data__firstChunk > 16383:
     raise Invalid(at + ".firstChunk", "must be smaller than or equal to 16383")
  if "chunks" in data_keys:
   data_keys.pop("chunks")
   data__chunks = data["chunks"]
   if not (isinstance(data__chunks, list)):
    raise Invalid(at + ".chunks", "must be array")
   data__chunks_is_list = isinstance(data__chunks, (list, tuple))
   if data__chunks_is_list:
    data__chunks_len = len(data__chunks)
    if data__chunks_len < 1:
     raise Invalid(at + ".chunks", "must contain at least 1 items")
    if data__chunks_len > 17:
     raise Invalid(at + ".chunks", "must contain less than or equal to 17 items")
    for data__chunks_x, data__chunks_item in enumerate(data__chunks):
     if not (isinstance(data__chunks_item, dict)):
      raise Invalid(at + ".chunks[{data__chunks_x}]".format(**locals()), "must be object")
     data__chunks_item_is_dict = isinstance(data__chunks_item, dict)
     if data__chunks_item_is_dict:
      data__chunks_item__missing_keys = set(['index', 'bytes']) - data__chunks_item.keys()
      if data__chunks_item__missing_keys:
       raise Invalid(at + ".chunks[{data__chunks_x}]".format(**locals()), "must contain " + listed(data__chunks_item__missing_keys))
      data__chunks_item_keys = dict(data__chunks_item)
      if "index" in data__chunks_item_keys:
       data__chunks_item_keys.pop("index")
       data__chunks_item__index = data__chunks_item["index"]
       if not (is_integer(data__chunks_item__index)):
        raise Invalid(at + ".chunks[{data__chunks_x}].index".format(**locals()), "must be integer within ±9007199254740991")
       if isinstance(data__chunks_item__index, (int, float)) and not isinstance(data__chunks_item__index, bool):
        if data__chunks_item__index < 0:
         raise Invalid(at + ".chunks[{data__chunks_x}].index".format(**locals()), "must be bigger than or equal to 0")
        if data__chunks_item__index > 16383:
         raise Invalid(at + ".chunks[{data__chunks_x}].index".format(**locals()), "must be smaller than or equal to 16383")
      if "bytes" in data__chunks_item_keys:
       data__chunks_item_keys.pop("bytes")
       data__chunks_item__bytes = data__chunks_item["bytes"]
       if not (isinstance(data__chunks_item__bytes, str)):
        raise Invalid(at + ".chunks[{data__chunks_x}].bytes".format(**locals()), "must be string")
       if isinstance(data__chunks_item__bytes, str):
        data__chunks_item__bytes_len = len(data__chunks_item__bytes)
        if data__chunks_item__bytes_len > 87384:
         raise Invalid(at + ".chunks[{data__chunks_x}].bytes".format(**locals()), "must be shorter than or equal to 87384 characters")
      if data__chunks_item_keys:
       raise Invalid(at + ".chunks[{data__chunks_x}]".format(**locals()), "must not contain " + listed(data__chunks_item_keys))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_materialdelivery(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['requestId', 'ref', 'custodyId', 'chunkBytes', 'firstChunk', 'chunkCount', 'digest', 'chunkDigests', 'deadlineMillis', 'sourceMaterial']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "requestId" in data_keys:
   data_keys.pop("requestId")
   data__requestId = data["requestId"]
   worker___definitions_deliveryid(data__requestId, at + ".requestId")
  if "ref" in data_keys:
   data_keys.pop("ref")
   data__ref = data["ref"]
   worker___definitions_artifactref(data__ref, at + ".ref")
  if "custodyId" in data_keys:
   data_keys.pop("custodyId")
   data__custodyId = data["custodyId"]
   worker___definitions_custodyid(data__custodyId, at + ".custodyId")
  if "chunkBytes" in data_keys:
   data_keys.pop("chunkBytes")
   data__chunkBytes = data["chunkBytes"]
   if not (is_integer(data__chunkBytes)):
    raise Invalid(at + ".chunkBytes", "must be integer within ±9007199254740991")
   if not (isinstance(data__chunkBytes, (int, float)) and not isinstance(data__chunkBytes, bool) and data__chunkBytes == 65536):
    raise Invalid(at + ".chunkBytes", "must be same as const definition: 65536")
  if "firstChunk" in data_keys:
   data_keys.pop("firstChunk")
   data__firstChunk = data["firstChunk"]
   if not (is_integer(data__firstChunk)):
    raise Invalid(at + ".firstChunk", "must be integer within ±9007199254740991")
   if isinstance(data__firstChunk, (int, float)) and not isinstance(data__firstChunk, bool):
    if data__firstChunk < 0:
     raise Invalid(at + ".firstChunk", "must be bigger than or equal to 0")
    if data__firstChunk > 16383:
     raise Invalid(at + ".firstChunk", "must be smaller than or equal to 16383")
  if "chunkCount" in data_keys:
   data_keys.pop("chunkCount")
   data__chunkCount = data["chunkCount"]
   if not (is_integer(data__chunkCount)):
    raise Invalid(at + ".chunkCount", "must be integer within ±9007199254740991")
   if isinstance(data__chunkCount, (int, float)) and not isinstance(data__chunkCount, bool):
    if data__chunkCount < 1:
     raise Invalid(at + ".chunkCount", "must be bigger than or equal to 1")
    if data__chunkCount > 17:
     raise Invalid(at + ".chunkCount", "must be smaller than or equal to 17")
  if "lastChunkBytes" in data_keys:
   data_keys.pop("lastChunkBytes")
   data__lastChunkBytes = data["lastChunkBytes"]
   if not (is_integer(data__lastChunkBytes)):
    raise Invalid(at + ".lastChunkBytes", "must be integer within ±9007199254740991")
   if isinstance(data__lastChunkBytes, (int, float)) and not isinstance(data__lastChunkBytes, bool):
    if data__lastChunkBytes < 1:
     raise Invalid(at + ".lastChunkBytes", "must be bigger than or equal to 1")
    if data__lastChunkBytes > 65536:
     raise Invalid(at + ".lastChunkBytes", "must be smaller than or equal to 65536")
  if "digest" in data_keys:
   data_keys.pop("digest")
   data__digest = data["digest"]
   worker___definitions_digest(data__digest, at + ".digest")
  if "chunkDigests" in data_keys:
   data_keys.pop("chunkDigests")
   data__chunkDigests = data["chunkDigests"]
   if not (isinstance(data__chunkDigests, list)):
    raise Invalid(at + ".chunkDigests", "must be array")
   data__chunkDigests_is_list = isinstance(data__chunkDigests, (list, tuple))
   if data__chunkDigests_is_list:
    data__chunkDigests_len = len(data__chunkDigests)
    if data__chunkDigests_len < 1:
     raise Invalid(at + ".chunkDigests", "must contain at least 1 items")
    if data__chunkDigests_len > 17:
     raise Invalid(at + ".chunkDigests", "must contain less than or equal to 17 items")
    for data__chunkDigests_x, data__chunkDigests_item in enumerate(data__chunkDigests):
     worker___definitions_digest(data__chunkDigests_item, at + ".chunkDigests[{data__chunkDigests_x}]".format(**locals()))
  if "deadlineMillis" in data_keys:
   data_keys.pop("deadlineMillis")
   data__deadlineMillis = data["deadlineMillis"]
   if not (is_integer(data__deadlineMillis)):
    raise Invalid(at + ".deadlineMillis", "must be integer within ±9007199254740991")
   if isinstance(data__deadlineMillis, (int, float)) and not isinstance(data__deadlineMillis, bool):
    if data__deadlineMillis < 1:
     raise Invalid(at + ".deadlineMillis", "must be bigger than or equal to 1")
    if data__deadlineMillis > 20000:
     raise Invalid(at + ".deadlineMillis", "must be smaller than or equal to 20000")
  if "sourceMaterial" in data_keys:
   data_keys.pop("sourceMaterial")
   data__sourceMaterial = data["sourceMaterial"]
   if not (isinstance(data__sourceMaterial, dict)):
    raise Invalid(at + ".sourceMaterial", "must be object")
   data__sourceMaterial_is_dict = isinstance(data__sourceMaterial, dict)
   if data__sourceMaterial_is_dict:
    data__sourceMaterial__missing_keys = set(['sourceRecordId', 'register', 'proxy', 'localRead', 'refusal']) - data__sourceMaterial.keys()
    if data__sourceMaterial__missing_keys:
     raise Invalid(at + ".sourceMaterial", "must contain " + listed(data__sourceMaterial__missing_keys))
    data__sourceMaterial_keys = dict(data__sourceMaterial)
    if "sourceRecordId" in data__sourceMaterial_keys:
     data__sourceMaterial_keys.pop("sourceRecordId")
     data__sourceMaterial__sourceRecordId = data__sourceMaterial["sourceRecordId"]
     if not (isinstance(data__sourceMaterial__sourceRecordId, str)):
      raise Invalid(at + ".sourceMaterial.sourceRecordId", "must be string")
    if "register" in data__sourceMaterial_keys:
     data__sourceMaterial_keys.pop("register")
     data__sourceMaterial__register = data__sourceMaterial["register"]
     worker___definitions_permission(data__sourceMaterial__register, at + ".sourceMaterial.register")
    if "proxy" in data__sourceMaterial_keys:
     data__sourceMaterial_keys.pop("proxy")
     data__sourceMaterial__proxy = data__sourceMaterial["proxy"]
     worker___definitions_permission(data__sourceMaterial__proxy, at + ".sourceMaterial.proxy")
    if "localRead" in data__sourceMaterial_keys:
     data__sourceMaterial_keys.pop("localRead")
     data__sourceMaterial__localRead = data__sourceMaterial["localRead"]
     worker___definitions_permission(data__sourceMaterial__localRead, at + ".sourceMaterial.localRead")
    if "refusal" in data__sourceMaterial_keys:
     data__sourceMaterial_keys.pop("refusal")
     data__sourceMaterial__refusal = data__sourceMaterial["refusal"]
     if not (isinstance(data__sourceMaterial__refusal, str) or data__sourceMaterial__refusal is None):
      raise Invalid(at + ".sourceMaterial.refusal", "must be string or null")
     if not (isinstance(data__sourceMaterial__refusal, str) and data__sourceMaterial__refusal == 'source_material_absent' or isinstance(data__sourceMaterial__refusal, str) and data__sourceMaterial__refusal == 'source_material_denied' or data__sourceMaterial__refusal is None):
      raise Invalid(at + ".sourceMaterial.refusal", "must be one of ['source_material_absent', 'source_material_denied', None]")
    if data__sourceMaterial_keys:
     raise Invalid(at + ".sourceMaterial", "must not contain " + listed(data__sourceMaterial_keys))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_materialpoll(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'kind', 'workerId', 'workerGeneration']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'PollDelivery'):
    raise Invalid(at + ".kind", "must be same as const definition: PollDelivery")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "waitMillis" in data_keys:
   data_keys.pop("waitMillis")
   data__waitMillis = data["waitMillis"]
   if not (is_integer(data__waitMillis)):
    raise Invalid(at + ".waitMillis", "must be integer within ±9007199254740991")
   if isinstance(data__waitMillis, (int, float)) and not isinstance(data__waitMillis, bool):
    if data__waitMillis < 0:
     raise Invalid(at + ".waitMillis", "must be bigger than or equal to 0")
    if data__waitMillis > 30000:
     raise Invalid(at + ".waitMillis", "must be smaller than or equal to 30000")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_materialregistered(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['ref', 'mediaType', 'encoding', 'totalBytes', 'digest']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "ref" in data_keys:
   data_keys.pop("ref")
   data__ref = data["ref"]
   worker___definitions_artifactref(data__ref, at + ".ref")
  if "mediaType" in data_keys:
   data_keys.pop("mediaType")
   data__mediaType = data["mediaType"]
   if not (isinstance(data__mediaType, str)):
    raise Invalid(at + ".mediaType", "must be string")
   if isinstance(data__mediaType, str):
    data__mediaType_len = len(data__mediaType)
    if data__mediaType_len < 1:
     raise Invalid(at + ".mediaType", "must be longer than or equal to 1 characters")
  if "encoding" in data_keys:
   data_keys.pop("encoding")
   data__encoding = data["encoding"]
   worker___definitions_encoding(data__encoding, at + ".encoding")
  if "totalBytes" in data_keys:
   data_keys.pop("totalBytes")
   data__totalBytes = data["totalBytes"]
   worker___definitions_count(data__totalBytes, at + ".totalBytes")
  if "digest" in data_keys:
   data_keys.pop("digest")
   data__digest = data["digest"]
   worker___definitions_digest(data__digest, at + ".digest")
 return data


def worker___definitions_materialregister(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['protocol', 'executionGrant', 'custodyId', 'mediaType', 'encoding', 'totalBytes', 'digest', 'chunkBytes', 'chunkDigests', 'custody']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "protocol" in data_keys:
   data_keys.pop("protocol")
   data__protocol = data["protocol"]
   worker___definitions_materialprotocol(data__protocol, at + ".protocol")
  if "executionGrant" in data_keys:
   data_keys.pop("executionGrant")
   data__executionGrant = data["executionGrant"]
   worker___definitions_grant(data__executionGrant, at + ".executionGrant")
  if "custodyId" in data_keys:
   data_keys.pop("custodyId")
   data__custodyId = data["custodyId"]
   worker___definitions_custodyid(data__custodyId, at + ".custodyId")
  if "mediaType" in data_keys:
   data_keys.pop("mediaType")
   data__mediaType = data["mediaType"]
   worker___definitions_mediatype(data__mediaType, at + ".mediaType")
  if "encoding" in data_keys:
   data_keys.pop("encoding")
   data__encoding = data["encoding"]
   worker___definitions_encoding(data__encoding, at + ".encoding")
  if "totalBytes" in data_keys:
   data_keys.pop("totalBytes")
   data__totalBytes = data["totalBytes"]
   worker___definitions_count(data__totalBytes, at + ".totalBytes")
  if "digest" in data_keys:
   data_keys.pop("digest")
   data__digest = data["digest"]
   worker___definitions_digest(data__digest, at + ".digest")
  if "chunkBytes" in data_keys:
   data_keys.pop("chunkBytes")
   data__chunkBytes = data["chunkBytes"]
   if not (is_integer(data__chunkBytes)):
    raise Invalid(at + ".chunkBytes", "must be integer within ±9007199254740991")
   if not (isinstance(data__chunkBytes, (int, float)) and not isinstance(data__chunkBytes, bool) and data__chunkBytes == 65536):
    raise Invalid(at + ".chunkBytes", "must be same as const definition: 65536")
  if "chunkDigests" in data_keys:
   data_keys.pop("chunkDigests")
   data__chunkDigests = data["chunkDigests"]
   if not (isinstance(data__chunkDigests, list)):
    raise Invalid(at + ".chunkDigests", "must be array")
   data__chunkDigests_is_list = isinstance(data__chunkDigests, (list, tuple))
   if data__chunkDigests_is_list:
    data__chunkDigests_len = len(data__chunkDigests)
    if data__chunkDigests_len < 1:
     raise Invalid(at + ".chunkDigests", "must contain at least 1 items")
    if data__chunkDigests_len > 16384:
     raise Invalid(at + ".chunkDigests", "must contain less than or equal to 16384 items")
    for data__chunkDigests_x, data__chunkDigests_item in enumerate(data__chunkDigests):
     worker___definitions_digest(data__chunkDigests_item, at + ".chunkDigests[{data__chunkDigests_x}]".format(**locals()))
  if "custody" in data_keys:
   data_keys.pop("custody")
   data__custody = data["custody"]
   if not (isinstance(data__custody, dict)):
    raise Invalid(at + ".custody", "must be object")
   data__custody_is_dict = isinstance(data__custody, dict)
   if data__custody_is_dict:
    data__custody__missing_keys = set(['durable', 'acknowledged']) - data__custody.keys()
    if data__custody__missing_keys:
     raise Invalid(at + ".custody", "must contain " + listed(data__custody__missing_keys))
    data__custody_keys = dict(data__custody)
    if "durable" in data__custody_keys:
     data__custody_keys.pop("durable")
     data__custody__durable = data__custody["durable"]
     if not (isinstance(data__custody__durable, bool)):
      raise Invalid(at + ".custody.durable", "must be boolean")
     if not (isinstance(data__custody__durable, bool) and data__custody__durable is True):
      raise Invalid(at + ".custody.durable", "must be same as const definition: True")
    if "acknowledged" in data__custody_keys:
     data__custody_keys.pop("acknowledged")
     data__custody__acknowledged = data__custody["acknowledged"]
     if not (isinstance(data__custody__acknowledged, str)):
      raise Invalid(at + ".custody.acknowledged", "must be string")
     if not (isinstance(data__custody__acknowledged, str) and data__custody__acknowledged == 'rulith-worker-custody/1'):
      raise Invalid(at + ".custody.acknowledged", "must be same as const definition: rulith-worker-custody/1")
    if data__custody_keys:
     raise Invalid(at + ".custody", "must not contain " + listed(data__custody_keys))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_mediatype(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len > 255:
   raise Invalid(at, "must be shorter than or equal to 255 characters")
  if not PATTERNS['^[A-Za-z0-9!#&^_.+-]{1,127}/[A-Za-z0-9!#&^_.+-]{1,127}(?:; ?[A-Za-z0-9=._ -]{1,80})?$'](data):
   raise Invalid(at, "must match pattern ^[A-Za-z0-9!#&^_.+-]{1,127}/[A-Za-z0-9!#&^_.+-]{1,127}(?:; ?[A-Za-z0-9=._ -]{1,80})?$")
 return data


def worker___definitions_grant(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len > 8192:
   raise Invalid(at, "must be shorter than or equal to 8192 characters")
  if not PATTERNS['^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$'](data):
   raise Invalid(at, "must match pattern ^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$")
 return data


def worker___definitions_sourcelist(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['sources']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "sources" in data_keys:
   data_keys.pop("sources")
   data__sources = data["sources"]
   if not (isinstance(data__sources, list)):
    raise Invalid(at + ".sources", "must be array")
   data__sources_is_list = isinstance(data__sources, (list, tuple))
   if data__sources_is_list:
    data__sources_len = len(data__sources)
    for data__sources_x, data__sources_item in enumerate(data__sources):
     if not (isinstance(data__sources_item, dict)):
      raise Invalid(at + ".sources[{data__sources_x}]".format(**locals()), "must be object")
     data__sources_item_is_dict = isinstance(data__sources_item, dict)
     if data__sources_item_is_dict:
      data__sources_item__missing_keys = set(['name', 'type']) - data__sources_item.keys()
      if data__sources_item__missing_keys:
       raise Invalid(at + ".sources[{data__sources_x}]".format(**locals()), "must contain " + listed(data__sources_item__missing_keys))
      data__sources_item_keys = dict(data__sources_item)
      if "name" in data__sources_item_keys:
       data__sources_item_keys.pop("name")
       data__sources_item__name = data__sources_item["name"]
       worker___definitions_name(data__sources_item__name, at + ".sources[{data__sources_x}].name".format(**locals()))
      if "type" in data__sources_item_keys:
       data__sources_item_keys.pop("type")
       data__sources_item__type = data__sources_item["type"]
       worker___definitions_sourcetype(data__sources_item__type, at + ".sources[{data__sources_x}].type".format(**locals()))
      if "access" in data__sources_item_keys:
       data__sources_item_keys.pop("access")
       data__sources_item__access = data__sources_item["access"]
       if not (isinstance(data__sources_item__access, str)):
        raise Invalid(at + ".sources[{data__sources_x}].access".format(**locals()), "must be string")
 return data


def worker___definitions_sourcetype(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'db' or isinstance(data, str) and data == 'file' or isinstance(data, str) and data == 'http' or isinstance(data, str) and data == 'mcp' or isinstance(data, str) and data == 'sensor' or isinstance(data, str) and data == 'compute' or isinstance(data, str) and data == 'human'):
  raise Invalid(at, "must be one of ['db', 'file', 'http', 'mcp', 'sensor', 'compute', 'human']")
 return data


def worker___definitions_refusal(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'errorCode']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "accepted" in data_keys:
   data_keys.pop("accepted")
   data__accepted = data["accepted"]
   if not (isinstance(data__accepted, bool)):
    raise Invalid(at + ".accepted", "must be boolean")
   if not (isinstance(data__accepted, bool) and data__accepted is False):
    raise Invalid(at + ".accepted", "must be same as const definition: False")
  if "errorCode" in data_keys:
   data_keys.pop("errorCode")
   data__errorCode = data["errorCode"]
   if not (isinstance(data__errorCode, str)):
    raise Invalid(at + ".errorCode", "must be string")
   if isinstance(data__errorCode, str):
    data__errorCode_len = len(data__errorCode)
    if data__errorCode_len < 1:
     raise Invalid(at + ".errorCode", "must be longer than or equal to 1 characters")
  if "teaching" in data_keys:
   data_keys.pop("teaching")
   data__teaching = data["teaching"]
   if not (isinstance(data__teaching, str)):
    raise Invalid(at + ".teaching", "must be string")
 return data


def worker___definitions_pollanswer(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'lease', 'payload']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "accepted" in data_keys:
   data_keys.pop("accepted")
   data__accepted = data["accepted"]
   if not (isinstance(data__accepted, bool)):
    raise Invalid(at + ".accepted", "must be boolean")
   if not (isinstance(data__accepted, bool) and data__accepted is True):
    raise Invalid(at + ".accepted", "must be same as const definition: True")
  if "lease" in data_keys:
   data_keys.pop("lease")
   data__lease = data["lease"]
   worker___definitions_lease(data__lease, at + ".lease")
  if "payload" in data_keys:
   data_keys.pop("payload")
   data__payload = data["payload"]
   if not (isinstance(data__payload, dict)):
    raise Invalid(at + ".payload", "must be object")
   data__payload_is_dict = isinstance(data__payload, dict)
   if data__payload_is_dict:
    data__payload__missing_keys = set(['work']) - data__payload.keys()
    if data__payload__missing_keys:
     raise Invalid(at + ".payload", "must contain " + listed(data__payload__missing_keys))
    data__payload_keys = dict(data__payload)
    if "work" in data__payload_keys:
     data__payload_keys.pop("work")
     data__payload__work = data__payload["work"]
     if not (isinstance(data__payload__work, list)):
      raise Invalid(at + ".payload.work", "must be array")
     data__payload__work_is_list = isinstance(data__payload__work, (list, tuple))
     if data__payload__work_is_list:
      data__payload__work_len = len(data__payload__work)
      for data__payload__work_x, data__payload__work_item in enumerate(data__payload__work):
       if not (isinstance(data__payload__work_item, dict)):
        raise Invalid(at + ".payload.work[{data__payload__work_x}]".format(**locals()), "must be object")
    if "lease" in data__payload_keys:
     data__payload_keys.pop("lease")
     data__payload__lease = data__payload["lease"]
     raise Invalid(at + ".payload.lease", "must not be there")
  if "revision" in data_keys:
   data_keys.pop("revision")
   data__revision = data["revision"]
 return data


def worker___definitions_fact(data, at="data"):
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
   worker___definitions_name(data__predicate, at + ".predicate")
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
      if not (isinstance(data__args_value, str) or is_number(data__args_value) or isinstance(data__args_value, bool)):
       raise Invalid(at + ".args.{data__args_key}".format(**locals()), "must be string or exact number or boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_grantpayload(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['version', 'boardId', 'invocationId', 'actionId', 'toolContractId', 'sourceRecordId', 'connectionId', 'workerId', 'workerGeneration', 'adapterDigest', 'requestDigest']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "version" in data_keys:
   data_keys.pop("version")
   data__version = data["version"]
   if not (is_integer(data__version)):
    raise Invalid(at + ".version", "must be integer within ±9007199254740991")
   if not (isinstance(data__version, (int, float)) and not isinstance(data__version, bool) and data__version == 2 or isinstance(data__version, (int, float)) and not isinstance(data__version, bool) and data__version == 3 or isinstance(data__version, (int, float)) and not isinstance(data__version, bool) and data__version == 4):
    raise Invalid(at + ".version", "must be one of [2, 3, 4]")
  if "boardId" in data_keys:
   data_keys.pop("boardId")
   data__boardId = data["boardId"]
   worker___definitions_name(data__boardId, at + ".boardId")
  if "invocationId" in data_keys:
   data_keys.pop("invocationId")
   data__invocationId = data["invocationId"]
   worker___definitions_name(data__invocationId, at + ".invocationId")
  if "actionId" in data_keys:
   data_keys.pop("actionId")
   data__actionId = data["actionId"]
   worker___definitions_name(data__actionId, at + ".actionId")
  if "toolContractId" in data_keys:
   data_keys.pop("toolContractId")
   data__toolContractId = data["toolContractId"]
   worker___definitions_name(data__toolContractId, at + ".toolContractId")
  if "sourceRecordId" in data_keys:
   data_keys.pop("sourceRecordId")
   data__sourceRecordId = data["sourceRecordId"]
   if not (isinstance(data__sourceRecordId, str)):
    raise Invalid(at + ".sourceRecordId", "must be string")
  if "connectionId" in data_keys:
   data_keys.pop("connectionId")
   data__connectionId = data["connectionId"]
   worker___definitions_name(data__connectionId, at + ".connectionId")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "adapterDigest" in data_keys:
   data_keys.pop("adapterDigest")
   data__adapterDigest = data["adapterDigest"]
   worker___definitions_digest(data__adapterDigest, at + ".adapterDigest")
  if "requestDigest" in data_keys:
   data_keys.pop("requestDigest")
   data__requestDigest = data["requestDigest"]
   worker___definitions_digest(data__requestDigest, at + ".requestDigest")
  if "materialBindingDigest" in data_keys:
   data_keys.pop("materialBindingDigest")
   data__materialBindingDigest = data["materialBindingDigest"]
   worker___definitions_digest(data__materialBindingDigest, at + ".materialBindingDigest")
  if "sourceBindingDigest" in data_keys:
   data_keys.pop("sourceBindingDigest")
   data__sourceBindingDigest = data["sourceBindingDigest"]
   worker___definitions_digest(data__sourceBindingDigest, at + ".sourceBindingDigest")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "version" in data_keys:
    data_keys.pop("version")
    data__version = data["version"]
    if not (isinstance(data__version, (int, float)) and not isinstance(data__version, bool) and data__version == 2):
     raise Invalid(at + ".version", "must be same as const definition: 2")
 except Invalid:
  try:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "version" in data_keys:
     data_keys.pop("version")
     data__version = data["version"]
     if not (isinstance(data__version, (int, float)) and not isinstance(data__version, bool) and data__version == 3):
      raise Invalid(at + ".version", "must be same as const definition: 3")
  except Invalid:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data__missing_keys = set(['sourceBindingDigest']) - data.keys()
    if data__missing_keys:
     raise Invalid(at, "must contain " + listed(data__missing_keys))
    data_keys = dict(data)
    if "materialBindingDigest" in data_keys:
     data_keys.pop("materialBindingDigest")
     data__materialBindingDigest = data["materialBindingDigest"]
     raise Invalid(at + ".materialBindingDigest", "must not be there")
  else:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data__missing_keys = set(['materialBindingDigest']) - data.keys()
    if data__missing_keys:
     raise Invalid(at, "must contain " + listed(data__missing_keys))
    data_keys = dict(data)
    if "sourceBindingDigest" in data_keys:
     data_keys.pop("sourceBindingDigest")
     data__sourceBindingDigest = data["sourceBindingDigest"]
     raise Invalid(at + ".sourceBindingDigest", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "materialBindingDigest" in data_keys:
    data_keys.pop("materialBindingDigest")
    data__materialBindingDigest = data["materialBindingDigest"]
    raise Invalid(at + ".materialBindingDigest", "must not be there")
   if "sourceBindingDigest" in data_keys:
    data_keys.pop("sourceBindingDigest")
    data__sourceBindingDigest = data["sourceBindingDigest"]
    raise Invalid(at + ".sourceBindingDigest", "must not be there")
 return data


def worker___definitions_reviewrow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['workType', 'work', 'tool', 'norm', 'invocation', 'requestDigest', 'expectedPolicyFingerprint', 'caseFile']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'review'):
    raise Invalid(at + ".workType", "must be same as const definition: review")
  if "work" in data_keys:
   data_keys.pop("work")
   data__work = data["work"]
   worker___definitions_name(data__work, at + ".work")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   worker___definitions_name(data__tool, at + ".tool")
  if "norm" in data_keys:
   data_keys.pop("norm")
   data__norm = data["norm"]
   worker___definitions_name(data__norm, at + ".norm")
  if "invocation" in data_keys:
   data_keys.pop("invocation")
   data__invocation = data["invocation"]
   worker___definitions_name(data__invocation, at + ".invocation")
  if "requestDigest" in data_keys:
   data_keys.pop("requestDigest")
   data__requestDigest = data["requestDigest"]
   worker___definitions_digest(data__requestDigest, at + ".requestDigest")
  if "expectedPolicyFingerprint" in data_keys:
   data_keys.pop("expectedPolicyFingerprint")
   data__expectedPolicyFingerprint = data["expectedPolicyFingerprint"]
   worker___definitions_digest(data__expectedPolicyFingerprint, at + ".expectedPolicyFingerprint")
  if "caseFile" in data_keys:
   data_keys.pop("caseFile")
   data__caseFile = data["caseFile"]
   if not (isinstance(data__caseFile, dict)):
    raise Invalid(at + ".caseFile", "must be object")
   data__caseFile_is_dict = isinstance(data__caseFile, dict)
   if data__caseFile_is_dict:
    data__caseFile__missing_keys = set(['rendered']) - data__caseFile.keys()
    if data__caseFile__missing_keys:
     raise Invalid(at + ".caseFile", "must contain " + listed(data__caseFile__missing_keys))
    data__caseFile_keys = dict(data__caseFile)
    if "rendered" in data__caseFile_keys:
     data__caseFile_keys.pop("rendered")
     data__caseFile__rendered = data__caseFile["rendered"]
     if not (isinstance(data__caseFile__rendered, str)):
      raise Invalid(at + ".caseFile.rendered", "must be string")
 return data


def worker___definitions_evidencerow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['workType', 'work', 'material', 'source']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'evidence'):
    raise Invalid(at + ".workType", "must be same as const definition: evidence")
  if "work" in data_keys:
   data_keys.pop("work")
   data__work = data["work"]
   worker___definitions_name(data__work, at + ".work")
  if "material" in data_keys:
   data_keys.pop("material")
   data__material = data["material"]
   worker___definitions_name(data__material, at + ".material")
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   worker___definitions_name(data__source, at + ".source")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   if not (isinstance(data__tool, str)):
    raise Invalid(at + ".tool", "must be string")
  if "payload" in data_keys:
   data_keys.pop("payload")
   data__payload = data["payload"]
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_verificationrow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['workType', 'work', 'boardId', 'channel', 'source', 'claim']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'verification'):
    raise Invalid(at + ".workType", "must be same as const definition: verification")
  if "work" in data_keys:
   data_keys.pop("work")
   data__work = data["work"]
   worker___definitions_name(data__work, at + ".work")
  if "boardId" in data_keys:
   data_keys.pop("boardId")
   data__boardId = data["boardId"]
   worker___definitions_name(data__boardId, at + ".boardId")
  if "channel" in data_keys:
   data_keys.pop("channel")
   data__channel = data["channel"]
   worker___definitions_name(data__channel, at + ".channel")
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   if not (isinstance(data__source, str)):
    raise Invalid(at + ".source", "must be string")
  if "claim" in data_keys:
   data_keys.pop("claim")
   data__claim = data["claim"]
   worker___definitions_fact(data__claim, at + ".claim")
  if "payload" in data_keys:
   data_keys.pop("payload")
   data__payload = data["payload"]
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_artifactpolicy(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['inlineBytes', 'readBytes', 'objectBytes', 'totalBytes', 'temporaryRetentionMs']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "inlineBytes" in data_keys:
   data_keys.pop("inlineBytes")
   data__inlineBytes = data["inlineBytes"]
   worker___definitions_count(data__inlineBytes, at + ".inlineBytes")
  if "readBytes" in data_keys:
   data_keys.pop("readBytes")
   data__readBytes = data["readBytes"]
   worker___definitions_count(data__readBytes, at + ".readBytes")
  if "objectBytes" in data_keys:
   data_keys.pop("objectBytes")
   data__objectBytes = data["objectBytes"]
   worker___definitions_count(data__objectBytes, at + ".objectBytes")
  if "totalBytes" in data_keys:
   data_keys.pop("totalBytes")
   data__totalBytes = data["totalBytes"]
   worker___definitions_count(data__totalBytes, at + ".totalBytes")
  if "temporaryRetentionMs" in data_keys:
   data_keys.pop("temporaryRetentionMs")
   data__temporaryRetentionMs = data["temporaryRetentionMs"]
   worker___definitions_count(data__temporaryRetentionMs, at + ".temporaryRetentionMs")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_sourceupload(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['sourceRecordId', 'permission', 'upload']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "sourceRecordId" in data_keys:
   data_keys.pop("sourceRecordId")
   data__sourceRecordId = data["sourceRecordId"]
   if not (isinstance(data__sourceRecordId, str)):
    raise Invalid(at + ".sourceRecordId", "must be string")
  if "permission" in data_keys:
   data_keys.pop("permission")
   data__permission = data["permission"]
   if not (isinstance(data__permission, str)):
    raise Invalid(at + ".permission", "must be string")
   if not (isinstance(data__permission, str) and data__permission == 'granted' or isinstance(data__permission, str) and data__permission == 'denied' or isinstance(data__permission, str) and data__permission == 'absent'):
    raise Invalid(at + ".permission", "must be one of ['granted', 'denied', 'absent']")
  if "upload" in data_keys:
   data_keys.pop("upload")
   data__upload = data["upload"]
   if not (isinstance(data__upload, bool)):
    raise Invalid(at + ".upload", "must be boolean")
  if "refusal" in data_keys:
   data_keys.pop("refusal")
   data__refusal = data["refusal"]
   if not (isinstance(data__refusal, str) or data__refusal is None):
    raise Invalid(at + ".refusal", "must be string or null")
   if isinstance(data__refusal, str):
    data__refusal_len = len(data__refusal)
    if data__refusal_len < 1:
     raise Invalid(at + ".refusal", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_toolspec(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'impl', 'params', 'exec', 'sourceTypes', 'returns']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "name" in data_keys:
   data_keys.pop("name")
   data__name = data["name"]
   worker___definitions_name(data__name, at + ".name")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   worker___definitions_toolkind(data__kind, at + ".kind")
  if "impl" in data_keys:
   data_keys.pop("impl")
   data__impl = data["impl"]
   if not (isinstance(data__impl, str)):
    raise Invalid(at + ".impl", "must be string")
   if not (isinstance(data__impl, str) and data__impl == 'worker-tool'):
    raise Invalid(at + ".impl", "must be same as const definition: worker-tool")
  if "params" in data_keys:
   data_keys.pop("params")
   data__params = data["params"]
   worker___definitions_params(data__params, at + ".params")
  if "exec" in data_keys:
   data_keys.pop("exec")
   data__exec = data["exec"]
   worker___definitions_name(data__exec, at + ".exec")
  if "sourceTypes" in data_keys:
   data_keys.pop("sourceTypes")
   data__sourceTypes = data["sourceTypes"]
   worker___definitions_sourcetypes(data__sourceTypes, at + ".sourceTypes")
  if "returns" in data_keys:
   data_keys.pop("returns")
   data__returns = data["returns"]
   worker___definitions_returns(data__returns, at + ".returns")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_returns(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 32:
   raise Invalid(at, "must contain less than or equal to 32 items")
  for data_x, data_item in enumerate(data):
   if not (isinstance(data_item, dict)):
    raise Invalid(at + "[{data_x}]".format(**locals()), "must be object")
   data_item_is_dict = isinstance(data_item, dict)
   if data_item_is_dict:
    data_item__missing_keys = set(['predicate', 'args']) - data_item.keys()
    if data_item__missing_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must contain " + listed(data_item__missing_keys))
    data_item_keys = dict(data_item)
    if "predicate" in data_item_keys:
     data_item_keys.pop("predicate")
     data_item__predicate = data_item["predicate"]
     if not (isinstance(data_item__predicate, str)):
      raise Invalid(at + "[{data_x}].predicate".format(**locals()), "must be string")
     if isinstance(data_item__predicate, str):
      if not PATTERNS['^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$'](data_item__predicate):
       raise Invalid(at + "[{data_x}].predicate".format(**locals()), "must match pattern ^[a-z][a-z0-9_]*(?:\\.[a-z][a-z0-9_]*)+$")
    if "args" in data_item_keys:
     data_item_keys.pop("args")
     data_item__args = data_item["args"]
     if not (isinstance(data_item__args, dict)):
      raise Invalid(at + "[{data_x}].args".format(**locals()), "must be object")
     data_item__args_is_dict = isinstance(data_item__args, dict)
     if data_item__args_is_dict:
      data_item__args_keys = dict(data_item__args)
      for data_item__args_key in data_item__args_keys:
       if data_item__args_key not in []:
        data_item__args_value = data_item__args.get(data_item__args_key)
        if not (isinstance(data_item__args_value, str)):
         raise Invalid(at + "[{data_x}].args.{data_item__args_key}".format(**locals()), "must be string")
        if isinstance(data_item__args_value, str):
         if not PATTERNS['^\\$[A-Za-z0-9_]+$'](data_item__args_value):
          raise Invalid(at + "[{data_x}].args.{data_item__args_key}".format(**locals()), "must match pattern ^\\$[A-Za-z0-9_]+$")
      data_item__args_len = len(data_item__args)
      if data_item__args_len != 0:
       data_item__args_property_names = True
       for data_item__args_key in data_item__args:
        try:
         if isinstance(data_item__args_key, str):
          if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data_item__args_key):
           raise Invalid(at + "[{data_x}].args".format(**locals()), "must match pattern ^[a-z][a-z0-9_]{0,63}$")
        except Invalid:
         data_item__args_property_names = False
       if not data_item__args_property_names:
        raise Invalid(at + "[{data_x}].args".format(**locals()), "must be named by propertyName definition")
    if data_item_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must not contain " + listed(data_item_keys))
 return data


def worker___definitions_sourcetypes(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
  data_len = len(data)
  if data_len > len(set(fn(data_x) for data_x in data)):
   raise Invalid(at, "must contain unique items")
  for data_x, data_item in enumerate(data):
   worker___definitions_sourcetype(data_item, at + "[{data_x}]".format(**locals()))
 return data


def worker___definitions_params(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   raise Invalid(at + ".source", "must not be there")
  for data_key in data_keys:
   if data_key not in ['source']:
    data_value = data.get(data_key)
    if not (isinstance(data_value, str)):
     raise Invalid(at + ".{data_key}".format(**locals()), "must be string")
    if not (isinstance(data_value, str) and data_value == 'string' or isinstance(data_value, str) and data_value == 'number' or isinstance(data_value, str) and data_value == 'boolean' or isinstance(data_value, str) and data_value == 'json' or isinstance(data_value, str) and data_value == 'string?' or isinstance(data_value, str) and data_value == 'number?' or isinstance(data_value, str) and data_value == 'boolean?' or isinstance(data_value, str) and data_value == 'json?'):
     raise Invalid(at + ".{data_key}".format(**locals()), "must be one of ['string', 'number', 'boolean', 'json', 'string?', 'number?', 'boolean?', 'json?']")
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


def worker___definitions_toolkind(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'read' or isinstance(data, str) and data == 'write' or isinstance(data, str) and data == 'run'):
  raise Invalid(at, "must be one of ['read', 'write', 'run']")
 return data


def worker___definitions_releaselease(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workerId', 'workerGeneration']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ReleaseLease'):
    raise Invalid(at + ".kind", "must be same as const definition: ReleaseLease")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_renewlease(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workerId', 'workerGeneration']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'RenewLease'):
    raise Invalid(at + ".kind", "must be same as const definition: RenewLease")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_reportwork(data, at="data"):
 if not isinstance(data, dict):
  raise Invalid(at, "must be object")
 if data.get('workType') == 'action':
  worker___definitions_reportaction(data, at)
 elif data.get('workType') == 'verification':
  worker___definitions_reportverification(data, at)
 elif data.get('workType') == 'evidence':
  worker___definitions_reportevidence(data, at)
 elif data.get('workType') == 'review':
  worker___definitions_reportreview(data, at)
 else:
  raise Invalid(at + ".workType", "must be one of action, verification, evidence, review")
 return data


def worker___definitions_reportreview(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workType', 'workerId', 'workerGeneration', 'tool', 'norm', 'invocation', 'requestDigest', 'expectedPolicyFingerprint', 'verdict', 'reason', 'citedClause', 'feature']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ReportWork'):
    raise Invalid(at + ".kind", "must be same as const definition: ReportWork")
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'review'):
    raise Invalid(at + ".workType", "must be same as const definition: review")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   worker___definitions_name(data__tool, at + ".tool")
  if "norm" in data_keys:
   data_keys.pop("norm")
   data__norm = data["norm"]
   worker___definitions_name(data__norm, at + ".norm")
  if "invocation" in data_keys:
   data_keys.pop("invocation")
   data__invocation = data["invocation"]
   worker___definitions_name(data__invocation, at + ".invocation")
  if "requestDigest" in data_keys:
   data_keys.pop("requestDigest")
   data__requestDigest = data["requestDigest"]
   worker___definitions_digest(data__requestDigest, at + ".requestDigest")
  if "expectedPolicyFingerprint" in data_keys:
   data_keys.pop("expectedPolicyFingerprint")
   data__expectedPolicyFingerprint = data["expectedPolicyFingerprint"]
   worker___definitions_digest(data__expectedPolicyFingerprint, at + ".expectedPolicyFingerprint")
  if "verdict" in data_keys:
   data_keys.pop("verdict")
   data__verdict = data["verdict"]
   if not (isinstance(data__verdict, str)):
    raise Invalid(at + ".verdict", "must be string")
   if not (isinstance(data__verdict, str) and data__verdict == 'allow' or isinstance(data__verdict, str) and data__verdict == 'block' or isinstance(data__verdict, str) and data__verdict == 'not_applicable' or isinstance(data__verdict, str) and data__verdict == 'uncertain'):
    raise Invalid(at + ".verdict", "must be one of ['allow', 'block', 'not_applicable', 'uncertain']")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
  if "citedClause" in data_keys:
   data_keys.pop("citedClause")
   data__citedClause = data["citedClause"]
   if not (isinstance(data__citedClause, str)):
    raise Invalid(at + ".citedClause", "must be string")
  if "feature" in data_keys:
   data_keys.pop("feature")
   data__feature = data["feature"]
   if not (isinstance(data__feature, str)):
    raise Invalid(at + ".feature", "must be string")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_reportevidence(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workType', 'workerId', 'workerGeneration', 'material', 'source', 'facts']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ReportWork'):
    raise Invalid(at + ".kind", "must be same as const definition: ReportWork")
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'evidence'):
    raise Invalid(at + ".workType", "must be same as const definition: evidence")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "material" in data_keys:
   data_keys.pop("material")
   data__material = data["material"]
   worker___definitions_name(data__material, at + ".material")
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   worker___definitions_name(data__source, at + ".source")
  if "facts" in data_keys:
   data_keys.pop("facts")
   data__facts = data["facts"]
   worker___definitions_facts(data__facts, at + ".facts")
  if "exhibit" in data_keys:
   data_keys.pop("exhibit")
   data__exhibit = data["exhibit"]
   if not (isinstance(data__exhibit, dict)):
    raise Invalid(at + ".exhibit", "must be object")
   data__exhibit_is_dict = isinstance(data__exhibit, dict)
   if data__exhibit_is_dict:
    data__exhibit__missing_keys = set(['target', 'item', 'digest']) - data__exhibit.keys()
    if data__exhibit__missing_keys:
     raise Invalid(at + ".exhibit", "must contain " + listed(data__exhibit__missing_keys))
    data__exhibit_keys = dict(data__exhibit)
    if "target" in data__exhibit_keys:
     data__exhibit_keys.pop("target")
     data__exhibit__target = data__exhibit["target"]
     if not (isinstance(data__exhibit__target, str)):
      raise Invalid(at + ".exhibit.target", "must be string")
     if isinstance(data__exhibit__target, str):
      if not PATTERNS['^tool:[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$'](data__exhibit__target):
       raise Invalid(at + ".exhibit.target", "must match pattern ^tool:[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$")
    if "item" in data__exhibit_keys:
     data__exhibit_keys.pop("item")
     data__exhibit__item = data__exhibit["item"]
     worker___definitions_name(data__exhibit__item, at + ".exhibit.item")
    if "digest" in data__exhibit_keys:
     data__exhibit_keys.pop("digest")
     data__exhibit__digest = data__exhibit["digest"]
     if not (isinstance(data__exhibit__digest, str)):
      raise Invalid(at + ".exhibit.digest", "must be string")
     if isinstance(data__exhibit__digest, str):
      if not PATTERNS['^sha256:[a-f0-9]{16}$'](data__exhibit__digest):
       raise Invalid(at + ".exhibit.digest", "must match pattern ^sha256:[a-f0-9]{16}$")
    if data__exhibit_keys:
     raise Invalid(at + ".exhibit", "must not contain " + listed(data__exhibit_keys))
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_facts(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must contain at least 1 items")
  for data_x, data_item in enumerate(data):
   worker___definitions_fact(data_item, at + "[{data_x}]".format(**locals()))
 return data


def worker___definitions_reportverification(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workType', 'id', 'workerId', 'workerGeneration', 'outcome']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ReportWork'):
    raise Invalid(at + ".kind", "must be same as const definition: ReportWork")
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'verification'):
    raise Invalid(at + ".workType", "must be same as const definition: verification")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   worker___definitions_name(data__id, at + ".id")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "outcome" in data_keys:
   data_keys.pop("outcome")
   data__outcome = data["outcome"]
   if not (isinstance(data__outcome, str)):
    raise Invalid(at + ".outcome", "must be string")
   if not (isinstance(data__outcome, str) and data__outcome == 'satisfied' or isinstance(data__outcome, str) and data__outcome == 'not_satisfied' or isinstance(data__outcome, str) and data__outcome == 'error'):
    raise Invalid(at + ".outcome", "must be one of ['satisfied', 'not_satisfied', 'error']")
  if "tier" in data_keys:
   data_keys.pop("tier")
   data__tier = data["tier"]
   if not (isinstance(data__tier, str)):
    raise Invalid(at + ".tier", "must be string")
   if not (isinstance(data__tier, str) and data__tier == 'attested' or isinstance(data__tier, str) and data__tier == 'perceived' or isinstance(data__tier, str) and data__tier == 'verified'):
    raise Invalid(at + ".tier", "must be one of ['attested', 'perceived', 'verified']")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
   if isinstance(data__reason, str):
    data__reason_len = len(data__reason)
    if data__reason_len > 240:
     raise Invalid(at + ".reason", "must be shorter than or equal to 240 characters")
  if "evidenceRefs" in data_keys:
   data_keys.pop("evidenceRefs")
   data__evidenceRefs = data["evidenceRefs"]
   if not (isinstance(data__evidenceRefs, list)):
    raise Invalid(at + ".evidenceRefs", "must be array")
   data__evidenceRefs_is_list = isinstance(data__evidenceRefs, (list, tuple))
   if data__evidenceRefs_is_list:
    data__evidenceRefs_len = len(data__evidenceRefs)
    for data__evidenceRefs_x, data__evidenceRefs_item in enumerate(data__evidenceRefs):
     if not (isinstance(data__evidenceRefs_item, str)):
      raise Invalid(at + ".evidenceRefs[{data__evidenceRefs_x}]".format(**locals()), "must be string")
     if isinstance(data__evidenceRefs_item, str):
      data__evidenceRefs_item_len = len(data__evidenceRefs_item)
      if data__evidenceRefs_item_len < 1:
       raise Invalid(at + ".evidenceRefs[{data__evidenceRefs_x}]".format(**locals()), "must be longer than or equal to 1 characters")
  if "facts" in data_keys:
   data_keys.pop("facts")
   data__facts = data["facts"]
   worker___definitions_facts(data__facts, at + ".facts")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_reportaction(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workType', 'id', 'workerId', 'workerGeneration', 'executionGrant']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ReportWork'):
    raise Invalid(at + ".kind", "must be same as const definition: ReportWork")
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'action'):
    raise Invalid(at + ".workType", "must be same as const definition: action")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   worker___definitions_name(data__id, at + ".id")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "executionGrant" in data_keys:
   data_keys.pop("executionGrant")
   data__executionGrant = data["executionGrant"]
   worker___definitions_grant(data__executionGrant, at + ".executionGrant")
  if "ok" in data_keys:
   data_keys.pop("ok")
   data__ok = data["ok"]
   if not (isinstance(data__ok, bool)):
    raise Invalid(at + ".ok", "must be boolean")
  if "result" in data_keys:
   data_keys.pop("result")
   data__result = data["result"]
   if not (isinstance(data__result, str)):
    raise Invalid(at + ".result", "must be string")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
  if "facts" in data_keys:
   data_keys.pop("facts")
   data__facts = data["facts"]
   worker___definitions_facts(data__facts, at + ".facts")
  if "artifacts" in data_keys:
   data_keys.pop("artifacts")
   data__artifacts = data["artifacts"]
   worker___definitions_artifactrefs(data__artifacts, at + ".artifacts")
  if "completionStage" in data_keys:
   data_keys.pop("completionStage")
   data__completionStage = data["completionStage"]
   if not (isinstance(data__completionStage, str)):
    raise Invalid(at + ".completionStage", "must be string")
   if not (isinstance(data__completionStage, str) and data__completionStage == 'terminal'):
    raise Invalid(at + ".completionStage", "must be same as const definition: terminal")
  if "undeliverable" in data_keys:
   data_keys.pop("undeliverable")
   data__undeliverable = data["undeliverable"]
   if not (isinstance(data__undeliverable, str)):
    raise Invalid(at + ".undeliverable", "must be string")
   if isinstance(data__undeliverable, str):
    if not PATTERNS['^[a-z][a-z0-9_]{0,63}$'](data__undeliverable):
     raise Invalid(at + ".undeliverable", "must match pattern ^[a-z][a-z0-9_]{0,63}$")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['undeliverable']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['ok']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
  try:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "ok" in data_keys:
     data_keys.pop("ok")
     data__ok = data["ok"]
     if not (isinstance(data__ok, bool) and data__ok is True):
      raise Invalid(at + ".ok", "must be same as const definition: True")
  except Invalid:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "facts" in data_keys:
     data_keys.pop("facts")
     data__facts = data["facts"]
     raise Invalid(at + ".facts", "must not be there")
    if "completionStage" in data_keys:
     data_keys.pop("completionStage")
     data__completionStage = data["completionStage"]
     raise Invalid(at + ".completionStage", "must not be there")
  else:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "reason" in data_keys:
     data_keys.pop("reason")
     data__reason = data["reason"]
     raise Invalid(at + ".reason", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "ok" in data_keys:
    data_keys.pop("ok")
    data__ok = data["ok"]
    raise Invalid(at + ".ok", "must not be there")
   if "result" in data_keys:
    data_keys.pop("result")
    data__result = data["result"]
    raise Invalid(at + ".result", "must not be there")
   if "reason" in data_keys:
    data_keys.pop("reason")
    data__reason = data["reason"]
    raise Invalid(at + ".reason", "must not be there")
   if "facts" in data_keys:
    data_keys.pop("facts")
    data__facts = data["facts"]
    raise Invalid(at + ".facts", "must not be there")
   if "artifacts" in data_keys:
    data_keys.pop("artifacts")
    data__artifacts = data["artifacts"]
    raise Invalid(at + ".artifacts", "must not be there")
   if "completionStage" in data_keys:
    data_keys.pop("completionStage")
    data__completionStage = data["completionStage"]
    raise Invalid(at + ".completionStage", "must not be there")
 return data


def worker___definitions_artifactrefs(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  for data_x, data_item in enumerate(data):
   if not (isinstance(data_item, dict)):
    raise Invalid(at + "[{data_x}]".format(**locals()), "must be object")
   data_item_is_dict = isinstance(data_item, dict)
   if data_item_is_dict:
    data_item__missing_keys = set(['ref']) - data_item.keys()
    if data_item__missing_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must contain " + listed(data_item__missing_keys))
    data_item_keys = dict(data_item)
    if "ref" in data_item_keys:
     data_item_keys.pop("ref")
     data_item__ref = data_item["ref"]
     if not (isinstance(data_item__ref, str)):
      raise Invalid(at + "[{data_x}].ref".format(**locals()), "must be string")
     if isinstance(data_item__ref, str):
      if not PATTERNS['^art_[a-f0-9]{32}$'](data_item__ref):
       raise Invalid(at + "[{data_x}].ref".format(**locals()), "must match pattern ^art_[a-f0-9]{32}$")
    if data_item_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must not contain " + listed(data_item_keys))
 return data


def worker___definitions_claimwork(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workType', 'id', 'workerId', 'workerGeneration']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'ClaimWork'):
    raise Invalid(at + ".kind", "must be same as const definition: ClaimWork")
  if "workType" in data_keys:
   data_keys.pop("workType")
   data__workType = data["workType"]
   if not (isinstance(data__workType, str)):
    raise Invalid(at + ".workType", "must be string")
   if not (isinstance(data__workType, str) and data__workType == 'action' or isinstance(data__workType, str) and data__workType == 'verification'):
    raise Invalid(at + ".workType", "must be one of ['action', 'verification']")
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   worker___definitions_name(data__id, at + ".id")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "executionGrant" in data_keys:
   data_keys.pop("executionGrant")
   data__executionGrant = data["executionGrant"]
   worker___definitions_grant(data__executionGrant, at + ".executionGrant")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "workType" in data_keys:
    data_keys.pop("workType")
    data__workType = data["workType"]
    if not (isinstance(data__workType, str) and data__workType == 'action'):
     raise Invalid(at + ".workType", "must be same as const definition: action")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "executionGrant" in data_keys:
    data_keys.pop("executionGrant")
    data__executionGrant = data["executionGrant"]
    raise Invalid(at + ".executionGrant", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['executionGrant']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 return data


def worker___definitions_poll(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['kind', 'workerId', 'tools']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'Poll'):
    raise Invalid(at + ".kind", "must be same as const definition: Poll")
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "tools" in data_keys:
   data_keys.pop("tools")
   data__tools = data["tools"]
   if not (isinstance(data__tools, list)):
    raise Invalid(at + ".tools", "must be array")
   data__tools_is_list = isinstance(data__tools, (list, tuple))
   if data__tools_is_list:
    data__tools_len = len(data__tools)
    for data__tools_x, data__tools_item in enumerate(data__tools):
     if not (isinstance(data__tools_item, dict)):
      raise Invalid(at + ".tools[{data__tools_x}]".format(**locals()), "must be object")
  if "inputAdoption" in data_keys:
   data_keys.pop("inputAdoption")
   data__inputAdoption = data["inputAdoption"]
   if not (isinstance(data__inputAdoption, dict)):
    raise Invalid(at + ".inputAdoption", "must be object")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_descriptor(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'digest', 'sourceTypes', 'kind', 'params', 'returns']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "id" in data_keys:
   data_keys.pop("id")
   data__id = data["id"]
   if not (isinstance(data__id, str)):
    raise Invalid(at + ".id", "must be string")
   if isinstance(data__id, str):
    if not PATTERNS['^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$'](data__id):
     raise Invalid(at + ".id", "must match pattern ^[a-z][a-z0-9_.-]{1,95}@[1-9][0-9]*$")
  if "digest" in data_keys:
   data_keys.pop("digest")
   data__digest = data["digest"]
   worker___definitions_hex(data__digest, at + ".digest")
  if "sourceTypes" in data_keys:
   data_keys.pop("sourceTypes")
   data__sourceTypes = data["sourceTypes"]
   worker___definitions_sourcetypes(data__sourceTypes, at + ".sourceTypes")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   worker___definitions_toolkind(data__kind, at + ".kind")
  if "params" in data_keys:
   data_keys.pop("params")
   data__params = data["params"]
   worker___definitions_params(data__params, at + ".params")
  if "returns" in data_keys:
   data_keys.pop("returns")
   data__returns = data["returns"]
   worker___definitions_returns(data__returns, at + ".returns")
  if "adapter" in data_keys:
   data_keys.pop("adapter")
   data__adapter = data["adapter"]
   if not (isinstance(data__adapter, str)):
    raise Invalid(at + ".adapter", "must be string")
   if not (isinstance(data__adapter, str) and data__adapter == 'http' or isinstance(data__adapter, str) and data__adapter == 'run' or isinstance(data__adapter, str) and data__adapter == 'db-query' or isinstance(data__adapter, str) and data__adapter == 'db-exec-fenced' or isinstance(data__adapter, str) and data__adapter == 'mcp' or isinstance(data__adapter, str) and data__adapter == 'workspace' or isinstance(data__adapter, str) and data__adapter == 'material'):
    raise Invalid(at + ".adapter", "must be one of ['http', 'run', 'db-query', 'db-exec-fenced', 'mcp', 'workspace', 'material']")
  if "entry" in data_keys:
   data_keys.pop("entry")
   data__entry = data["entry"]
   worker___definitions_name(data__entry, at + ".entry")
  if "fence" in data_keys:
   data_keys.pop("fence")
   data__fence = data["fence"]
   if not (isinstance(data__fence, dict)):
    raise Invalid(at + ".fence", "must be object")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_leasepolicy(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['leaseMs', 'heartbeatMs']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "leaseMs" in data_keys:
   data_keys.pop("leaseMs")
   data__leaseMs = data["leaseMs"]
   worker___definitions_count(data__leaseMs, at + ".leaseMs")
  if "heartbeatMs" in data_keys:
   data_keys.pop("heartbeatMs")
   data__heartbeatMs = data["heartbeatMs"]
   worker___definitions_count(data__heartbeatMs, at + ".heartbeatMs")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_lease(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['workerId', 'workerGeneration', 'expiresAt', 'serverTime', 'heartbeatAfterMs']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "workerId" in data_keys:
   data_keys.pop("workerId")
   data__workerId = data["workerId"]
   worker___definitions_workerid(data__workerId, at + ".workerId")
  if "workerGeneration" in data_keys:
   data_keys.pop("workerGeneration")
   data__workerGeneration = data["workerGeneration"]
   worker___definitions_generation(data__workerGeneration, at + ".workerGeneration")
  if "expiresAt" in data_keys:
   data_keys.pop("expiresAt")
   data__expiresAt = data["expiresAt"]
   worker___definitions_instant(data__expiresAt, at + ".expiresAt")
  if "serverTime" in data_keys:
   data_keys.pop("serverTime")
   data__serverTime = data["serverTime"]
   worker___definitions_instant(data__serverTime, at + ".serverTime")
  if "heartbeatAfterMs" in data_keys:
   data_keys.pop("heartbeatAfterMs")
   data__heartbeatAfterMs = data["heartbeatAfterMs"]
   worker___definitions_count(data__heartbeatAfterMs, at + ".heartbeatAfterMs")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def worker___definitions_instant(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?Z$'](data):
   raise Invalid(at, "must match pattern ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?Z$")
 return data


VALIDATORS = {
    'OpenCase': tool_OpenCase,
    'ApplyBatch': tool_ApplyBatch,
    'ApplyAction': tool_ApplyAction,
    'CloseCase': tool_CloseCase,
    'QueryBoard': tool_QueryBoard,
    'ReadArtifact': tool_ReadArtifact,
    'lease': worker___definitions_lease,
    'leasePolicy': worker___definitions_leasepolicy,
    'descriptor': worker___definitions_descriptor,
    'poll': worker___definitions_poll,
    'claimWork': worker___definitions_claimwork,
    'reportWork': worker___definitions_reportwork,
    'renewLease': worker___definitions_renewlease,
    'releaseLease': worker___definitions_releaselease,
    'toolSpec': worker___definitions_toolspec,
    'sourceUpload': worker___definitions_sourceupload,
    'artifactPolicy': worker___definitions_artifactpolicy,
    'verificationRow': worker___definitions_verificationrow,
    'evidenceRow': worker___definitions_evidencerow,
    'reviewRow': worker___definitions_reviewrow,
    'grantPayload': worker___definitions_grantpayload,
    'fact': worker___definitions_fact,
    'pollAnswer': worker___definitions_pollanswer,
    'refusal': worker___definitions_refusal,
    'sourceList': worker___definitions_sourcelist,
    'materialRegister': worker___definitions_materialregister,
    'materialRegistered': worker___definitions_materialregistered,
    'materialPoll': worker___definitions_materialpoll,
    'materialDelivery': worker___definitions_materialdelivery,
    'materialResult': worker___definitions_materialresult,
    'materialClaim': worker___definitions_materialclaim,
    'materialClaimed': worker___definitions_materialclaimed,
    'workerActionRow': worker___definitions_actionrow,
}
