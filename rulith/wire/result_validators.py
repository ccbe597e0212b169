"""Compiled from protocol/ by build_pyz.py; `build_pyz.py --check` compares. Not edited by hand."""
# fmt: off

import re

from rulith.wire.validation import Invalid, is_integer, is_number, listed

PATTERNS = {
    '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$': re.compile('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$', re.ASCII).fullmatch,
    '^art_[a-f0-9]{32}$': re.compile('^art_[a-f0-9]{32}$', re.ASCII).fullmatch,
    '^history:[a-f0-9]{64}$': re.compile('^history:[a-f0-9]{64}$', re.ASCII).fullmatch,
}


def result___definitions_toolresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['content', '_meta']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "content" in data_keys:
   data_keys.pop("content")
   data__content = data["content"]
   result___definitions_textcontent(data__content, at + ".content")
  if "isError" in data_keys:
   data_keys.pop("isError")
   data__isError = data["isError"]
   if not (isinstance(data__isError, bool)):
    raise Invalid(at + ".isError", "must be boolean")
  if "_meta" in data_keys:
   data_keys.pop("_meta")
   data__meta = data["_meta"]
   if not (isinstance(data__meta, dict)):
    raise Invalid(at + "._meta", "must be object")
   data__meta_is_dict = isinstance(data__meta, dict)
   if data__meta_is_dict:
    data__meta__missing_keys = set(['rulith/v3']) - data__meta.keys()
    if data__meta__missing_keys:
     raise Invalid(at + "._meta", "must contain " + listed(data__meta__missing_keys))
    data__meta_keys = dict(data__meta)
    if "rulith/v3" in data__meta_keys:
     data__meta_keys.pop("rulith/v3")
     data__meta__rulithv3 = data__meta["rulith/v3"]
     result___definitions_hostmetadata(data__meta__rulithv3, at + "._meta.rulith/v3")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_textcontent(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must contain at least 1 items")
  if data_len > 1:
   raise Invalid(at, "must contain less than or equal to 1 items")
  for data_x, data_item in enumerate(data):
   if not (isinstance(data_item, dict)):
    raise Invalid(at + "[{data_x}]".format(**locals()), "must be object")
   data_item_is_dict = isinstance(data_item, dict)
   if data_item_is_dict:
    data_item__missing_keys = set(['type', 'text']) - data_item.keys()
    if data_item__missing_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must contain " + listed(data_item__missing_keys))
    data_item_keys = dict(data_item)
    if "type" in data_item_keys:
     data_item_keys.pop("type")
     data_item__type = data_item["type"]
     if not (isinstance(data_item__type, str)):
      raise Invalid(at + "[{data_x}].type".format(**locals()), "must be string")
     if not (isinstance(data_item__type, str) and data_item__type == 'text'):
      raise Invalid(at + "[{data_x}].type".format(**locals()), "must be same as const definition: text")
    if "text" in data_item_keys:
     data_item_keys.pop("text")
     data_item__text = data_item["text"]
     if not (isinstance(data_item__text, str)):
      raise Invalid(at + "[{data_x}].text".format(**locals()), "must be string")
     if isinstance(data_item__text, str):
      data_item__text_len = len(data_item__text)
      if data_item__text_len < 2:
       raise Invalid(at + "[{data_x}].text".format(**locals()), "must be longer than or equal to 2 characters")
    if data_item_keys:
     raise Invalid(at + "[{data_x}]".format(**locals()), "must not contain " + listed(data_item_keys))
 return data


def result___definitions_artifactticketresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'result', 'operations']) - data.keys()
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
  if "result" in data_keys:
   data_keys.pop("result")
   data__result = data["result"]
   if not (isinstance(data__result, dict)):
    raise Invalid(at + ".result", "must be object")
   data__result_is_dict = isinstance(data__result, dict)
   if data__result_is_dict:
    data__result__missing_keys = set(['ref']) - data__result.keys()
    if data__result__missing_keys:
     raise Invalid(at + ".result", "must contain " + listed(data__result__missing_keys))
    data__result_keys = dict(data__result)
    if "ref" in data__result_keys:
     data__result_keys.pop("ref")
     data__result__ref = data__result["ref"]
     if not (isinstance(data__result__ref, str)):
      raise Invalid(at + ".result.ref", "must be string")
     if isinstance(data__result__ref, str):
      if not PATTERNS['^art_[a-f0-9]{32}$'](data__result__ref):
       raise Invalid(at + ".result.ref", "must match pattern ^art_[a-f0-9]{32}$")
    if data__result_keys:
     raise Invalid(at + ".result", "must not contain " + listed(data__result_keys))
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_artifactresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'result', 'operations']) - data.keys()
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
  if "result" in data_keys:
   data_keys.pop("result")
   data__result = data["result"]
   result___definitions_artifactwindow(data__result, at + ".result")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_artifactwindow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['ref', 'mediaType', 'encoding', 'data', 'offset', 'nextOffset', 'totalBytes', 'complete', 'truncated']) - data.keys()
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
   if not (isinstance(data__encoding, str)):
    raise Invalid(at + ".encoding", "must be string")
   if not (isinstance(data__encoding, str) and data__encoding == 'utf8' or isinstance(data__encoding, str) and data__encoding == 'base64'):
    raise Invalid(at + ".encoding", "must be one of ['utf8', 'base64']")
  if "data" in data_keys:
   data_keys.pop("data")
   data__data = data["data"]
   if not (isinstance(data__data, str)):
    raise Invalid(at + ".data", "must be string")
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
  if "nextOffset" in data_keys:
   data_keys.pop("nextOffset")
   data__nextOffset = data["nextOffset"]
   if not (is_integer(data__nextOffset) or data__nextOffset is None):
    raise Invalid(at + ".nextOffset", "must be integer within ±9007199254740991 or null")
   if isinstance(data__nextOffset, (int, float)) and not isinstance(data__nextOffset, bool):
    if data__nextOffset < 0:
     raise Invalid(at + ".nextOffset", "must be bigger than or equal to 0")
    if data__nextOffset > 9007199254740991:
     raise Invalid(at + ".nextOffset", "must be smaller than or equal to 9007199254740991")
  if "totalBytes" in data_keys:
   data_keys.pop("totalBytes")
   data__totalBytes = data["totalBytes"]
   if not (is_integer(data__totalBytes)):
    raise Invalid(at + ".totalBytes", "must be integer within ±9007199254740991")
   if isinstance(data__totalBytes, (int, float)) and not isinstance(data__totalBytes, bool):
    if data__totalBytes < 0:
     raise Invalid(at + ".totalBytes", "must be bigger than or equal to 0")
    if data__totalBytes > 9007199254740991:
     raise Invalid(at + ".totalBytes", "must be smaller than or equal to 9007199254740991")
  if "complete" in data_keys:
   data_keys.pop("complete")
   data__complete = data["complete"]
   if not (isinstance(data__complete, bool)):
    raise Invalid(at + ".complete", "must be boolean")
  if "truncated" in data_keys:
   data_keys.pop("truncated")
   data__truncated = data["truncated"]
   if not (isinstance(data__truncated, bool)):
    raise Invalid(at + ".truncated", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "complete" in data_keys:
    data_keys.pop("complete")
    data__complete = data["complete"]
    if not (isinstance(data__complete, bool) and data__complete is True):
     raise Invalid(at + ".complete", "must be same as const definition: True")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "nextOffset" in data_keys:
    data_keys.pop("nextOffset")
    data__nextOffset = data["nextOffset"]
    if not (is_integer(data__nextOffset)):
     raise Invalid(at + ".nextOffset", "must be integer within ±9007199254740991")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "nextOffset" in data_keys:
    data_keys.pop("nextOffset")
    data__nextOffset = data["nextOffset"]
    if not (data__nextOffset is None):
     raise Invalid(at + ".nextOffset", "must be null")
   if "truncated" in data_keys:
    data_keys.pop("truncated")
    data__truncated = data["truncated"]
    if not (isinstance(data__truncated, bool) and data__truncated is False):
     raise Invalid(at + ".truncated", "must be same as const definition: False")
 return data


def result___definitions_actionoutcome(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "status" in data_keys:
    data_keys.pop("status")
    data__status = data["status"]
    if not (isinstance(data__status, str) and data__status == 'unknown'):
     raise Invalid(at + ".status", "must be same as const definition: unknown")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['ok']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "ok" in data_keys:
    data_keys.pop("ok")
    data__ok = data["ok"]
    raise Invalid(at + ".ok", "must not be there")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "status" in data_keys:
    data_keys.pop("status")
    data__status = data["status"]
    if not (isinstance(data__status, str) and data__status == 'confirmed'):
     raise Invalid(at + ".status", "must be same as const definition: confirmed")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "ok" in data_keys:
    data_keys.pop("ok")
    data__ok = data["ok"]
    if not (isinstance(data__ok, bool) and data__ok is True):
     raise Invalid(at + ".ok", "must be same as const definition: True")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "status" in data_keys:
    data_keys.pop("status")
    data__status = data["status"]
    if not (isinstance(data__status, str) and data__status == 'failed' or isinstance(data__status, str) and data__status == 'refused'):
     raise Invalid(at + ".status", "must be one of ['failed', 'refused']")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "ok" in data_keys:
    data_keys.pop("ok")
    data__ok = data["ok"]
    if not (isinstance(data__ok, bool) and data__ok is False):
     raise Invalid(at + ".ok", "must be same as const definition: False")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['action', 'done', 'status']) - data.keys()
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
  if "done" in data_keys:
   data_keys.pop("done")
   data__done = data["done"]
   if not (isinstance(data__done, bool)):
    raise Invalid(at + ".done", "must be boolean")
   if not (isinstance(data__done, bool) and data__done is True):
    raise Invalid(at + ".done", "must be same as const definition: True")
  if "status" in data_keys:
   data_keys.pop("status")
   data__status = data["status"]
   if not (isinstance(data__status, str)):
    raise Invalid(at + ".status", "must be string")
   if not (isinstance(data__status, str) and data__status == 'confirmed' or isinstance(data__status, str) and data__status == 'failed' or isinstance(data__status, str) and data__status == 'refused' or isinstance(data__status, str) and data__status == 'unknown'):
    raise Invalid(at + ".status", "must be one of ['confirmed', 'failed', 'refused', 'unknown']")
  if "ok" in data_keys:
   data_keys.pop("ok")
   data__ok = data["ok"]
   if not (isinstance(data__ok, bool)):
    raise Invalid(at + ".ok", "must be boolean")
 return data


def result___definitions_queryboardresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'operations']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "accepted" in data_keys:
   data_keys.pop("accepted")
   data__accepted = data["accepted"]
   if not (isinstance(data__accepted, bool)):
    raise Invalid(at + ".accepted", "must be boolean")
  if "view" in data_keys:
   data_keys.pop("view")
   data__view = data["view"]
   result___definitions_view(data__view, at + ".view")
  if "observation" in data_keys:
   data_keys.pop("observation")
   data__observation = data["observation"]
   if not (isinstance(data__observation, dict)):
    raise Invalid(at + ".observation", "must be object")
   data__observation_is_dict = isinstance(data__observation, dict)
   if data__observation_is_dict:
    data__observation__missing_keys = set(['consistency']) - data__observation.keys()
    if data__observation__missing_keys:
     raise Invalid(at + ".observation", "must contain " + listed(data__observation__missing_keys))
    data__observation_keys = dict(data__observation)
    if "consistency" in data__observation_keys:
     data__observation_keys.pop("consistency")
     data__observation__consistency = data__observation["consistency"]
     if not (isinstance(data__observation__consistency, str)):
      raise Invalid(at + ".observation.consistency", "must be string")
     if not (isinstance(data__observation__consistency, str) and data__observation__consistency == 'committed'):
      raise Invalid(at + ".observation.consistency", "must be same as const definition: committed")
    if data__observation_keys:
     raise Invalid(at + ".observation", "must not contain " + listed(data__observation_keys))
  if "requestExecuted" in data_keys:
   data_keys.pop("requestExecuted")
   data__requestExecuted = data["requestExecuted"]
   if not (isinstance(data__requestExecuted, bool)):
    raise Invalid(at + ".requestExecuted", "must be boolean")
   if not (isinstance(data__requestExecuted, bool) and data__requestExecuted is False):
    raise Invalid(at + ".requestExecuted", "must be same as const definition: False")
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
   if isinstance(data__teaching, str):
    data__teaching_len = len(data__teaching)
    if data__teaching_len < 1:
     raise Invalid(at + ".teaching", "must be longer than or equal to 1 characters")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "accepted" in data_keys:
    data_keys.pop("accepted")
    data__accepted = data["accepted"]
    if not (isinstance(data__accepted, bool) and data__accepted is True):
     raise Invalid(at + ".accepted", "must be same as const definition: True")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['errorCode', 'teaching']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "observation" in data_keys:
    data_keys.pop("observation")
    data__observation = data["observation"]
    raise Invalid(at + ".observation", "must not be there")
  try:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "errorCode" in data_keys:
     data_keys.pop("errorCode")
     data__errorCode = data["errorCode"]
     if not (isinstance(data__errorCode, str) and data__errorCode == 'result_unavailable' or isinstance(data__errorCode, str) and data__errorCode == 'not_authorized' or isinstance(data__errorCode, str) and data__errorCode == 'audience_profile_required' or isinstance(data__errorCode, str) and data__errorCode == 'audience_profile_denied'):
      raise Invalid(at + ".errorCode", "must be one of ['result_unavailable', 'not_authorized', 'audience_profile_required', 'audience_profile_denied']")
  except Invalid:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data__missing_keys = set(['view', 'requestExecuted']) - data.keys()
    if data__missing_keys:
     raise Invalid(at, "must contain " + listed(data__missing_keys))
  else:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "view" in data_keys:
     data_keys.pop("view")
     data__view = data["view"]
     raise Invalid(at + ".view", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['view', 'observation']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "requestExecuted" in data_keys:
    data_keys.pop("requestExecuted")
    data__requestExecuted = data["requestExecuted"]
    raise Invalid(at + ".requestExecuted", "must not be there")
   if "errorCode" in data_keys:
    data_keys.pop("errorCode")
    data__errorCode = data["errorCode"]
    raise Invalid(at + ".errorCode", "must not be there")
   if "teaching" in data_keys:
    data_keys.pop("teaching")
    data__teaching = data["teaching"]
    raise Invalid(at + ".teaching", "must not be there")
 return data


def result___definitions_heldcallresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['state', 'operations']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "state" in data_keys:
   data_keys.pop("state")
   data__state = data["state"]
   result___definitions_state(data__state, at + ".state")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if "contentWithheld" in data_keys:
   data_keys.pop("contentWithheld")
   data__contentWithheld = data["contentWithheld"]
   if not (isinstance(data__contentWithheld, bool)):
    raise Invalid(at + ".contentWithheld", "must be boolean")
   if not (isinstance(data__contentWithheld, bool) and data__contentWithheld is True):
    raise Invalid(at + ".contentWithheld", "must be same as const definition: True")
  if "teaching" in data_keys:
   data_keys.pop("teaching")
   data__teaching = data["teaching"]
   if not (isinstance(data__teaching, str)):
    raise Invalid(at + ".teaching", "must be string")
   if isinstance(data__teaching, str):
    data__teaching_len = len(data__teaching)
    if data__teaching_len < 1:
     raise Invalid(at + ".teaching", "must be longer than or equal to 1 characters")
  if "view" in data_keys:
   data_keys.pop("view")
   data__view = data["view"]
   result___definitions_view(data__view, at + ".view")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'done' or isinstance(data__state, str) and data__state == 'failed' or isinstance(data__state, str) and data__state == 'refused' or isinstance(data__state, str) and data__state == 'unknown'):
     raise Invalid(at + ".state", "must be one of ['done', 'failed', 'refused', 'unknown']")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "contentWithheld" in data_keys:
    data_keys.pop("contentWithheld")
    data__contentWithheld = data["contentWithheld"]
    raise Invalid(at + ".contentWithheld", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['contentWithheld']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 return data


def result___definitions_state(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'running' or isinstance(data, str) and data == 'waiting_for_decision' or isinstance(data, str) and data == 'done' or isinstance(data, str) and data == 'failed' or isinstance(data, str) and data == 'refused' or isinstance(data, str) and data == 'unknown' or isinstance(data, str) and data == 'needs_person'):
  raise Invalid(at, "must be one of ['running', 'waiting_for_decision', 'done', 'failed', 'refused', 'unknown', 'needs_person']")
 return data


def result___definitions_preexecutionrefusal(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'requestExecuted', 'tool', 'errorCode', 'teaching', 'operations']) - data.keys()
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
  if "requestExecuted" in data_keys:
   data_keys.pop("requestExecuted")
   data__requestExecuted = data["requestExecuted"]
   if not (isinstance(data__requestExecuted, bool)):
    raise Invalid(at + ".requestExecuted", "must be boolean")
   if not (isinstance(data__requestExecuted, bool) and data__requestExecuted is False):
    raise Invalid(at + ".requestExecuted", "must be same as const definition: False")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   result___definitions_operationtool(data__tool, at + ".tool")
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
   if isinstance(data__teaching, str):
    data__teaching_len = len(data__teaching)
    if data__teaching_len < 1:
     raise Invalid(at + ".teaching", "must be longer than or equal to 1 characters")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if "view" in data_keys:
   data_keys.pop("view")
   data__view = data["view"]
   result___definitions_view(data__view, at + ".view")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_any_of_count2 = 0
  if not data_any_of_count2:
   try:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data_keys = dict(data)
     if "tool" in data_keys:
      data_keys.pop("tool")
      data__tool = data["tool"]
      if not (isinstance(data__tool, str) and data__tool == 'ReadArtifact'):
       raise Invalid(at + ".tool", "must be same as const definition: ReadArtifact")
    data_any_of_count2 += 1
   except Invalid: pass
  if not data_any_of_count2:
   try:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data_keys = dict(data)
     if "errorCode" in data_keys:
      data_keys.pop("errorCode")
      data__errorCode = data["errorCode"]
      if not (isinstance(data__errorCode, str) and data__errorCode == 'result_unavailable' or isinstance(data__errorCode, str) and data__errorCode == 'not_authorized' or isinstance(data__errorCode, str) and data__errorCode == 'audience_profile_required' or isinstance(data__errorCode, str) and data__errorCode == 'audience_profile_denied'):
       raise Invalid(at + ".errorCode", "must be one of ['result_unavailable', 'not_authorized', 'audience_profile_required', 'audience_profile_denied']")
    data_any_of_count2 += 1
   except Invalid: pass
  if not data_any_of_count2:
   raise Invalid(at, "cannot be validated by any definition")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['view']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "view" in data_keys:
    data_keys.pop("view")
    data__view = data["view"]
    raise Invalid(at + ".view", "must not be there")
 return data


