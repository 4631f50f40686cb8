-- Decides which provider of layer 1 the node uses. Its settings are variables of the environment, which haproxy.cfg sets.
--
-- Every few seconds each provider is asked for its newest block; at its first answer, and from time to time, for its chain id and for the
-- hash of one block that cannot change any more. A provider is out while it does not answer, limits requests, is of another chain, has
-- another history, or is behind the best. The first of the list that is not out is used. Requests of the node are observed, too.
--
-- A provider never answers the node before it has the newest block that the node was shown: a lower one answers a question for logs
-- with fewer of them, and the node would not notice.

local chain_id = tonumber(os.getenv("LAYER1_CHAIN_ID"))
local configuration = os.getenv("LAYER1_CONFIGURATION")

-- Seconds: between two rounds, for one answer, for the wait of a request, and until the chain id is asked for again.
local period, patience, longest_wait, identity_age = 5, 3, 30, 60
-- Seconds without a question after a limit.
local limit_pause = 30
-- Seconds of good answers until one that was out is used again; twice as long each time it goes out soon after it came back.
local shortest_probation, longest_probation, soon = 60, 960, 600
-- Blocks behind the best. Providers differ by one or two.
local most_behind = 10
-- Ethereum finalizes a block after two epochs (lib/node/chain/layer1-history.ts). The block whose hash is compared moves by so many.
local finality, stride = 64, 256
-- So many failed answers to the node in so many seconds count as one failed question.
local most_failures, failures_within = 3, 10

local providers, by_name = {}, {}
local judged, used, due = false, nil, false
-- The newest block that the node was shown, and the newest of the last round.
local shown, newest = 0, 0

local function log(level, words)
  core.log(level, "layer 1: " .. words)
end

