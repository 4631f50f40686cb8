-- Reads the calls of a body of JSON-RPC as the node does, and judges them by the rules of the inventory. It is a part of each Lua state.
--
-- The node reads with Go's encoding/json: names of fields match in any case and with escapes, and the last of two equal ones counts.
-- What Go refuses is refused here, too. So is what is not certain: two fields called method, or an entry of a batch that is no object.

calls = {}

local byte, find, match, sub = string.byte, string.find, string.match, string.sub
local plain_call, plain_batch = Map.new("plain-call.map", Map._reg), Map.new("plain-batch.map", Map._reg)
local quote, comma, colon, backslash = 34, 44, 58, 92
local open_list, close_list, open_object, close_object = 91, 93, 123, 125
local longest_id = 128
local longest_of_excess = 4096
-- Go ends at 10,000.
local deepest = 1000
local escaped = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function behind_blanks(body, at)
  return find(body, "[^ \t\r\n]", at) or #body + 1
end

-- The place of the quote that ends the string whose content begins at a place, or nil.
local function end_of_string(body, at)
  -- Twice as fast for the long text of a raw transaction.
  local _, plain = find(body, '^%w*"', at)
  if plain then return plain end
  while true do
    local stop = find(body, '["\\\0-\31]', at)
    local sign = stop and byte(body, stop)
    if sign == quote then return stop end
    if sign ~= backslash then return nil end
    if find(body, '^["\\/bfnrt]', stop + 1) then
      at = stop + 2
    elseif find(body, "^u%x%x%x%x", stop + 1) then
      at = stop + 6
    else
      return nil
    end
  end
end

local function decoded(text)
  if not find(text, "\\", 1, true) then return text end
  return (text:gsub("\\(.)(%x?%x?%x?%x?)", function(sign, digits)
    if sign == "u" then return utf8.char(tonumber(digits, 16)) end
    return (escaped[sign] or sign) .. digits
  end))
end

-- The name of a field, and the place of its value; nil where there is none.
local function field(body, at)
  if byte(body, at) ~= quote then return nil end
  local stop = end_of_string(body, at + 1)
  if not stop then return nil end
  local between = behind_blanks(body, stop + 1)
  if byte(body, between) ~= colon then return nil end
  return sub(body, at + 1, stop - 1), behind_blanks(body, between + 1)
end

-- The place behind a string, number, true, false or null; nil where there is none.
local function behind_scalar(body, at)
  if byte(body, at) == quote then
    local stop = end_of_string(body, at + 1)
    return stop and stop + 1
  end
  for _, word in ipairs({ "^true", "^false", "^null" }) do
    local _, stop = find(body, word, at)
    if stop then return stop + 1 end
  end
  local _, stop = find(body, "^-?0", at)
  if not stop then _, stop = find(body, "^-?[1-9]%d*", at) end
  if not stop then return nil end
  local _, fraction = find(body, "^%.%d+", stop + 1)
  stop = fraction or stop
  local _, exponent = find(body, "^[eE][+-]?%d+", stop + 1)
  return (exponent or stop) + 1
end

-- The place of the first entry of a list or of the value of an object's first field; the place behind an empty one, and true.
local function enter(body, at)
  local is_object = byte(body, at) == open_object
  local first = behind_blanks(body, at + 1)
  if byte(body, first) == (is_object and close_object or close_list) then return first + 1, true end
  if not is_object then return first end
  local _, value = field(body, first)
  return value
end

-- The place behind a value of any kind; nil where it is not JSON.
local function behind_value(body, at)
  local closers, depth = {}, 0
  while at do
    local sign = byte(body, at)
    local after
    if sign == open_list or sign == open_object then
      local inner, is_empty = enter(body, at)
      if is_empty then
        after = inner
      else
        depth = depth + 1
        if depth > deepest then return nil end
        closers[depth] = sign == open_list and close_list or close_object
        at = inner
      end
    else
      after = behind_scalar(body, at)
      if not after then return nil end
    end
    while after do
      if depth == 0 then return after end
      local next_place = behind_blanks(body, after)
      local following = byte(body, next_place)
      if following == closers[depth] then
        depth, after = depth - 1, next_place + 1
      elseif following == comma then
        after, at = nil, behind_blanks(body, next_place + 1)
        if closers[depth] == close_object then _, at = field(body, at) end
      else
        return nil
      end
    end
  end
end

