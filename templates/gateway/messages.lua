-- Judges the messages of WebSockets: a filter of bytes, between the handshake and the node. Each thread has a Lua state of its own,
-- because filters of the shared one race in HAProxy 2.6: two WebSockets that open at the same time crash it.
--
-- A message passes as it came, once all of it is there and was judged. A refused one becomes a ping for the node, unless one is on its way.
-- The pong comes back between two frames, and errors that are due take its place.

local unpack, pack = string.unpack, string.pack
-- As many words of 8 bytes are read at once.
local words = 32
local layout = "<" .. ("i8"):rep(words)
local most_fragments = 1024
-- Of a WebSocket, in a second: the node answers each ping.
local most_controls = 20
-- Errors that the node's pong has not brought yet.
local most_due = 1000
local names = { text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

local Messages = { id = "messages" }
Messages.__index = Messages

-- RFC 6455, section 5.3.
local function unmasked(text, mask)
  local key = unpack("<i8", mask .. mask)
  local parts = {}
  local padded = text .. ("\0"):rep(-#text % (8 * words))
  for at = 1, #padded, 8 * words do
    local block = { unpack(layout, padded, at) }
    for word = 1, words do block[word] = block[word] ~ key end
    parts[#parts + 1] = pack(layout, table.unpack(block, 1, words))
  end
  return table.concat(parts):sub(1, #text)
end

local function frame(opcode, content, mask)
  local masks = mask and 0x80 or 0
  local size = #content < 126 and pack("B", masks | #content) or pack(">BI2", masks | 126, #content)
  return pack("B", 0x80 | opcode) .. size .. (mask and mask .. unmasked(content, mask) or content)
end

-- The header of the frame at an offset of the channel: nil where not all of it is there.
local function header(channel, at)
  local there = channel:input() - at
  if there < 2 then return nil end
  local text = channel:data(at, math.min(there, 14))
  local first, second = text:byte(1, 2)
  local found = { is_last = first >= 0x80, reserved = first & 0x70, opcode = first & 0x0f, is_masked = second >= 0x80 }
  found.length = second & 0x7f
  local behind = 3
  if found.length == 126 then
    if #text < 4 then return nil end
    found.length, behind = unpack(">I2", text, 3)
  elseif found.length == 127 then
    if #text < 10 then return nil end
    found.length, behind = unpack(">I8", text, 3)
    -- The highest bit has to be 0.
    if found.length < 0 then found.reserved = 1 end
  end
  if found.is_masked then
    if #text < behind + 3 then return nil end
    found.mask = text:sub(behind, behind + 3)
    behind = behind + 4
  end
  found.size = behind - 1
  found.is_control = found.opcode >= 8
  return found
end

function Messages:new()
  local cookie = pack("<I8", math.random(0, math.maxinteger))
  return setmetatable({ cookie = cookie, parts = {}, held = 0, length = 0, due = {}, controls = 0 }, Messages)
end

function Messages:start_analyze(txn, channel)
  filter.register_data_filter(self, channel)
  -- HAProxy rejects a WebSocket without it.
  txn:set_var("sess.judges", true)
end

-- Bytes of the head of a request or an answer; nil where not all of it is there.
local function head(channel)
  local _, stop = channel:data(0):find("\r\n\r\n", 1, true)
  return stop
end

local function ends_the_websocket(txn)
  txn:done()
  return 0
end

-- Whether a client may send such a frame now.
function Messages:takes(found)
  if found.reserved ~= 0 or not found.is_masked then return false end
  if found.is_control then return found.is_last and found.length < 126 end
  if #self.parts >= most_fragments or self.length + found.length > rules.body then return false end
  return found.opcode == 0 and #self.parts > 0 or (found.opcode == names.text or found.opcode == names.binary) and #self.parts == 0
end

-- Whether this is one control frame too many.
function Messages:is_flood()
  local second = core.now().sec
  if second ~= self.second then self.second, self.controls = second, 0 end
  self.controls = self.controls + 1
  return self.controls > most_controls
end

-- What refuses the message whose frames begin at an offset of the channel, or nil.
function Messages:judge(txn, channel, start)
  local key, count = txn:get_var("sess.key"), calls.counter(txn)
  local refusal = calls.unread(self.length, key, count)
  if refusal then return refusal end
  local texts, list = {}, nil
  for place, part in ipairs(self.parts) do
    texts[place] = unmasked(part.length > 0 and channel:data(start + part.at, part.length) or "", part.mask)
  end
  list, refusal = calls.judge_message(table.concat(texts), key, count)
  -- An empty batch is a request, too.
  for _ = 1, list and math.max(1, #list) or 0 do txn.f:sc_inc_gpc0(0) end
  return refusal
end

-- Ends the message whose frames begin at an offset. Returns how many bytes of the channel it has then; nil where there is no room.
function Messages:finish(txn, channel, start)
  local refusal = self:judge(txn, channel, start)
  local mask, size = self.parts[1].mask, self.held
  self.parts, self.held, self.length = {}, 0, 0
  if not refusal then return size end
  txn.f:sc_inc_gpc1(0)
  self.due[#self.due + 1] = string.format('{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"%s"}}', refusal.id, refusal.code,
    refusal.message)
  if #self.due > most_due then return nil end
  if self.has_asked then
    channel:remove(start, size)
    return 0
  end
  self.has_asked = true
  local ping = frame(names.ping, self.cookie, mask)
  if channel:set(ping, start, size) < 0 then return nil end
  return #ping
end

-- From the client: the bytes that may go on.
function Messages:from_client(txn, channel)
  local start = 0
  if not self.has_request then
    start = head(channel)
    if not start then return 0 end
    self.has_request = true
  end
  while true do
    local found = header(channel, start + self.held)
    if not found then return start end
    if self.is_plain or not self:takes(found) then return ends_the_websocket(txn) end
    if channel:input() < start + self.held + found.size + found.length then return start end
    if found.is_control then
      if self:is_flood() then return ends_the_websocket(txn) end
    else
      self.parts[#self.parts + 1] = { at = self.held + found.size, length = found.length, mask = found.mask }
      self.length = self.length + found.length
    end
    self.held = self.held + found.size + found.length
    if #self.parts == 0 then
      start, self.held = start + self.held, 0
    elseif found.is_last and not found.is_control then
      local size = self:finish(txn, channel, start)
      if not size then return ends_the_websocket(txn) end
      start = start + size
    end
  end
end

-- Puts errors that are due between two messages of the node. Returns the place behind them.
function Messages:give_errors(channel, at)
  if self.in_message or not self.due[1] then return at end
  local left = {}
  for _, text in ipairs(self.due) do
    local error = frame(names.text, text)
    if not left[1] and channel:insert(error, at) >= 0 then at = at + #error else left[#left + 1] = text end
  end
  self.due = left
  return at
end

-- From the node: the bytes that may go on.
function Messages:from_node(channel)
  local at = 0
  if self.is_plain then return channel:input() end
  if not self.has_answer then
    at = head(channel)
    if not at then return 0 end
    self.has_answer, self.rest = true, 0
    self.is_plain = not channel:data(0, 12):find("^HTTP/1.1 101")
    if self.is_plain then return channel:input() end
  end
  while true do
    local passed = math.min(self.rest, channel:input() - at)
    at, self.rest = at + passed, self.rest - passed
    if self.rest > 0 then return at end
    at = self:give_errors(channel, at)
    local found = header(channel, at)
    if not found then return at end
    local whole = found.size + found.length
    if found.opcode == names.pong and found.length == #self.cookie then
      if channel:input() < at + whole then return at end
      if channel:data(at + found.size, found.length) == self.cookie then
        channel:remove(at, whole)
        whole = 0
      end
    end
    -- A node may answer only the last one of several pings.
    if found.opcode == names.pong then self.has_asked = false end
    if not found.is_control then self.in_message = not found.is_last end
    self.rest = whole
  end
end

function Messages:tcp_payload(txn, channel)
  if channel:input() == 0 then return 0 end
  if channel:is_resp() then return self:from_node(channel) end
  return self:from_client(txn, channel)
end

core.register_filter("messages", Messages, function(messages)
  return messages
end)