-- What a provider answers to a question: the result as a text, or nil and why. HTTP/1.0, so that the answer ends with the connection.
local function ask(provider, method, params)
  local socket = core.tcp()
  socket:settimeout(patience)
  if not socket:connect("unix@/" .. provider.name .. ".sock") then
    socket:close()
    return nil, "HAProxy is not ready"
  end
  local body = '{"jsonrpc":"2.0","id":1,"method":"' .. method .. '","params":[' .. (params or "") .. ']}'
  socket:send("POST / HTTP/1.0\r\nx-layer1-check: yes\r\nContent-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body)
  local answer = socket:receive("*a")
  socket:close()
  local status = answer and answer:match("^HTTP/%d%.%d (%d+)")
  if not status then return nil, "does not answer" end
  if status == "503" and answer:find("cannot be reached", 1, true) then return nil, "cannot be reached" end
  if status == "504" and answer:find("-32002", 1, true) then return nil, "does not answer" end
  if status ~= "200" then return nil, "answers HTTP " .. status end
  local text = answer:match("\r\n\r\n(.*)$") or ""
  if text:find('"error"%s*:%s*{') then
    return nil, "answers an error: " .. (text:match('"message"%s*:%s*"([^"]*)"') or "without words"):sub(1, 80)
  end
  return text
end

local function quantity(text, key)
  return tonumber(text:match('"' .. key .. '"%s*:%s*"(0x%x+)"') or "")
end

-- Asks for the newest block, and for the chain id when it is due. Returns nil, or what is wrong.
local function inspect(provider)
  if not provider.identified or now() - provider.identified > identity_age then
    local text, why = ask(provider, "eth_chainId")
    if not text then return why end
    local id = quantity(text, "result")
    if not id then return "gives no chain id" end
    if id ~= chain_id then return string.format("is of the chain with id %d, and has to be of the one with id %d", id, chain_id) end
    provider.identified = now()
  end
  local text, why = ask(provider, "eth_blockNumber")
  if not text then return why end
  local height = quantity(text, "result")
  if not height then return "gives no block number" end
  provider.height, provider.seen = height, now()
end

local function without_faults()
  local list = {}
  for _, provider in ipairs(providers) do
    if not provider.fault and provider.height then list[#list + 1] = provider end
  end
  return list
end

local function best(list)
  local height = 0
  for _, provider in ipairs(list) do height = math.max(height, provider.height) end
  return height
end

-- One that is far above all others has to show its newest block.
local function disbelieve(list)
  if #list < 2 then return end
  local first, second = list[1], nil
  for place = 2, #list do
    local each_one = list[place]
    if each_one.height > first.height then
      first, second = each_one, first
    elseif not second or each_one.height > second.height then
      second = each_one
    end
  end
  if first.height - second.height <= most_behind or first.proved == first.height then return end
  local text = ask(first, "eth_getBlockByNumber", string.format('"0x%x",false', first.height))
  local made = text and quantity(text, "timestamp")
  if text and quantity(text, "number") == first.height and made and made < now() + 60 then
    first.proved = first.height
  else
    first.fault = string.format("says that it is at block %d, and does not have it", first.height)
  end
end

local function leave_behind(list)
  local top = best(list)
  for _, provider in ipairs(list) do
    if top - provider.height > most_behind then
      provider.fault = string.format("%d blocks behind the best, at %d", top - provider.height, provider.height)
    end
  end
end

-- The hash that most have; of two equally frequent ones that of the provider in use, then of the first.
local function common_hash(list)
  local votes, first = {}, nil
  for place, provider in ipairs(list) do
    local vote = votes[provider.hash] or { hash = provider.hash, count = 0, rank = #list - place }
    vote.count = vote.count + 1
    if provider == used then vote.rank = #list + 1 end
    votes[provider.hash] = vote
  end
  for _, vote in pairs(votes) do
    if not first or vote.count > first.count or (vote.count == first.count and vote.rank > first.rank) then first = vote end
  end
  return first and first.hash
end

-- Compares the hash of a block that all have.
local function compare(list)
  local lowest
  for _, provider in ipairs(list) do lowest = math.min(lowest or provider.height, provider.height) end
  local block = lowest and (lowest - finality) // stride * stride or -1
  if block < 0 then return end
  each(list, 2 * patience, function(provider)
    if provider.compared == block then return end
    local text, why = ask(provider, "eth_getBlockByNumber", string.format('"0x%x",false', block))
    local hash = text and text:match('"hash"%s*:%s*"(0x%x+)"')
    if hash then
      provider.compared, provider.hash = block, hash
    else
      provider.fault = why or string.format("has no block %d", block)
    end
  end)
  local answered = {}
  for _, provider in ipairs(list) do
    if not provider.fault and provider.compared == block then answered[#answered + 1] = provider end
  end
  local hash = common_hash(answered)
  for _, provider in ipairs(answered) do
    if provider.hash ~= hash then
      provider.fault = string.format("another hash at block %d: %s, and %s is right", block, provider.hash:sub(1, 18), hash:sub(1, 18))
      -- It may be repaired.
      provider.compared = nil
    end
  end
end

local function is_limited(provider)
  return provider.limited_until and now() < provider.limited_until
end

-- 3: may be used; 2: was out, and answers again; 1: only limits requests; 0: out.
local function rank(provider)
  if provider.fault or not provider.seen then return 0 end
  if is_limited(provider) then return 1 end
  return now() >= provider.back_at and 3 or 2
end

local function why_out(provider)
  if provider.fault then return provider.fault end
  if not provider.seen then return "not asked yet" end
  if is_limited(provider) then return provider.limit end
  if now() < provider.back_at then return "was out, coming back" end
end

local function choose()
  local chosen
  for _, provider in ipairs(providers) do
    local own = rank(provider)
    if own > 0 and (not chosen or own > rank(chosen)) then chosen = provider end
  end
  return chosen
end

-- One that goes out is not used for a time, and longer if it was used for a short time only.
local function put_on_probation(provider)
  local time = now()
  local is_soon = time - provider.back_at < soon
  provider.probation = provider.was_out and is_soon and math.min(2 * provider.probation, longest_probation) or shortest_probation
  provider.was_out = true
end

-- The servers of HAProxy follow: a second try of a request goes to those with the highest rank.
local function enact()
  for _, provider in ipairs(providers) do
    local is_out = provider.fault ~= nil or is_limited(provider) or false
    if is_out and not provider.is_out and judged then put_on_probation(provider) end
    if is_out and judged then provider.back_at = now() + provider.probation end
    if is_out ~= provider.is_out and (judged or is_out) then
      log(is_out and core.warning or core.notice, provider.shown .. (is_out and " is out: " .. why_out(provider) or " answers again"))
    end
    provider.is_out = is_out
  end
  local chosen = choose()
  local highest = chosen and rank(chosen) or 0
  for _, provider in ipairs(providers) do
    local own = rank(provider)
    local is_ready = own > 0 and own >= math.min(highest, 2)
    if is_ready ~= provider.is_ready then
      local server = core.backends.providers.servers[provider.name]
      if is_ready then server:set_ready() else server:set_maint() end
      -- What it does not answer is sent to another.
      if not is_ready and provider.fault then core.proxies["provider-" .. provider.name].servers.provider:shut_sess() end
      provider.is_ready = is_ready
    end
  end
  if chosen ~= used then
    log(core.notice, chosen and chosen.shown .. " is used" or "no provider can be used")
    used = chosen
  end
end

local function round()
  local asked = {}
  for _, provider in ipairs(providers) do
    if not is_limited(provider) then asked[#asked + 1] = provider end
  end
  each(asked, 2 * patience, function(provider)
    local found = inspect(provider)
    provider.found = found or false
    if found then provider.identified = nil end
  end)
  for _, provider in ipairs(asked) do
    -- A limit that this question has met is not a fault of its own.
    local old = not provider.seen or now() - provider.seen > period + 2 * patience
    if is_limited(provider) then
      if old then provider.fault = provider.limit end
    elseif provider.busy or provider.found == nil then
      provider.fault = "does not answer"
    else
      provider.fault = provider.found or nil
    end
  end
  disbelieve(without_faults())
  leave_behind(without_faults())
  compare(without_faults())
  local top = best(without_faults())
  if top > 0 then newest = top end
end

core.register_task(function()
  local place = 0
  for name in os.getenv("LAYER1_PROVIDERS"):gmatch("%S+") do
    place = place + 1
    local provider = { name = tostring(place), shown = name, back_at = 0, probation = shortest_probation, failures = {} }
    providers[place], by_name[provider.name] = provider, provider
  end
  while true do
    local started = now()
    round()
    enact()
    judged, due = true, false
    while not due and now() < started + period do core.msleep(50) end
  end
end)

-- Chooses the provider of a request.
core.register_action("choose", { "http-req" }, function(txn)
  local limit = now() + longest_wait
  while not judged and now() < limit do core.msleep(20) end
  local chosen = choose()
  if chosen then
    txn:set_var("txn.provider", chosen.name)
    return
  end
  local reasons = {}
  for _, provider in ipairs(providers) do
    reasons[#reasons + 1] = provider.shown .. ": " .. (why_out(provider) or "")
  end
  txn:set_var("txn.why", (table.concat(reasons, "; "):gsub('[%c"\\]', "")))
end, 0)

-- Lets a request wait until its provider has the newest block that the node was shown. Where none has it after that, the chain itself has
-- gone back.
core.register_action("wait", { "http-req" }, function(txn, name)
  local provider = by_name[name]
  local limit = now() + longest_wait
  txn:set_var("txn.method", (txn.sf:req_body() or ""):match('"method"%s*:%s*"([%w_]+)"') or "")
  while (provider.height or 0) < shown and now() < limit do
    if provider.fault then break end
    due = true
    core.msleep(500)
  end
  if (provider.height or 0) >= shown then return end
  local highest = best(without_faults())
  if now() >= limit and highest < shown then shown = highest end
  if provider.height < shown then txn:set_var("txn.is_behind", true) end
end, 1)

-- Words of a limit of requests, and of one of blocks or results, which is a matter of the one request.
local limit_words = { "rate", "too many request", "limit", "exceeded", "capacity", "quota", "credits", "throttl" }
local size_words = { "block range", "blocks range", "range limit", "query returned", "more than %d+ results", "response size", "up to a %d+ block", "max results", "logs matched" }
local limit_codes = { ["-32005"] = true, ["-32007"] = true, ["-32029"] = true, ["-32097"] = true, ["-32090"] = true, ["429"] = true }

local function has_one(text, words)
  for _, word in ipairs(words) do
    if text:find(word) then return true end
  end
end

-- The words of an answer that limits requests, or nil.
local function limit_in(status, body)
  local is_error = body:find('^%s*%[?%s*{') and body:find('"error"%s*:') and #body < 4096
  local message = is_error and body:match('"message"%s*:%s*"([^"]*)"') or ""
  local words = message:lower()
  if status == 429 then return "limits requests (HTTP 429)" end
  if not is_error or has_one(words, size_words) then return nil end
  local code = body:match('"code"%s*:%s*"?(%-?%d+)')
  if limit_codes[code or ""] or (status ~= 200 and has_one(words, limit_words)) then
    return "limits requests (error " .. tostring(code) .. (message ~= "" and ": " .. message:sub(1, 60) or "") .. ")"
  end
end

local function count_failure(provider, why)
  local recent = { now() }
  for _, time in ipairs(provider.failures) do
    if now() - time < failures_within then recent[#recent + 1] = time end
  end
  provider.failures = recent
  if #recent < most_failures then return end
  provider.failures = {}
  -- An error of the request itself would take them all out, one after the other.
  for _, other in ipairs(providers) do
    if other ~= provider and rank(other) > 1 then
      provider.fault = why
      enact()
      return
    end
  end
end

-- Looks at an answer: at limits, failures, and the height that the node learns.
core.register_action("look", { "http-res" }, function(txn, name)
  local provider = by_name[name]
  local status = tonumber(txn.f:status())
  local body = txn.sf:res_body() or ""
  local limit = limit_in(status, body)
  if limit then
    local pause = tonumber(txn.sf:res_fhdr("retry-after")) or limit_pause
    provider.limit, provider.limited_until = limit, now() + math.min(math.max(pause, limit_pause), longest_probation)
    txn:set_var("txn.is_limited", true)
    enact()
    return
  end
  local method = txn:get_var("txn.method")
  -- A question of ours.
  if not method then return end
  if status >= 500 then return count_failure(provider, "answers HTTP " .. status) end
  if method ~= "eth_blockNumber" and method ~= "eth_getBlockByNumber" then return end
  local height = quantity(body, method == "eth_blockNumber" and "result" or "number")
  -- Far above all others it may be false, and requests to the others would wait for such a block. The next round finds out. A height
  -- that was shown since the last round is no measure: it may have been false, too.
  if not height or height - newest > most_behind then return end
  provider.height = math.max(provider.height or 0, height)
  shown = math.max(shown, height)
end, 1)

-- Which provider is used, and why others are out, as JSON.
core.register_service("providers", "http", function(applet)
  local list = {}
  for place, provider in ipairs(providers) do
    local own = rank(provider)
    list[place] = string.format('{"provider":%s,"used":%s,"usable":%s,"reason":%s,"height":%s}', quoted(provider.shown),
      tostring(provider == used), tostring(own > 1), quoted(why_out(provider)), provider.height or "null")
  end
  local body = string.format('{"judged":%s,"configuration":%s,"providers":[%s]}\n', tostring(judged), quoted(configuration),
    table.concat(list, ","))
  answer_json(applet, body)
end)