def result___definitions_operationtool(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'OpenCase' or isinstance(data, str) and data == 'ApplyBatch' or isinstance(data, str) and data == 'ApplyAction' or isinstance(data, str) and data == 'CloseCase' or isinstance(data, str) and data == 'ReadArtifact'):
  raise Invalid(at, "must be one of ['OpenCase', 'ApplyBatch', 'ApplyAction', 'CloseCase', 'ReadArtifact']")
 return data


def result___definitions_refusedresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'errorCode', 'teaching', 'view', 'operations']) - data.keys()
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
   if isinstance(data__teaching, str):
    data__teaching_len = len(data__teaching)
    if data__teaching_len < 1:
     raise Invalid(at + ".teaching", "must be longer than or equal to 1 characters")
  if "view" in data_keys:
   data_keys.pop("view")
   data__view = data["view"]
   result___definitions_view(data__view, at + ".view")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if "requestExecuted" in data_keys:
   data_keys.pop("requestExecuted")
   data__requestExecuted = data["requestExecuted"]
   raise Invalid(at + ".requestExecuted", "must not be there")
 return data


def result___definitions_acceptedresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['accepted', 'view', 'operations']) - data.keys()
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
  if "result" in data_keys:
   data_keys.pop("result")
   data__result = data["result"]
   if not (isinstance(data__result, dict)):
    raise Invalid(at + ".result", "must be object")
  if "view" in data_keys:
   data_keys.pop("view")
   data__view = data["view"]
   result___definitions_view(data__view, at + ".view")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_strip(data__operations, at + ".operations")
  if "errorCode" in data_keys:
   data_keys.pop("errorCode")
   data__errorCode = data["errorCode"]
   raise Invalid(at + ".errorCode", "must not be there")
  if "teaching" in data_keys:
   data_keys.pop("teaching")
   data__teaching = data["teaching"]
   raise Invalid(at + ".teaching", "must not be there")
  if "requestExecuted" in data_keys:
   data_keys.pop("requestExecuted")
   data__requestExecuted = data["requestExecuted"]
   raise Invalid(at + ".requestExecuted", "must not be there")
 return data