-- One call and the place behind it; nil where it is none. Its first parameter is known where that is a whole number, or a text without
-- escapes.
local function read_call(body, at)
  if byte(body, at) ~= open_object then return nil end
  local call = { method = "", id = "null" }
  local place = behind_blanks(body, at + 1)
  if byte(body, place) == close_object then return call, place + 1 end
  local has_method = false
  while true do
    local raw, value = field(body, place)
    local after = raw and behind_value(body, value)
    if not after then return nil end
    local name = decoded(raw):lower()
    if name == "method" then
      if has_method or byte(body, value) ~= quote then return nil end
      has_method, call.method = true, decoded(sub(body, value + 1, after - 2))
    elseif name == "id" then
      call.id = sub(body, value, after - 1)
    elseif name == "params" then
      call.first = match(body, '^%[[ \t\r\n]*"(%w*)"', value) or match(body, "^%[[ \t\r\n]*(%d+)[ \t\r\n]*[],]", value)
    end
    place = behind_blanks(body, after)
    local sign = byte(body, place)
    if sign == close_object then return call, place + 1 end
    if sign ~= comma then return nil end
    place = behind_blanks(body, place + 1)
  end
end

local function read_batch(body, at)
  local list = { is_batch = true }
  local place = behind_blanks(body, at + 1)
  if byte(body, place) == close_list then return list, place + 1 end
  while true do
    local call, after = read_call(body, place)
    if not call then return nil end
    list[#list + 1] = call
    place = behind_blanks(body, after)
    local sign = byte(body, place)
    if sign == close_list then return list, place + 1 end
    if sign ~= comma then return nil end
    place = behind_blanks(body, place + 1)
  end
end

-- The calls of a body, each with its method and its id as JSON; nil for a body that cannot be judged.
function calls.read(body)
  local at = behind_blanks(body, 1)
  local list, after
  if byte(body, at) == open_list then
    list, after = read_batch(body, at)
  else
    local call
    call, after = read_call(body, at)
    list = { call }
  end
  if not after or behind_blanks(body, after) <= #body then return nil end
  return list
end

-- What is behind each field of a name, as far as a pattern matches it. Fields by these names are of calls alone in a plain body.
local function values_of(body, name, pattern)
  local list, at, _ = {}, 1, nil
  while true do
    _, at = find(body, name, at, true)
    if not at then return list end
    local value = match(body, pattern, at + 1)
    if value then list[#list + 1] = value end
  end
end

-- The calls of a body that HAProxy's regular expressions take for plain (lib/node/gateway/plain-calls.ts), as calls.read reads them, but
-- without the ids of a batch; nil for any other body.
function calls.plain(body)
  local is_one = plain_call:lookup(body)
  if not is_one and not plain_batch:lookup(body) then return nil end
  local list = values_of(body, '"method"', '^[ \t\r\n]*:[ \t\r\n]*"([%w_]+)"')
  local id = is_one and values_of(body, '"id"', "^[ \t\r\n]*:[ \t\r\n]*(%d+)")[1] or "null"
  -- Which block it asks for has to be known.
  if is_one and list[1] == "eth_getBlockByNumber" then return calls.read(body) end
  for place, method in ipairs(list) do list[place] = { method = method, id = id } end
  list.is_batch = not is_one
  return list
end

-- The id of a call that an error answers, as JSON: null for a batch, and for an id that is no number and no short text.
local function id_of(list)
  local id = not list.is_batch and list[1].id or "null"
  if #id > longest_id then return "null" end
  return find(id, "^%-?%d+$") and id or id:match('^"[%w_.-]*"$') or "null"
end

local matches, heavy

-- What is refused is heavy where its first call is.
local function refusal(list, kind, code, message, ...)
  local first = list and list[1] and list[1].method
  return nil, { kind = kind, id = list and id_of(list) or "null", code = code, message = string.format(message, ...),
    heavy = first and matches(heavy, first:lower()) }
end

-- Names of methods, in which * stands for any characters, as patterns of Lua. The node knows a method in one case alone.
local function patterns(names)
  local list = {}
  for place, name in ipairs(names) do list[place] = "^" .. name:lower():gsub("%*", ".*") .. "$" end
  return list
end

function matches(list, method)
  for _, pattern in ipairs(list) do
    if find(method, pattern) then return true end
  end
  return false
end

for _, who in pairs(rules.keys) do
  who.allows, who.denies = who.allow and patterns(who.allow), patterns(who.deny)
end
for _, limit in ipairs(rules.limits) do limit.patterns = patterns({ limit.method }) end
heavy = patterns(rules.heavy)

-- The methods of calls, each once: as it came, in lower case, and how often.
local function methods_of(list)
  local methods, by_name = {}, {}
  for _, call in ipairs(list) do
    local method = by_name[call.method]
    if not method then
      method = { given = call.method, name = call.method:lower(), count = 0 }
      by_name[call.method], methods[#methods + 1] = method, method
    end
    method.count = method.count + 1
  end
  return methods
end

-- The first method that a client may not use, or nil.
local function forbidden(methods, who)
  for _, method in ipairs(methods) do
    local name = method.name
    if (who.allows and not matches(who.allows, name)) or matches(who.denies, name) then return method.given end
  end
end

-- The limit of a method, or of several by one name, that the calls exceed; nil without one.
local function exceeded(methods, count)
  for index, limit in ipairs(rules.limits) do
    local number = 0
    for _, method in ipairs(methods) do
      if matches(limit.patterns, method.name) then number = number + method.count end
    end
    if number > 0 and count(index, number, limit.most) > limit.most then return limit end
  end
end

-- Counts calls of a client. Returns what refuses them where they are more than it may have, or nil.
local function excess(list, number, who, count)
  if count(0, number, who.requests) <= who.requests then return nil end
  return select(2, refusal(list, "requests", -32005, "more than %d requests in a second", who.requests))
end

local function rules_of(key)
  return rules.keys[key or ""]
end

-- Counts calls of a client in the table that HAProxy tracks as sc2: at most one more than the limit, which is enough to refuse.
function calls.counter(txn)
  return function(index, number, most)
    for _ = 1, math.min(number, most + 1) do txn.f:sc_inc_gpc(index, 2) end
    return txn.f:sc_gpc_rate(index, 2)
  end
end

-- A long body of a client that is over its limit is not read, for reading is what takes time. Returns what refuses it, or nil.
function calls.unread(length, key, count)
  local who = rules_of(key)
  if length <= longest_of_excess or count(0, 0, who.requests) <= who.requests then return nil end
  return excess(nil, 1, who, count)
end

-- Judges a body. `count(index, number, most)` counts calls of the client, and returns how many they are in a second, with these.
-- `key` is the name of the client's API key, if it has one. A monitor may ask for the newest block, whatever is offered. Returns the calls and their id, and whether one of them is heavy; or nil,
-- and what refuses them: kind, code and message of the error, and id.
function calls.judge(body, key, count, is_monitor)
  local over = calls.unread(#body, key, count)
  if over then return nil, over end
  local list, who = calls.plain(body) or calls.read(body), rules_of(key)
  local too_many = list and #list > who.batch
  -- What is refused is a request, too, and so is an empty batch.
  over = excess(list, list and not too_many and math.max(1, #list) or 1, who, count)
  if over then return nil, over end
  if not list then return refusal(nil, "unreadable", -32700, "this is not a JSON-RPC request") end
  list.id = id_of(list)
  if too_many then
    return refusal(list, "batch", -32005, "a batch of more than %d requests", who.batch)
  end
  local methods = methods_of(list)
  local method = forbidden(methods, who)
  if method and not (is_monitor and not list.is_batch and method == "eth_blockNumber") then
    local name = find(method, "^[%w_]+$") and #method <= 64 and method or "of this name"
    return refusal(list, "method", -32601, "the method %s is not offered", name)
  end
  local limit = exceeded(methods, count)
  if limit then
    return refusal(list, "method_requests", -32005, "more than %d requests of %s in a second", limit.most, limit.method)
  end
  for _, each in ipairs(methods) do
    list.heavy = list.heavy or matches(heavy, each.name)
  end
  return list
end

-- A message of a WebSocket. Its host serves it alone, and that is none for heavy methods.
function calls.judge_message(body, key, count)
  local list, over = calls.judge(body, key, count)
  if not list or not list.heavy then return list, over end
  return refusal(list, "method", -32601, "this method is offered by HTTP alone")
end

-- A request without a body, such as that of a browser before its first call, counts as a call.
function calls.without_body(key, count)
  local over = excess(nil, 1, rules_of(key), count)
  if over then return nil, over end
  return { id = "null", is_batch = true }
end