def result___definitions_actionrow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['status']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "status" in data_keys:
    data_keys.pop("status")
    data__status = data["status"]
    if not (isinstance(data__status, str) and data__status == 'ready'):
     raise Invalid(at + ".status", "must be same as const definition: ready")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "reason" in data_keys:
    data_keys.pop("reason")
    data__reason = data["reason"]
    raise Invalid(at + ".reason", "must not be there")
   if "why" in data_keys:
    data_keys.pop("why")
    data__why = data["why"]
    raise Invalid(at + ".why", "must not be there")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['status']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "status" in data_keys:
    data_keys.pop("status")
    data__status = data["status"]
    if not (isinstance(data__status, str) and data__status == 'blocked'):
     raise Invalid(at + ".status", "must be same as const definition: blocked")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['reason']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "waits" in data_keys:
    data_keys.pop("waits")
    data__waits = data["waits"]
    raise Invalid(at + ".waits", "must not be there")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['why']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['reason']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
   data_keys = dict(data)
   if "reason" in data_keys:
    data_keys.pop("reason")
    data__reason = data["reason"]
    if not (isinstance(data__reason, str) and data__reason == 'rule'):
     raise Invalid(at + ".reason", "must be same as const definition: rule")
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
  if "status" in data_keys:
   data_keys.pop("status")
   data__status = data["status"]
   if not (isinstance(data__status, str)):
    raise Invalid(at + ".status", "must be string")
   if not (isinstance(data__status, str) and data__status == 'ready' or isinstance(data__status, str) and data__status == 'blocked'):
    raise Invalid(at + ".status", "must be one of ['ready', 'blocked']")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
   if not (isinstance(data__reason, str) and data__reason == 'needs_setup' or isinstance(data__reason, str) and data__reason == 'law_lock' or isinstance(data__reason, str) and data__reason == 'rule' or isinstance(data__reason, str) and data__reason == 'case_paused' or isinstance(data__reason, str) and data__reason == 'case_closed' or isinstance(data__reason, str) and data__reason == 'duplicate_name'):
    raise Invalid(at + ".reason", "must be one of ['needs_setup', 'law_lock', 'rule', 'case_paused', 'case_closed', 'duplicate_name']")
  if "why" in data_keys:
   data_keys.pop("why")
   data__why = data["why"]
   if not (isinstance(data__why, str)):
    raise Invalid(at + ".why", "must be string")
   if isinstance(data__why, str):
    data__why_len = len(data__why)
    if data__why_len < 1:
     raise Invalid(at + ".why", "must be longer than or equal to 1 characters")
    if data__why_len > 200:
     raise Invalid(at + ".why", "must be shorter than or equal to 200 characters")
  if "waits" in data_keys:
   data_keys.pop("waits")
   data__waits = data["waits"]
   if not (isinstance(data__waits, list)):
    raise Invalid(at + ".waits", "must be array")
   data__waits_is_list = isinstance(data__waits, (list, tuple))
   if data__waits_is_list:
    data__waits_len = len(data__waits)
    if data__waits_len < 1:
     raise Invalid(at + ".waits", "must contain at least 1 items")
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    if data__waits_len > len(set(fn(data__waits_x) for data__waits_x in data__waits)):
     raise Invalid(at + ".waits", "must contain unique items")
    for data__waits_x, data__waits_item in enumerate(data__waits):
     if not (isinstance(data__waits_item, str)):
      raise Invalid(at + ".waits[{data__waits_x}]".format(**locals()), "must be string")
     if not (isinstance(data__waits_item, str) and data__waits_item == 'decision' or isinstance(data__waits_item, str) and data__waits_item == 'execution_phase' or isinstance(data__waits_item, str) and data__waits_item == 'fresh_data' or isinstance(data__waits_item, str) and data__waits_item == 'worker_offline'):
      raise Invalid(at + ".waits[{data__waits_x}]".format(**locals()), "must be one of ['decision', 'execution_phase', 'fresh_data', 'worker_offline']")
  if "candidates" in data_keys:
   data_keys.pop("candidates")
   data__candidates = data["candidates"]
   if not (isinstance(data__candidates, list)):
    raise Invalid(at + ".candidates", "must be array")
   data__candidates_is_list = isinstance(data__candidates, (list, tuple))
   if data__candidates_is_list:
    data__candidates_len = len(data__candidates)
    for data__candidates_x, data__candidates_item in enumerate(data__candidates):
     if not (isinstance(data__candidates_item, dict)):
      raise Invalid(at + ".candidates[{data__candidates_x}]".format(**locals()), "must be object")
     data__candidates_item_is_dict = isinstance(data__candidates_item, dict)
     if data__candidates_item_is_dict:
      data__candidates_item__missing_keys = set(['args', 'target']) - data__candidates_item.keys()
      if data__candidates_item__missing_keys:
       raise Invalid(at + ".candidates[{data__candidates_x}]".format(**locals()), "must contain " + listed(data__candidates_item__missing_keys))
      data__candidates_item_keys = dict(data__candidates_item)
      if "args" in data__candidates_item_keys:
       data__candidates_item_keys.pop("args")
       data__candidates_item__args = data__candidates_item["args"]
       if not (isinstance(data__candidates_item__args, dict)):
        raise Invalid(at + ".candidates[{data__candidates_x}].args".format(**locals()), "must be object")
      if "target" in data__candidates_item_keys:
       data__candidates_item_keys.pop("target")
       data__candidates_item__target = data__candidates_item["target"]
       if not (isinstance(data__candidates_item__target, str)):
        raise Invalid(at + ".candidates[{data__candidates_x}].target".format(**locals()), "must be string")
       if isinstance(data__candidates_item__target, str):
        data__candidates_item__target_len = len(data__candidates_item__target)
        if data__candidates_item__target_len < 1:
         raise Invalid(at + ".candidates[{data__candidates_x}].target".format(**locals()), "must be longer than or equal to 1 characters")
      if "withheld" in data__candidates_item_keys:
       data__candidates_item_keys.pop("withheld")
       data__candidates_item__withheld = data__candidates_item["withheld"]
       if not (isinstance(data__candidates_item__withheld, bool) and data__candidates_item__withheld is True):
        raise Invalid(at + ".candidates[{data__candidates_x}].withheld".format(**locals()), "must be same as const definition: True")
      if "tried" in data__candidates_item_keys:
       data__candidates_item_keys.pop("tried")
       data__candidates_item__tried = data__candidates_item["tried"]
       if not (isinstance(data__candidates_item__tried, dict)):
        raise Invalid(at + ".candidates[{data__candidates_x}].tried".format(**locals()), "must be object")
       data__candidates_item__tried_is_dict = isinstance(data__candidates_item__tried, dict)
       if data__candidates_item__tried_is_dict:
        data__candidates_item__tried__missing_keys = set(['state', 'reason', 'at']) - data__candidates_item__tried.keys()
        if data__candidates_item__tried__missing_keys:
         raise Invalid(at + ".candidates[{data__candidates_x}].tried".format(**locals()), "must contain " + listed(data__candidates_item__tried__missing_keys))
        data__candidates_item__tried_keys = dict(data__candidates_item__tried)
        if "state" in data__candidates_item__tried_keys:
         data__candidates_item__tried_keys.pop("state")
         data__candidates_item__tried__state = data__candidates_item__tried["state"]
         if not (isinstance(data__candidates_item__tried__state, str)):
          raise Invalid(at + ".candidates[{data__candidates_x}].tried.state".format(**locals()), "must be string")
         if not (isinstance(data__candidates_item__tried__state, str) and data__candidates_item__tried__state == 'done' or isinstance(data__candidates_item__tried__state, str) and data__candidates_item__tried__state == 'failed' or isinstance(data__candidates_item__tried__state, str) and data__candidates_item__tried__state == 'refused' or isinstance(data__candidates_item__tried__state, str) and data__candidates_item__tried__state == 'unknown'):
          raise Invalid(at + ".candidates[{data__candidates_x}].tried.state".format(**locals()), "must be one of ['done', 'failed', 'refused', 'unknown']")
        if "reason" in data__candidates_item__tried_keys:
         data__candidates_item__tried_keys.pop("reason")
         data__candidates_item__tried__reason = data__candidates_item__tried["reason"]
         if not (isinstance(data__candidates_item__tried__reason, str)):
          raise Invalid(at + ".candidates[{data__candidates_x}].tried.reason".format(**locals()), "must be string")
         if isinstance(data__candidates_item__tried__reason, str):
          data__candidates_item__tried__reason_len = len(data__candidates_item__tried__reason)
          if data__candidates_item__tried__reason_len > 200:
           raise Invalid(at + ".candidates[{data__candidates_x}].tried.reason".format(**locals()), "must be shorter than or equal to 200 characters")
        if "at" in data__candidates_item__tried_keys:
         data__candidates_item__tried_keys.pop("at")
         data__candidates_item__tried__at = data__candidates_item__tried["at"]
         result___definitions_instant(data__candidates_item__tried__at, at + ".candidates[{data__candidates_x}].tried.at".format(**locals()))
        if data__candidates_item__tried_keys:
         raise Invalid(at + ".candidates[{data__candidates_x}].tried".format(**locals()), "must not contain " + listed(data__candidates_item__tried_keys))
      if data__candidates_item_keys:
       raise Invalid(at + ".candidates[{data__candidates_x}]".format(**locals()), "must not contain " + listed(data__candidates_item_keys))
  if "description" in data_keys:
   data_keys.pop("description")
   data__description = data["description"]
   if not (isinstance(data__description, str)):
    raise Invalid(at + ".description", "must be string")
  if "params" in data_keys:
   data_keys.pop("params")
   data__params = data["params"]
   if not (isinstance(data__params, dict)):
    raise Invalid(at + ".params", "must be object")
   data__params_is_dict = isinstance(data__params, dict)
   if data__params_is_dict:
    data__params_keys = dict(data__params)
    for data__params_key in data__params_keys:
     if data__params_key not in []:
      data__params_value = data__params.get(data__params_key)
      if not (isinstance(data__params_value, str)):
       raise Invalid(at + ".params.{data__params_key}".format(**locals()), "must be string")
  if "sources" in data_keys:
   data_keys.pop("sources")
   data__sources = data["sources"]
   if not (isinstance(data__sources, list)):
    raise Invalid(at + ".sources", "must be array")
   data__sources_is_list = isinstance(data__sources, (list, tuple))
   if data__sources_is_list:
    data__sources_len = len(data__sources)
    for data__sources_x, data__sources_item in enumerate(data__sources):
     if not (isinstance(data__sources_item, str)):
      raise Invalid(at + ".sources[{data__sources_x}]".format(**locals()), "must be string")
  if "candidateCount" in data_keys:
   data_keys.pop("candidateCount")
   data__candidateCount = data["candidateCount"]
   if not (is_integer(data__candidateCount)):
    raise Invalid(at + ".candidateCount", "must be integer within ±9007199254740991")
   if isinstance(data__candidateCount, (int, float)) and not isinstance(data__candidateCount, bool):
    if data__candidateCount < 0:
     raise Invalid(at + ".candidateCount", "must be bigger than or equal to 0")
  if "decision" in data_keys:
   data_keys.pop("decision")
   data__decision = data["decision"]
   if not (isinstance(data__decision, str)):
    raise Invalid(at + ".decision", "must be string")
   if isinstance(data__decision, str):
    data__decision_len = len(data__decision)
    if data__decision_len < 1:
     raise Invalid(at + ".decision", "must be longer than or equal to 1 characters")
  if "needs" in data_keys:
   data_keys.pop("needs")
   data__needs = data["needs"]
   if not (isinstance(data__needs, str)):
    raise Invalid(at + ".needs", "must be string")
  if "available" in data_keys:
   data_keys.pop("available")
   data__available = data["available"]
   raise Invalid(at + ".available", "must not be there")
  if "unavailableReason" in data_keys:
   data_keys.pop("unavailableReason")
   data__unavailableReason = data["unavailableReason"]
   raise Invalid(at + ".unavailableReason", "must not be there")
  if "requiresValidation" in data_keys:
   data_keys.pop("requiresValidation")
   data__requiresValidation = data["requiresValidation"]
   raise Invalid(at + ".requiresValidation", "must not be there")
  if "guardCatalogDigest" in data_keys:
   data_keys.pop("guardCatalogDigest")
   data__guardCatalogDigest = data["guardCatalogDigest"]
   raise Invalid(at + ".guardCatalogDigest", "must not be there")
 return data


def result___definitions_instant(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  if not PATTERNS['^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$'](data):
   raise Invalid(at, "must match pattern ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$")
 return data


def result___definitions_view(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data_keys = dict(data)
  if "position" in data_keys:
   data_keys.pop("position")
   data__position = data["position"]
   result___definitions_position(data__position, at + ".position")
  if "roots" in data_keys:
   data_keys.pop("roots")
   data__roots = data["roots"]
   if not (isinstance(data__roots, list)):
    raise Invalid(at + ".roots", "must be array")
   data__roots_is_list = isinstance(data__roots, (list, tuple))
   if data__roots_is_list:
    data__roots_len = len(data__roots)
    for data__roots_x, data__roots_item in enumerate(data__roots):
     result___definitions_caserow(data__roots_item, at + ".roots[{data__roots_x}]".format(**locals()))
  if "cases" in data_keys:
   data_keys.pop("cases")
   data__cases = data["cases"]
   if not (isinstance(data__cases, dict)):
    raise Invalid(at + ".cases", "must be object")
   data__cases_is_dict = isinstance(data__cases, dict)
   if data__cases_is_dict:
    data__cases__missing_keys = set(['directory', 'total']) - data__cases.keys()
    if data__cases__missing_keys:
     raise Invalid(at + ".cases", "must contain " + listed(data__cases__missing_keys))
    data__cases_keys = dict(data__cases)
    if "directory" in data__cases_keys:
     data__cases_keys.pop("directory")
     data__cases__directory = data__cases["directory"]
     if not (isinstance(data__cases__directory, list)):
      raise Invalid(at + ".cases.directory", "must be array")
     data__cases__directory_is_list = isinstance(data__cases__directory, (list, tuple))
     if data__cases__directory_is_list:
      data__cases__directory_len = len(data__cases__directory)
      for data__cases__directory_x, data__cases__directory_item in enumerate(data__cases__directory):
       result___definitions_caserow(data__cases__directory_item, at + ".cases.directory[{data__cases__directory_x}]".format(**locals()))
    if "total" in data__cases_keys:
     data__cases_keys.pop("total")
     data__cases__total = data__cases["total"]
     if not (is_integer(data__cases__total)):
      raise Invalid(at + ".cases.total", "must be integer within ±9007199254740991")
     if isinstance(data__cases__total, (int, float)) and not isinstance(data__cases__total, bool):
      if data__cases__total < 0:
       raise Invalid(at + ".cases.total", "must be bigger than or equal to 0")
    if "truncated" in data__cases_keys:
     data__cases_keys.pop("truncated")
     data__cases__truncated = data__cases["truncated"]
     if not (isinstance(data__cases__truncated, bool)):
      raise Invalid(at + ".cases.truncated", "must be boolean")
  if "unavailableRoots" in data_keys:
   data_keys.pop("unavailableRoots")
   data__unavailableRoots = data["unavailableRoots"]
   if not (isinstance(data__unavailableRoots, list)):
    raise Invalid(at + ".unavailableRoots", "must be array")
   data__unavailableRoots_is_list = isinstance(data__unavailableRoots, (list, tuple))
   if data__unavailableRoots_is_list:
    data__unavailableRoots_len = len(data__unavailableRoots)
    for data__unavailableRoots_x, data__unavailableRoots_item in enumerate(data__unavailableRoots):
     if not (isinstance(data__unavailableRoots_item, str)):
      raise Invalid(at + ".unavailableRoots[{data__unavailableRoots_x}]".format(**locals()), "must be string")
     if isinstance(data__unavailableRoots_item, str):
      data__unavailableRoots_item_len = len(data__unavailableRoots_item)
      if data__unavailableRoots_item_len < 1:
       raise Invalid(at + ".unavailableRoots[{data__unavailableRoots_x}]".format(**locals()), "must be longer than or equal to 1 characters")
  if "gaps" in data_keys:
   data_keys.pop("gaps")
   data__gaps = data["gaps"]
   if not (isinstance(data__gaps, list)):
    raise Invalid(at + ".gaps", "must be array")
   data__gaps_is_list = isinstance(data__gaps, (list, tuple))
   if data__gaps_is_list:
    data__gaps_len = len(data__gaps)
    for data__gaps_x, data__gaps_item in enumerate(data__gaps):
     result___definitions_gap(data__gaps_item, at + ".gaps[{data__gaps_x}]".format(**locals()))
  if "nodes" in data_keys:
   data_keys.pop("nodes")
   data__nodes = data["nodes"]
   if not (isinstance(data__nodes, list)):
    raise Invalid(at + ".nodes", "must be array")
   data__nodes_is_list = isinstance(data__nodes, (list, tuple))
   if data__nodes_is_list:
    data__nodes_len = len(data__nodes)
    for data__nodes_x, data__nodes_item in enumerate(data__nodes):
     result___definitions_node(data__nodes_item, at + ".nodes[{data__nodes_x}]".format(**locals()))
  if "actions" in data_keys:
   data_keys.pop("actions")
   data__actions = data["actions"]
   if not (isinstance(data__actions, list)):
    raise Invalid(at + ".actions", "must be array")
   data__actions_is_list = isinstance(data__actions, (list, tuple))
   if data__actions_is_list:
    data__actions_len = len(data__actions)
    for data__actions_x, data__actions_item in enumerate(data__actions):
     result___definitions_actionrow(data__actions_item, at + ".actions[{data__actions_x}]".format(**locals()))
  if "taskStatus" in data_keys:
   data_keys.pop("taskStatus")
   data__taskStatus = data["taskStatus"]
   if not (isinstance(data__taskStatus, dict)):
    raise Invalid(at + ".taskStatus", "must be object")
   data__taskStatus_is_dict = isinstance(data__taskStatus, dict)
   if data__taskStatus_is_dict:
    data__taskStatus_keys = dict(data__taskStatus)
    for data__taskStatus_key in data__taskStatus_keys:
     if data__taskStatus_key not in []:
      data__taskStatus_value = data__taskStatus.get(data__taskStatus_key)
      if not (isinstance(data__taskStatus_value, dict)):
       raise Invalid(at + ".taskStatus.{data__taskStatus_key}".format(**locals()), "must be object")
      data__taskStatus_value_is_dict = isinstance(data__taskStatus_value, dict)
      if data__taskStatus_value_is_dict:
       data__taskStatus_value__missing_keys = set(['certified', 'leaves']) - data__taskStatus_value.keys()
       if data__taskStatus_value__missing_keys:
        raise Invalid(at + ".taskStatus.{data__taskStatus_key}".format(**locals()), "must contain " + listed(data__taskStatus_value__missing_keys))
       data__taskStatus_value_keys = dict(data__taskStatus_value)
       if "certified" in data__taskStatus_value_keys:
        data__taskStatus_value_keys.pop("certified")
        data__taskStatus_value__certified = data__taskStatus_value["certified"]
        if not (isinstance(data__taskStatus_value__certified, bool)):
         raise Invalid(at + ".taskStatus.{data__taskStatus_key}.certified".format(**locals()), "must be boolean")
       if "leaves" in data__taskStatus_value_keys:
        data__taskStatus_value_keys.pop("leaves")
        data__taskStatus_value__leaves = data__taskStatus_value["leaves"]
        if not (isinstance(data__taskStatus_value__leaves, list)):
         raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves".format(**locals()), "must be array")
        data__taskStatus_value__leaves_is_list = isinstance(data__taskStatus_value__leaves, (list, tuple))
        if data__taskStatus_value__leaves_is_list:
         data__taskStatus_value__leaves_len = len(data__taskStatus_value__leaves)
         for data__taskStatus_value__leaves_x, data__taskStatus_value__leaves_item in enumerate(data__taskStatus_value__leaves):
          if not (isinstance(data__taskStatus_value__leaves_item, dict)):
           raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}]".format(**locals()), "must be object")
          data__taskStatus_value__leaves_item_is_dict = isinstance(data__taskStatus_value__leaves_item, dict)
          if data__taskStatus_value__leaves_item_is_dict:
           data__taskStatus_value__leaves_item__missing_keys = set(['node', 'goal', 'met']) - data__taskStatus_value__leaves_item.keys()
           if data__taskStatus_value__leaves_item__missing_keys:
            raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}]".format(**locals()), "must contain " + listed(data__taskStatus_value__leaves_item__missing_keys))
           data__taskStatus_value__leaves_item_keys = dict(data__taskStatus_value__leaves_item)
           if "node" in data__taskStatus_value__leaves_item_keys:
            data__taskStatus_value__leaves_item_keys.pop("node")
            data__taskStatus_value__leaves_item__node = data__taskStatus_value__leaves_item["node"]
            if not (isinstance(data__taskStatus_value__leaves_item__node, str)):
             raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].node".format(**locals()), "must be string")
            if isinstance(data__taskStatus_value__leaves_item__node, str):
             data__taskStatus_value__leaves_item__node_len = len(data__taskStatus_value__leaves_item__node)
             if data__taskStatus_value__leaves_item__node_len < 1:
              raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].node".format(**locals()), "must be longer than or equal to 1 characters")
           if "goal" in data__taskStatus_value__leaves_item_keys:
            data__taskStatus_value__leaves_item_keys.pop("goal")
            data__taskStatus_value__leaves_item__goal = data__taskStatus_value__leaves_item["goal"]
            if not (isinstance(data__taskStatus_value__leaves_item__goal, str)):
             raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].goal".format(**locals()), "must be string")
           if "met" in data__taskStatus_value__leaves_item_keys:
            data__taskStatus_value__leaves_item_keys.pop("met")
            data__taskStatus_value__leaves_item__met = data__taskStatus_value__leaves_item["met"]
            if not (isinstance(data__taskStatus_value__leaves_item__met, bool)):
             raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].met".format(**locals()), "must be boolean")
           if "tier" in data__taskStatus_value__leaves_item_keys:
            data__taskStatus_value__leaves_item_keys.pop("tier")
            data__taskStatus_value__leaves_item__tier = data__taskStatus_value__leaves_item["tier"]
            if not (isinstance(data__taskStatus_value__leaves_item__tier, str)):
             raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].tier".format(**locals()), "must be string")
            if not (isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'verified' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'attested' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'approximate' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'inductive' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'uncertain' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'perceived' or isinstance(data__taskStatus_value__leaves_item__tier, str) and data__taskStatus_value__leaves_item__tier == 'asserted'):
             raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}].tier".format(**locals()), "must be one of ['verified', 'attested', 'approximate', 'inductive', 'uncertain', 'perceived', 'asserted']")
           if data__taskStatus_value__leaves_item_keys:
            raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leaves[{data__taskStatus_value__leaves_x}]".format(**locals()), "must not contain " + listed(data__taskStatus_value__leaves_item_keys))
       if "leavesTotal" in data__taskStatus_value_keys:
        data__taskStatus_value_keys.pop("leavesTotal")
        data__taskStatus_value__leavesTotal = data__taskStatus_value["leavesTotal"]
        if not (is_integer(data__taskStatus_value__leavesTotal)):
         raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leavesTotal".format(**locals()), "must be integer within ±9007199254740991")
        if isinstance(data__taskStatus_value__leavesTotal, (int, float)) and not isinstance(data__taskStatus_value__leavesTotal, bool):
         if data__taskStatus_value__leavesTotal < 1:
          raise Invalid(at + ".taskStatus.{data__taskStatus_key}.leavesTotal".format(**locals()), "must be bigger than or equal to 1")
       if data__taskStatus_value_keys:
        raise Invalid(at + ".taskStatus.{data__taskStatus_key}".format(**locals()), "must not contain " + listed(data__taskStatus_value_keys))
  if "total" in data_keys:
   data_keys.pop("total")
   data__total = data["total"]
   if not (is_integer(data__total)):
    raise Invalid(at + ".total", "must be integer within ±9007199254740991")
   if isinstance(data__total, (int, float)) and not isinstance(data__total, bool):
    if data__total < 0:
     raise Invalid(at + ".total", "must be bigger than or equal to 0")
  if "truncated" in data_keys:
   data_keys.pop("truncated")
   data__truncated = data["truncated"]
   if not (isinstance(data__truncated, bool)):
    raise Invalid(at + ".truncated", "must be boolean")
  if "caseHistory" in data_keys:
   data_keys.pop("caseHistory")
   data__caseHistory = data["caseHistory"]
   if not (isinstance(data__caseHistory, dict)):
    raise Invalid(at + ".caseHistory", "must be object")
   data__caseHistory_is_dict = isinstance(data__caseHistory, dict)
   if data__caseHistory_is_dict:
    data__caseHistory__missing_keys = set(['root', 'status']) - data__caseHistory.keys()
    if data__caseHistory__missing_keys:
     raise Invalid(at + ".caseHistory", "must contain " + listed(data__caseHistory__missing_keys))
    data__caseHistory_keys = dict(data__caseHistory)
    if "root" in data__caseHistory_keys:
     data__caseHistory_keys.pop("root")
     data__caseHistory__root = data__caseHistory["root"]
     if not (isinstance(data__caseHistory__root, str)):
      raise Invalid(at + ".caseHistory.root", "must be string")
     if isinstance(data__caseHistory__root, str):
      data__caseHistory__root_len = len(data__caseHistory__root)
      if data__caseHistory__root_len < 1:
       raise Invalid(at + ".caseHistory.root", "must be longer than or equal to 1 characters")
    if "caseId" in data__caseHistory_keys:
     data__caseHistory_keys.pop("caseId")
     data__caseHistory__caseId = data__caseHistory["caseId"]
     if not (isinstance(data__caseHistory__caseId, str)):
      raise Invalid(at + ".caseHistory.caseId", "must be string")
     if isinstance(data__caseHistory__caseId, str):
      data__caseHistory__caseId_len = len(data__caseHistory__caseId)
      if data__caseHistory__caseId_len < 1:
       raise Invalid(at + ".caseHistory.caseId", "must be longer than or equal to 1 characters")
    if "status" in data__caseHistory_keys:
     data__caseHistory_keys.pop("status")
     data__caseHistory__status = data__caseHistory["status"]
     if not (isinstance(data__caseHistory__status, str)):
      raise Invalid(at + ".caseHistory.status", "must be string")
     if not (isinstance(data__caseHistory__status, str) and data__caseHistory__status == 'available' or isinstance(data__caseHistory__status, str) and data__caseHistory__status == 'unavailable'):
      raise Invalid(at + ".caseHistory.status", "must be one of ['available', 'unavailable']")
    if "asOf" in data__caseHistory_keys:
     data__caseHistory_keys.pop("asOf")
     data__caseHistory__asOf = data__caseHistory["asOf"]
     if not (isinstance(data__caseHistory__asOf, str)):
      raise Invalid(at + ".caseHistory.asOf", "must be string")
     if not (isinstance(data__caseHistory__asOf, str) and data__caseHistory__asOf == 'case_close'):
      raise Invalid(at + ".caseHistory.asOf", "must be same as const definition: case_close")
    if "disposition" in data__caseHistory_keys:
     data__caseHistory_keys.pop("disposition")
     data__caseHistory__disposition = data__caseHistory["disposition"]
     if not (isinstance(data__caseHistory__disposition, str)):
      raise Invalid(at + ".caseHistory.disposition", "must be string")
     if not (isinstance(data__caseHistory__disposition, str) and data__caseHistory__disposition == 'completed' or isinstance(data__caseHistory__disposition, str) and data__caseHistory__disposition == 'cancelled' or isinstance(data__caseHistory__disposition, str) and data__caseHistory__disposition == 'failed' or isinstance(data__caseHistory__disposition, str) and data__caseHistory__disposition == 'abandoned' or isinstance(data__caseHistory__disposition, str) and data__caseHistory__disposition == 'superseded'):
      raise Invalid(at + ".caseHistory.disposition", "must be one of ['completed', 'cancelled', 'failed', 'abandoned', 'superseded']")
    if "certified" in data__caseHistory_keys:
     data__caseHistory_keys.pop("certified")
     data__caseHistory__certified = data__caseHistory["certified"]
     if not (isinstance(data__caseHistory__certified, bool)):
      raise Invalid(at + ".caseHistory.certified", "must be boolean")
    if "facts" in data__caseHistory_keys:
     data__caseHistory_keys.pop("facts")
     data__caseHistory__facts = data__caseHistory["facts"]
     if not (isinstance(data__caseHistory__facts, list)):
      raise Invalid(at + ".caseHistory.facts", "must be array")
     data__caseHistory__facts_is_list = isinstance(data__caseHistory__facts, (list, tuple))
     if data__caseHistory__facts_is_list:
      data__caseHistory__facts_len = len(data__caseHistory__facts)
      for data__caseHistory__facts_x, data__caseHistory__facts_item in enumerate(data__caseHistory__facts):
       if not (isinstance(data__caseHistory__facts_item, dict)):
        raise Invalid(at + ".caseHistory.facts[{data__caseHistory__facts_x}]".format(**locals()), "must be object")
    if "truncated" in data__caseHistory_keys:
     data__caseHistory_keys.pop("truncated")
     data__caseHistory__truncated = data__caseHistory["truncated"]
     if not (isinstance(data__caseHistory__truncated, bool)):
      raise Invalid(at + ".caseHistory.truncated", "must be boolean")
    if "nextOffset" in data__caseHistory_keys:
     data__caseHistory_keys.pop("nextOffset")
     data__caseHistory__nextOffset = data__caseHistory["nextOffset"]
     if not (is_integer(data__caseHistory__nextOffset)):
      raise Invalid(at + ".caseHistory.nextOffset", "must be integer within ±9007199254740991")
     if isinstance(data__caseHistory__nextOffset, (int, float)) and not isinstance(data__caseHistory__nextOffset, bool):
      if data__caseHistory__nextOffset < 1:
       raise Invalid(at + ".caseHistory.nextOffset", "must be bigger than or equal to 1")
    if "historyVersion" in data__caseHistory_keys:
     data__caseHistory_keys.pop("historyVersion")
     data__caseHistory__historyVersion = data__caseHistory["historyVersion"]
     if not (isinstance(data__caseHistory__historyVersion, str)):
      raise Invalid(at + ".caseHistory.historyVersion", "must be string")
     if isinstance(data__caseHistory__historyVersion, str):
      if not PATTERNS['^history:[a-f0-9]{64}$'](data__caseHistory__historyVersion):
       raise Invalid(at + ".caseHistory.historyVersion", "must match pattern ^history:[a-f0-9]{64}$")
    if data__caseHistory_keys:
     raise Invalid(at + ".caseHistory", "must not contain " + listed(data__caseHistory_keys))
 return data


def result___definitions_node(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['id', 'kind', 'text']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
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
   if not (isinstance(data__kind, str) and data__kind == 'fact' or isinstance(data__kind, str) and data__kind == 'finding' or isinstance(data__kind, str) and data__kind == 'goal'):
    raise Invalid(at + ".kind", "must be one of ['fact', 'finding', 'goal']")
  if "text" in data_keys:
   data_keys.pop("text")
   data__text = data["text"]
   if not (isinstance(data__text, str)):
    raise Invalid(at + ".text", "must be string")
   if isinstance(data__text, str):
    data__text_len = len(data__text)
    if data__text_len < 1:
     raise Invalid(at + ".text", "must be longer than or equal to 1 characters")
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
  if "negated" in data_keys:
   data_keys.pop("negated")
   data__negated = data["negated"]
   if not (isinstance(data__negated, bool)):
    raise Invalid(at + ".negated", "must be boolean")
  if "origin" in data_keys:
   data_keys.pop("origin")
   data__origin = data["origin"]
   if not (isinstance(data__origin, str)):
    raise Invalid(at + ".origin", "must be string")
   if not (isinstance(data__origin, str) and data__origin == 'derived' or isinstance(data__origin, str) and data__origin == 'attested' or isinstance(data__origin, str) and data__origin == 'effect' or isinstance(data__origin, str) and data__origin == 'asserted' or isinstance(data__origin, str) and data__origin == 'law'):
    raise Invalid(at + ".origin", "must be one of ['derived', 'attested', 'effect', 'asserted', 'law']")
  if "tier" in data_keys:
   data_keys.pop("tier")
   data__tier = data["tier"]
   if not (isinstance(data__tier, str)):
    raise Invalid(at + ".tier", "must be string")
   if not (isinstance(data__tier, str) and data__tier == 'verified' or isinstance(data__tier, str) and data__tier == 'attested' or isinstance(data__tier, str) and data__tier == 'approximate' or isinstance(data__tier, str) and data__tier == 'inductive' or isinstance(data__tier, str) and data__tier == 'uncertain' or isinstance(data__tier, str) and data__tier == 'perceived' or isinstance(data__tier, str) and data__tier == 'asserted'):
    raise Invalid(at + ".tier", "must be one of ['verified', 'attested', 'approximate', 'inductive', 'uncertain', 'perceived', 'asserted']")
  if "source" in data_keys:
   data_keys.pop("source")
   data__source = data["source"]
   if not (isinstance(data__source, str)):
    raise Invalid(at + ".source", "must be string")
   if isinstance(data__source, str):
    data__source_len = len(data__source)
    if data__source_len < 1:
     raise Invalid(at + ".source", "must be longer than or equal to 1 characters")
  if "by" in data_keys:
   data_keys.pop("by")
   data__by = data["by"]
   if not (isinstance(data__by, str)):
    raise Invalid(at + ".by", "must be string")
   if isinstance(data__by, str):
    data__by_len = len(data__by)
    if data__by_len < 1:
     raise Invalid(at + ".by", "must be longer than or equal to 1 characters")
  if "disputed" in data_keys:
   data_keys.pop("disputed")
   data__disputed = data["disputed"]
   if not (isinstance(data__disputed, bool)):
    raise Invalid(at + ".disputed", "must be boolean")
   if not (isinstance(data__disputed, bool) and data__disputed is True):
    raise Invalid(at + ".disputed", "must be same as const definition: True")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   if not (isinstance(data__label, str)):
    raise Invalid(at + ".label", "must be string")
  if "case" in data_keys:
   data_keys.pop("case")
   data__case = data["case"]
   if not (isinstance(data__case, str)):
    raise Invalid(at + ".case", "must be string")
   if isinstance(data__case, str):
    data__case_len = len(data__case)
    if data__case_len < 1:
     raise Invalid(at + ".case", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_gap(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['root', 'node', 'kind', 'text']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "root" in data_keys:
   data_keys.pop("root")
   data__root = data["root"]
   if not (isinstance(data__root, str)):
    raise Invalid(at + ".root", "must be string")
  if "node" in data_keys:
   data_keys.pop("node")
   data__node = data["node"]
   if not (isinstance(data__node, str)):
    raise Invalid(at + ".node", "must be string")
  if "kind" in data_keys:
   data_keys.pop("kind")
   data__kind = data["kind"]
   if not (isinstance(data__kind, str)):
    raise Invalid(at + ".kind", "must be string")
   if not (isinstance(data__kind, str) and data__kind == 'leaf_gap' or isinstance(data__kind, str) and data__kind == 'bridge_needs_source' or isinstance(data__kind, str) and data__kind == 'delivery_gap' or isinstance(data__kind, str) and data__kind == 'arithmetic_exact'):
    raise Invalid(at + ".kind", "must be one of ['leaf_gap', 'bridge_needs_source', 'delivery_gap', 'arithmetic_exact']")
  if "text" in data_keys:
   data_keys.pop("text")
   data__text = data["text"]
   if not (isinstance(data__text, str)):
    raise Invalid(at + ".text", "must be string")
   if isinstance(data__text, str):
    data__text_len = len(data__text)
    if data__text_len < 1:
     raise Invalid(at + ".text", "must be longer than or equal to 1 characters")
  if "missing" in data_keys:
   data_keys.pop("missing")
   data__missing = data["missing"]
   if not (isinstance(data__missing, list)):
    raise Invalid(at + ".missing", "must be array")
   data__missing_is_list = isinstance(data__missing, (list, tuple))
   if data__missing_is_list:
    data__missing_len = len(data__missing)
    for data__missing_x, data__missing_item in enumerate(data__missing):
     if not (isinstance(data__missing_item, str)):
      raise Invalid(at + ".missing[{data__missing_x}]".format(**locals()), "must be string")
  if "rule" in data_keys:
   data_keys.pop("rule")
   data__rule = data["rule"]
   if not (isinstance(data__rule, str)):
    raise Invalid(at + ".rule", "must be string")
   if isinstance(data__rule, str):
    data__rule_len = len(data__rule)
    if data__rule_len < 1:
     raise Invalid(at + ".rule", "must be longer than or equal to 1 characters")
  if "ruleLabel" in data_keys:
   data_keys.pop("ruleLabel")
   data__ruleLabel = data["ruleLabel"]
   if not (isinstance(data__ruleLabel, str)):
    raise Invalid(at + ".ruleLabel", "must be string")
  if "via" in data_keys:
   data_keys.pop("via")
   data__via = data["via"]
   if not (isinstance(data__via, list)):
    raise Invalid(at + ".via", "must be array")
   data__via_is_list = isinstance(data__via, (list, tuple))
   if data__via_is_list:
    data__via_len = len(data__via)
    for data__via_x, data__via_item in enumerate(data__via):
     if not (isinstance(data__via_item, str)):
      raise Invalid(at + ".via[{data__via_x}]".format(**locals()), "must be string")
  if "operands" in data_keys:
   data_keys.pop("operands")
   data__operands = data["operands"]
   if not (isinstance(data__operands, dict)):
    raise Invalid(at + ".operands", "must be object")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_caserow(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['caseId', 'root', 'status']) - data.keys()
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
  if "root" in data_keys:
   data_keys.pop("root")
   data__root = data["root"]
   if not (isinstance(data__root, str)):
    raise Invalid(at + ".root", "must be string")
   if isinstance(data__root, str):
    data__root_len = len(data__root)
    if data__root_len < 1:
     raise Invalid(at + ".root", "must be longer than or equal to 1 characters")
  if "status" in data_keys:
   data_keys.pop("status")
   data__status = data["status"]
   if not (isinstance(data__status, str)):
    raise Invalid(at + ".status", "must be string")
   if not (isinstance(data__status, str) and data__status == 'running' or isinstance(data__status, str) and data__status == 'paused' or isinstance(data__status, str) and data__status == 'closed'):
    raise Invalid(at + ".status", "must be one of ['running', 'paused', 'closed']")
  if "caseType" in data_keys:
   data_keys.pop("caseType")
   data__caseType = data["caseType"]
   if not (isinstance(data__caseType, str)):
    raise Invalid(at + ".caseType", "must be string")
  if "deadline" in data_keys:
   data_keys.pop("deadline")
   data__deadline = data["deadline"]
   result___definitions_instant(data__deadline, at + ".deadline")
  if "expired" in data_keys:
   data_keys.pop("expired")
   data__expired = data["expired"]
   if not (isinstance(data__expired, bool)):
    raise Invalid(at + ".expired", "must be boolean")
   if not (isinstance(data__expired, bool) and data__expired is True):
    raise Invalid(at + ".expired", "must be same as const definition: True")
  if "disposition" in data_keys:
   data_keys.pop("disposition")
   data__disposition = data["disposition"]
   if not (isinstance(data__disposition, str)):
    raise Invalid(at + ".disposition", "must be string")
   if not (isinstance(data__disposition, str) and data__disposition == 'completed' or isinstance(data__disposition, str) and data__disposition == 'cancelled' or isinstance(data__disposition, str) and data__disposition == 'failed' or isinstance(data__disposition, str) and data__disposition == 'abandoned' or isinstance(data__disposition, str) and data__disposition == 'superseded'):
    raise Invalid(at + ".disposition", "must be one of ['completed', 'cancelled', 'failed', 'abandoned', 'superseded']")
 return data


def result___definitions_position(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['writes', 'newCases', 'rules']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "writes" in data_keys:
   data_keys.pop("writes")
   data__writes = data["writes"]
   data__writes_any_of_count3 = 0
   if not data__writes_any_of_count3:
    try:
     if not (isinstance(data__writes, str)):
      raise Invalid(at + ".writes", "must be string")
     if not (isinstance(data__writes, str) and data__writes == 'open'):
      raise Invalid(at + ".writes", "must be same as const definition: open")
     data__writes_any_of_count3 += 1
    except Invalid: pass
   if not data__writes_any_of_count3:
    try:
     if not (isinstance(data__writes, dict)):
      raise Invalid(at + ".writes", "must be object")
     data__writes_is_dict = isinstance(data__writes, dict)
     if data__writes_is_dict:
      data__writes__missing_keys = set(['paused']) - data__writes.keys()
      if data__writes__missing_keys:
       raise Invalid(at + ".writes", "must contain " + listed(data__writes__missing_keys))
      data__writes_keys = dict(data__writes)
      if "paused" in data__writes_keys:
       data__writes_keys.pop("paused")
       data__writes__paused = data__writes["paused"]
       if not (isinstance(data__writes__paused, str)):
        raise Invalid(at + ".writes.paused", "must be string")
       if not (isinstance(data__writes__paused, str) and data__writes__paused == 'configuration' or isinstance(data__writes__paused, str) and data__writes__paused == 'board_suspended' or isinstance(data__writes__paused, str) and data__writes__paused == 'cases_expired' or isinstance(data__writes__paused, str) and data__writes__paused == 'board_retired'):
        raise Invalid(at + ".writes.paused", "must be one of ['configuration', 'board_suspended', 'cases_expired', 'board_retired']")
      if data__writes_keys:
       raise Invalid(at + ".writes", "must not contain " + listed(data__writes_keys))
     data__writes_any_of_count3 += 1
    except Invalid: pass
   if not data__writes_any_of_count3:
    raise Invalid(at + ".writes", "cannot be validated by any definition")
  if "newCases" in data_keys:
   data_keys.pop("newCases")
   data__newCases = data["newCases"]
   data__newCases_any_of_count4 = 0
   if not data__newCases_any_of_count4:
    try:
     if not (isinstance(data__newCases, str)):
      raise Invalid(at + ".newCases", "must be string")
     if not (isinstance(data__newCases, str) and data__newCases == 'open'):
      raise Invalid(at + ".newCases", "must be same as const definition: open")
     data__newCases_any_of_count4 += 1
    except Invalid: pass
   if not data__newCases_any_of_count4:
    try:
     if not (isinstance(data__newCases, dict)):
      raise Invalid(at + ".newCases", "must be object")
     data__newCases_is_dict = isinstance(data__newCases, dict)
     if data__newCases_is_dict:
      data__newCases__missing_keys = set(['closed']) - data__newCases.keys()
      if data__newCases__missing_keys:
       raise Invalid(at + ".newCases", "must contain " + listed(data__newCases__missing_keys))
      data__newCases_keys = dict(data__newCases)
      if "closed" in data__newCases_keys:
       data__newCases_keys.pop("closed")
       data__newCases__closed = data__newCases["closed"]
       if not (isinstance(data__newCases__closed, str)):
        raise Invalid(at + ".newCases.closed", "must be string")
       if not (isinstance(data__newCases__closed, str) and data__newCases__closed == 'not_accepting' or isinstance(data__newCases__closed, str) and data__newCases__closed == 'limit'):
        raise Invalid(at + ".newCases.closed", "must be one of ['not_accepting', 'limit']")
      if data__newCases_keys:
       raise Invalid(at + ".newCases", "must not contain " + listed(data__newCases_keys))
     data__newCases_any_of_count4 += 1
    except Invalid: pass
   if not data__newCases_any_of_count4:
    raise Invalid(at + ".newCases", "cannot be validated by any definition")
  if "rules" in data_keys:
   data_keys.pop("rules")
   data__rules = data["rules"]
   data__rules_any_of_count5 = 0
   if not data__rules_any_of_count5:
    try:
     if not (isinstance(data__rules, str)):
      raise Invalid(at + ".rules", "must be string")
     if not (isinstance(data__rules, str) and data__rules == 'rules_and_actions' or isinstance(data__rules, str) and data__rules == 'rules_only'):
      raise Invalid(at + ".rules", "must be one of ['rules_and_actions', 'rules_only']")
     data__rules_any_of_count5 += 1
    except Invalid: pass
   if not data__rules_any_of_count5:
    try:
     if not (isinstance(data__rules, dict)):
      raise Invalid(at + ".rules", "must be object")
     data__rules_is_dict = isinstance(data__rules, dict)
     if data__rules_is_dict:
      data__rules__missing_keys = set(['none']) - data__rules.keys()
      if data__rules__missing_keys:
       raise Invalid(at + ".rules", "must contain " + listed(data__rules__missing_keys))
      data__rules_keys = dict(data__rules)
      if "none" in data__rules_keys:
       data__rules_keys.pop("none")
       data__rules__none = data__rules["none"]
       if not (isinstance(data__rules__none, str)):
        raise Invalid(at + ".rules.none", "must be string")
       if not (isinstance(data__rules__none, str) and data__rules__none == 'law_lock' or isinstance(data__rules__none, str) and data__rules__none == 'not_permitted' or isinstance(data__rules__none, str) and data__rules__none == 'disabled'):
        raise Invalid(at + ".rules.none", "must be one of ['law_lock', 'not_permitted', 'disabled']")
      if data__rules_keys:
       raise Invalid(at + ".rules", "must not contain " + listed(data__rules_keys))
     data__rules_any_of_count5 += 1
    except Invalid: pass
   if not data__rules_any_of_count5:
    raise Invalid(at + ".rules", "cannot be validated by any definition")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_progressmeta(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['ordinal']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "ordinal" in data_keys:
   data_keys.pop("ordinal")
   data__ordinal = data["ordinal"]
   result___definitions_ordinal(data__ordinal, at + ".ordinal")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_ordinal(data, at="data"):
 if not (is_integer(data)):
  raise Invalid(at, "must be integer within ±9007199254740991")
 if isinstance(data, (int, float)) and not isinstance(data, bool):
  if data < 1:
   raise Invalid(at, "must be bigger than or equal to 1")
  if data > 9007199254740991:
   raise Invalid(at, "must be smaller than or equal to 9007199254740991")
 return data


def result___definitions_hostmetadata(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['agentId', 'focusedRoots']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "agentId" in data_keys:
   data_keys.pop("agentId")
   data__agentId = data["agentId"]
   if not (isinstance(data__agentId, str)):
    raise Invalid(at + ".agentId", "must be string")
   if isinstance(data__agentId, str):
    data__agentId_len = len(data__agentId)
    if data__agentId_len < 1:
     raise Invalid(at + ".agentId", "must be longer than or equal to 1 characters")
  if "focusedRoots" in data_keys:
   data_keys.pop("focusedRoots")
   data__focusedRoots = data["focusedRoots"]
   if not (isinstance(data__focusedRoots, list)):
    raise Invalid(at + ".focusedRoots", "must be array")
   data__focusedRoots_is_list = isinstance(data__focusedRoots, (list, tuple))
   if data__focusedRoots_is_list:
    data__focusedRoots_len = len(data__focusedRoots)
    for data__focusedRoots_x, data__focusedRoots_item in enumerate(data__focusedRoots):
     result___definitions_focusedroot(data__focusedRoots_item, at + ".focusedRoots[{data__focusedRoots_x}]".format(**locals()))
  if "boardRevision" in data_keys:
   data_keys.pop("boardRevision")
   data__boardRevision = data["boardRevision"]
   if not (isinstance(data__boardRevision, str)):
    raise Invalid(at + ".boardRevision", "must be string")
  if "affectedCases" in data_keys:
   data_keys.pop("affectedCases")
   data__affectedCases = data["affectedCases"]
   if not (isinstance(data__affectedCases, list)):
    raise Invalid(at + ".affectedCases", "must be array")
   data__affectedCases_is_list = isinstance(data__affectedCases, (list, tuple))
   if data__affectedCases_is_list:
    def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
    data__affectedCases_len = len(data__affectedCases)
    if data__affectedCases_len > len(set(fn(data__affectedCases_x) for data__affectedCases_x in data__affectedCases)):
     raise Invalid(at + ".affectedCases", "must contain unique items")
    for data__affectedCases_x, data__affectedCases_item in enumerate(data__affectedCases):
     if not (isinstance(data__affectedCases_item, str)):
      raise Invalid(at + ".affectedCases[{data__affectedCases_x}]".format(**locals()), "must be string")
     if isinstance(data__affectedCases_item, str):
      data__affectedCases_item_len = len(data__affectedCases_item)
      if data__affectedCases_item_len < 1:
       raise Invalid(at + ".affectedCases[{data__affectedCases_x}]".format(**locals()), "must be longer than or equal to 1 characters")
  if "operations" in data_keys:
   data_keys.pop("operations")
   data__operations = data["operations"]
   result___definitions_stateform(data__operations, at + ".operations")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_focusedroot(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['caseId', 'root']) - data.keys()
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
  if "root" in data_keys:
   data_keys.pop("root")
   data__root = data["root"]
   if not (isinstance(data__root, str)):
    raise Invalid(at + ".root", "must be string")
   if isinstance(data__root, str):
    data__root_len = len(data__root)
    if data__root_len < 1:
     raise Invalid(at + ".root", "must be longer than or equal to 1 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_stateform(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 7:
   raise Invalid(at, "must contain less than or equal to 7 items")
  for data_x, data_item in enumerate(data):
   result___definitions_stateentry(data_item, at + "[{data_x}]".format(**locals()))
 return data


def result___definitions_stateentry(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['ordinal', 'tool', 'label', 'state', 'at', 'since']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "ordinal" in data_keys:
   data_keys.pop("ordinal")
   data__ordinal = data["ordinal"]
   result___definitions_ordinal(data__ordinal, at + ".ordinal")
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   result___definitions_operationtool(data__tool, at + ".tool")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   result___definitions_label(data__label, at + ".label")
  if "state" in data_keys:
   data_keys.pop("state")
   data__state = data["state"]
   result___definitions_state(data__state, at + ".state")
  if "stage" in data_keys:
   data_keys.pop("stage")
   data__stage = data["stage"]
   result___definitions_stage(data__stage, at + ".stage")
  if "at" in data_keys:
   data_keys.pop("at")
   data__at = data["at"]
   result___definitions_instant(data__at, at + ".at")
  if "since" in data_keys:
   data_keys.pop("since")
   data__since = data["since"]
   result___definitions_instant(data__since, at + ".since")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'running'):
     raise Invalid(at + ".state", "must be same as const definition: running")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "stage" in data_keys:
    data_keys.pop("stage")
    data__stage = data["stage"]
    raise Invalid(at + ".stage", "must not be there")
 return data


def result___definitions_stage(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if not (isinstance(data, str) and data == 'not_dispatched' or isinstance(data, str) and data == 'at_worker'):
  raise Invalid(at, "must be one of ['not_dispatched', 'at_worker']")
 return data


def result___definitions_label(data, at="data"):
 if not (isinstance(data, str)):
  raise Invalid(at, "must be string")
 if isinstance(data, str):
  data_len = len(data)
  if data_len < 1:
   raise Invalid(at, "must be longer than or equal to 1 characters")
  if data_len > 200:
   raise Invalid(at, "must be shorter than or equal to 200 characters")
 return data


def result___definitions_strip(data, at="data"):
 if not (isinstance(data, list)):
  raise Invalid(at, "must be array")
 data_is_list = isinstance(data, (list, tuple))
 if data_is_list:
  data_len = len(data)
  if data_len > 7:
   raise Invalid(at, "must contain less than or equal to 7 items")
  for data_x, data_item in enumerate(data):
   result___definitions_stripentry(data_item, at + "[{data_x}]".format(**locals()))
 return data


def result___definitions_stripentry(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'running'):
     raise Invalid(at + ".state", "must be same as const definition: running")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "stage" in data_keys:
    data_keys.pop("stage")
    data__stage = data["stage"]
    raise Invalid(at + ".stage", "must not be there")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'waiting_for_decision'):
     raise Invalid(at + ".state", "must be same as const definition: waiting_for_decision")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "decision" in data_keys:
    data_keys.pop("decision")
    data__decision = data["decision"]
    raise Invalid(at + ".decision", "must not be there")
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data__missing_keys = set(['decision']) - data.keys()
   if data__missing_keys:
    raise Invalid(at, "must contain " + listed(data__missing_keys))
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'done' or isinstance(data__state, str) and data__state == 'failed' or isinstance(data__state, str) and data__state == 'refused' or isinstance(data__state, str) and data__state == 'unknown'):
     raise Invalid(at + ".state", "must be one of ['done', 'failed', 'refused', 'unknown']")
 except Invalid:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "result" in data_keys:
    data_keys.pop("result")
    data__result = data["result"]
    raise Invalid(at + ".result", "must not be there")
   if "summary" in data_keys:
    data_keys.pop("summary")
    data__summary = data["summary"]
    raise Invalid(at + ".summary", "must not be there")
   if "contentWithheld" in data_keys:
    data_keys.pop("contentWithheld")
    data__contentWithheld = data["contentWithheld"]
    raise Invalid(at + ".contentWithheld", "must not be there")
 else:
  try:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data__missing_keys = set(['contentWithheld']) - data.keys()
    if data__missing_keys:
     raise Invalid(at, "must contain " + listed(data__missing_keys))
  except Invalid:
   if not isinstance(data, dict):
    raise Invalid(at, "must be object")
   if sum(key in data for key in ('result', 'summary')) != 1:
    raise Invalid(at, "must contain exactly one of result, summary")
   if 'result' in data:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data__missing_keys = set(['result']) - data.keys()
     if data__missing_keys:
      raise Invalid(at, "must contain " + listed(data__missing_keys))
   if 'summary' in data:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data__missing_keys = set(['summary']) - data.keys()
     if data__missing_keys:
      raise Invalid(at, "must contain " + listed(data__missing_keys))
  else:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "result" in data_keys:
     data_keys.pop("result")
     data__result = data["result"]
     raise Invalid(at + ".result", "must not be there")
    if "summary" in data_keys:
     data_keys.pop("summary")
     data__summary = data["summary"]
     raise Invalid(at + ".summary", "must not be there")
    if "reason" in data_keys:
     data_keys.pop("reason")
     data__reason = data["reason"]
     raise Invalid(at + ".reason", "must not be there")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "state" in data_keys:
    data_keys.pop("state")
    data__state = data["state"]
    if not (isinstance(data__state, str) and data__state == 'refused'):
     raise Invalid(at + ".state", "must be same as const definition: refused")
 except Invalid:
  try:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "state" in data_keys:
     data_keys.pop("state")
     data__state = data["state"]
     if not (isinstance(data__state, str) and data__state == 'needs_person'):
      raise Invalid(at + ".state", "must be same as const definition: needs_person")
  except Invalid:
   data_is_dict = isinstance(data, dict)
   if data_is_dict:
    data_keys = dict(data)
    if "reason" in data_keys:
     data_keys.pop("reason")
     data__reason = data["reason"]
     raise Invalid(at + ".reason", "must not be there")
 else:
  data_any_of_count6 = 0
  if not data_any_of_count6:
   try:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data__missing_keys = set(['reason']) - data.keys()
     if data__missing_keys:
      raise Invalid(at, "must contain " + listed(data__missing_keys))
    data_any_of_count6 += 1
   except Invalid: pass
  if not data_any_of_count6:
   try:
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
     data__missing_keys = set(['contentWithheld']) - data.keys()
     if data__missing_keys:
      raise Invalid(at, "must contain " + listed(data__missing_keys))
    data_any_of_count6 += 1
   except Invalid: pass
  if not data_any_of_count6:
   raise Invalid(at, "cannot be validated by any definition")
 try:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "tool" in data_keys:
    data_keys.pop("tool")
    data__tool = data["tool"]
    if not (isinstance(data__tool, str) and data__tool == 'ReadArtifact'):
     raise Invalid(at + ".tool", "must be same as const definition: ReadArtifact")
 except Invalid:
  pass
 else:
  data_is_dict = isinstance(data, dict)
  if data_is_dict:
   data_keys = dict(data)
   if "result" in data_keys:
    data_keys.pop("result")
    data__result = data["result"]
    raise Invalid(at + ".result", "must not be there")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['tool', 'label', 'state', 'at', 'since']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "tool" in data_keys:
   data_keys.pop("tool")
   data__tool = data["tool"]
   result___definitions_operationtool(data__tool, at + ".tool")
  if "label" in data_keys:
   data_keys.pop("label")
   data__label = data["label"]
   result___definitions_label(data__label, at + ".label")
  if "state" in data_keys:
   data_keys.pop("state")
   data__state = data["state"]
   result___definitions_state(data__state, at + ".state")
  if "stage" in data_keys:
   data_keys.pop("stage")
   data__stage = data["stage"]
   result___definitions_stage(data__stage, at + ".stage")
  if "decision" in data_keys:
   data_keys.pop("decision")
   data__decision = data["decision"]
   if not (isinstance(data__decision, str)):
    raise Invalid(at + ".decision", "must be string")
   if isinstance(data__decision, str):
    data__decision_len = len(data__decision)
    if data__decision_len < 1:
     raise Invalid(at + ".decision", "must be longer than or equal to 1 characters")
    if data__decision_len > 200:
     raise Invalid(at + ".decision", "must be shorter than or equal to 200 characters")
  if "reason" in data_keys:
   data_keys.pop("reason")
   data__reason = data["reason"]
   if not (isinstance(data__reason, str)):
    raise Invalid(at + ".reason", "must be string")
   if isinstance(data__reason, str):
    data__reason_len = len(data__reason)
    if data__reason_len < 1:
     raise Invalid(at + ".reason", "must be longer than or equal to 1 characters")
    if data__reason_len > 500:
     raise Invalid(at + ".reason", "must be shorter than or equal to 500 characters")
  if "contentWithheld" in data_keys:
   data_keys.pop("contentWithheld")
   data__contentWithheld = data["contentWithheld"]
   if not (isinstance(data__contentWithheld, bool)):
    raise Invalid(at + ".contentWithheld", "must be boolean")
   if not (isinstance(data__contentWithheld, bool) and data__contentWithheld is True):
    raise Invalid(at + ".contentWithheld", "must be same as const definition: True")
  if "at" in data_keys:
   data_keys.pop("at")
   data__at = data["at"]
   result___definitions_instant(data__at, at + ".at")
  if "since" in data_keys:
   data_keys.pop("since")
   data__since = data["since"]
   result___definitions_instant(data__since, at + ".since")
  if "result" in data_keys:
   data_keys.pop("result")
   data__result = data["result"]
   result___definitions_publicresult(data__result, at + ".result")
  if "summary" in data_keys:
   data_keys.pop("summary")
   data__summary = data["summary"]
   if not (isinstance(data__summary, str)):
    raise Invalid(at + ".summary", "must be string")
   if isinstance(data__summary, str):
    data__summary_len = len(data__summary)
    if data__summary_len < 1:
     raise Invalid(at + ".summary", "must be longer than or equal to 1 characters")
    if data__summary_len > 500:
     raise Invalid(at + ".summary", "must be shorter than or equal to 500 characters")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


def result___definitions_publicresult(data, at="data"):
 if not (isinstance(data, dict)):
  raise Invalid(at, "must be object")
 data_is_dict = isinstance(data, dict)
 if data_is_dict:
  data__missing_keys = set(['content', 'isError']) - data.keys()
  if data__missing_keys:
   raise Invalid(at, "must contain " + listed(data__missing_keys))
  data_keys = dict(data)
  if "content" in data_keys:
   data_keys.pop("content")
   data__content = data["content"]
   result___definitions_textcontent(data__content, at + ".content")
  if "structuredContent" in data_keys:
   data_keys.pop("structuredContent")
   data__structuredContent = data["structuredContent"]
   if not (isinstance(data__structuredContent, dict)):
    raise Invalid(at + ".structuredContent", "must be object")
  if "isError" in data_keys:
   data_keys.pop("isError")
   data__isError = data["isError"]
   if not (isinstance(data__isError, bool)):
    raise Invalid(at + ".isError", "must be boolean")
  if data_keys:
   raise Invalid(at, "must not contain " + listed(data_keys))
 return data


VALIDATORS = {
    'stripEntry': result___definitions_stripentry,
    'strip': result___definitions_strip,
    'stateEntry': result___definitions_stateentry,
    'stateForm': result___definitions_stateform,
    'hostMetadata': result___definitions_hostmetadata,
    'progressMeta': result___definitions_progressmeta,
    'view': result___definitions_view,
    'actionRow': result___definitions_actionrow,
    'acceptedResult': result___definitions_acceptedresult,
    'refusedResult': result___definitions_refusedresult,
    'preExecutionRefusal': result___definitions_preexecutionrefusal,
    'heldCallResult': result___definitions_heldcallresult,
    'queryBoardResult': result___definitions_queryboardresult,
    'actionOutcome': result___definitions_actionoutcome,
    'artifactWindow': result___definitions_artifactwindow,
    'artifactResult': result___definitions_artifactresult,
    'artifactTicketResult': result___definitions_artifactticketresult,
    'toolResult': result___definitions_toolresult,
}
