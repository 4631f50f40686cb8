-- Decides which RPC hosts may serve, for all of this gateway's clients, and which host serves which client.
-- Its settings are variables of the environment, which haproxy.cfg sets.
--
-- Each second every RPC host is asked for its newest block, and then for its hash at heights that all have. A host is out while it
-- does not answer, is too far behind the best, has another hash than most hosts, fails calls that others execute, or has a file of its
-- name in the folder of drained ones. A stalled chain is not a reason: no host is behind then.

local most_behind = tonumber(os.getenv("FLEET_MOST_BEHIND"))
local drained_folder = os.getenv("FLEET_DRAINED")
local configuration = os.getenv("FLEET_CONFIGURATION")

-- Seconds.
local period, patience, silence, longest_wait = 1, 0.8, 3, 3
-- The reason of a host that is out for its turn in a run (lib/node/gateway/drain.ts).
local turn_reason = "its turn in a run"
-- For how long a WebSocket waits for the end of the first turn, and after its turn a host is one that no turn of this run takes out again.
local turn_patience, renewed_for = 30, 600
-- After its start HAProxy gets the table of clients from the process of before, or from another gateway.
local learns_for = 10
-- For so long a connection is idle at most.
local idle_for = 61
-- Between two questions to a host on behalf of clients that wait for a block.
local pause = 0.05
-- A host that was out comes back after so many good rounds, so that it does not go in and out.
local good_rounds = 3
-- So long HAProxy tries to connect (timeout connect, and a second before it tries again), and answers then. Cut before, a request gets
-- no answer at all.
local connecting_for = 3
-- Between two calls that a host executes for us. One that fails is repeated each round; the prover may refuse one when it is busy.
local call_pause, most_failures = 5, 3
-- The node waits for its prover without an end.
local call_patience = 10
local empty_call = '"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"},"latest"]'
-- By HTTP a host is in the first or the second one.
local backends = { "rpc_http", "rpc_heavy", "rpc_websocket" }

local hosts, by_id = {}, {}
local judged = false
local turn = 0

-- Hosts that serve usual methods, by their ids.
local serving = "serving.map"

-- The files of drained hosts are read in the chroot of HAProxy.
local function drained(host)
  local file = io.open(drained_folder .. "/" .. host.name, "r")
  if not file then return nil end
  local reason = file:read("l") or ""
  file:close()
  return reason ~= "" and reason or "no reason given"
end

-- Sends a call, and returns the answer with its status; nil without one. HTTP/1.0, so that the answer ends with the connection.
local function exchange(socket, host, call)
  local body = '{"jsonrpc":"2.0","id":1,' .. call .. "}"
  socket:send("POST / HTTP/1.0\r\nHost: " .. host.name .. "\r\nContent-Type: application/json\r\nContent-Length: "
    .. #body .. "\r\n\r\n" .. body)
  local answer = socket:receive("*a")
  socket:close()
  return answer, answer and answer:match("^HTTP/%d%.%d (%d+)")
end

-- One block of a host: height and hash, or nil and why.
local function ask(host, block)
  local socket = core.tcp()
  socket:settimeout(5)
  host.connecting = now()
  host.refused = not socket:connect(host.address, host.port)
  -- A busy host may not answer; one where nobody listens says so.
  host.closed = host.refused and now() - host.connecting < patience
  host.connecting = nil
  if host.refused then
    socket:close()
    return nil, "does not accept connections"
  end
  local answer, status = exchange(socket, host, '"method":"eth_getBlockByNumber","params":["' .. block .. '",false]')
  if not status then return nil, "does not answer" end
  local height = tonumber(answer:match('"number"%s*:%s*"(0x%x+)"') or "")
  local hash = answer:match('"hash"%s*:%s*"(0x%x+)"')
  if height and hash then return height, hash end
  if status ~= "200" then return nil, "answers HTTP " .. status end
  return nil, answer:find('"error"', 1, true) and "answers an error" or "has no block " .. block
end

-- Has a host execute a call of nothing. Blocks come from the state database: a host whose prover is away answers them all the same, and
-- fails what most clients ask.
local function try_call(host)
  if host.trying or now() < (host.next_try or 0) then return end
  host.trying = now()
  core.register_task(function()
    local socket, began_call = core.tcp(), now()
    socket:settimeout(call_patience)
    local answer
    if socket:connect(host.address, host.port) then answer = exchange(socket, host, empty_call) else socket:close() end
    if answer then
      -- A node that does not offer the method has nothing to execute.
      local failed = answer:find('"error"', 1, true) and not answer:find("-32601", 1, true)
      host.executes = answer:find('"result"', 1, true) ~= nil
      host.hangs = false
      host.failures = failed and (host.failures or 0) + 1 or 0
      host.failure = failed and (answer:match('"message"%s*:%s*"(.-[^\\])"') or "no reason given"):gsub('\\(["\\/])', "%1"):sub(1, 200)
    elseif now() - began_call >= call_patience - 1 then
      host.executes, host.hangs = false, true
    end
    host.trying, host.next_try = nil, now() + ((host.failures or 0) > 0 and 0 or call_pause)
  end)
end

local began = now()

-- Asks a host for its height between two rounds, for a client that waits for it.
local function look_again(host)
  if host.busy or host.looking or now() - (host.looked or 0) < pause then return end
  host.looking = true
  core.register_task(function()
    local height, hash = ask(host, "latest")
    if height and height > (host.height or 0) then host.height, host.hash, host.seen = height, hash, now() end
    host.looking, host.looked = false, now()
  end)
end

local function lowest(list)
  local height
  for _, host in ipairs(list) do
    if not height or host.height < height then height = host.height end
  end
  return height
end

local function best(list)
  local height = 0
  for _, host in ipairs(list) do
    if host.height > height then height = host.height end
  end
  return height
end

-- The hash that most of the hosts have at a height; of two equally frequent ones that of the highest host, then the first by name.
local function common_hash(list, height)
  local votes = {}
  for _, host in ipairs(list) do
    local hash = host.at[height]
    if hash then
      local vote = votes[hash] or { hash = hash, count = 0, height = 0, name = host.name }
      vote.count = vote.count + 1
      vote.height = math.max(vote.height, host.height)
      if host.name < vote.name then vote.name = host.name end
      votes[hash] = vote
    end
  end
  local first
  for _, vote in pairs(votes) do
    if not first or vote.count > first.count
      or (vote.count == first.count and (vote.height > first.height
        or (vote.height == first.height and vote.name < first.name))) then
      first = vote
    end
  end
  return first and first.hash
end

-- Faults of the hosts in one round, by comparison with those that are not drained. Returns the hosts of the common chain.
local function compare(answering, reference)
  local height = lowest(reference)
  if not height then return {} end
  each(answering, patience, function(host)
    host.at = { [host.height] = host.hash }
    if host.height > height then
      local _, hash = ask(host, string.format("0x%x", height))
      host.at[height] = hash:match("^0x") and hash or nil
    end
  end)
  local hash = common_hash(reference, height)
  local same = {}
  for _, host in ipairs(answering) do
    local own = host.at[height]
    if own and hash and own ~= hash then
      host.fault = string.format("another hash at block %d: %s, most have %s", height, own:sub(1, 18), hash:sub(1, 18))
      host.forked = true
    elseif not host.fault then
      same[#same + 1] = host
    end
  end
  return same
end

local function without_faults(list, is_reference)
  local left = {}
  for _, host in ipairs(list) do
    if not host.fault and (not is_reference or not host.drained) then left[#left + 1] = host end
  end
  return left
end

local function judge()
  local answering, slow = {}, {}
  for _, host in ipairs(hosts) do
    host.fault, host.forked = nil, false
    host.drained = drained(host)
    -- Nobody listens there: no need to wait for more rounds.
    host.silent = host.closed or not host.seen or now() - host.seen >= silence
    if not host.silent then
      answering[#answering + 1] = host
    else
      host.dead = host.refused or (host.connecting and now() - host.connecting > 2)
      host.fault = host.dead and "does not accept connections" or host.error or "does not answer"
      if not host.dead then slow[#slow + 1] = host end
    end
  end
  -- First at the lowest height of all; then without those far behind, for they would hide a fork above them.
  for _ = 1, 2 do
    local same = compare(without_faults(answering), without_faults(answering, true))
    local top = best(without_faults(same, true))
    for _, host in ipairs(same) do
      if top - host.height > most_behind then
        host.fault = string.format("%d blocks behind the best, at %d", top - host.height, host.height)
      end
    end
  end
  -- Where most are slow at the same time, it is the load: without the slow ones, the others would be next.
  if #slow * 2 >= #hosts then
    for _, host in ipairs(slow) do
      if host.seen then host.fault = nil end
    end
  end
end

-- Faults of hosts that do not execute calls, while one that serves does: where none does, the others would be out, too, for what all have.
local function judge_calls()
  local failing, hanging, executing = {}, 0, false
  for _, host in ipairs(hosts) do
    if not host.silent then try_call(host) end
    -- Those that wait by now will hang as well.
    if host.hangs or (host.trying and now() - host.trying > patience) then hanging = hanging + 1 end
    if not host.fault and (host.hangs or (host.failures or 0) >= most_failures) then
      failing[#failing + 1] = host
    elseif not host.fault and host.serving and host.executes then
      executing = true
    end
  end
  for _, host in ipairs(executing and failing or {}) do
    if not host.hangs then
      host.fault = "does not execute calls: " .. host.failure
    elseif hanging * 2 < #hosts then
      host.fault = string.format("has not executed a call for %d s", call_patience)
    end
  end
end

-- Hosts for heavy methods get nothing else, and where there are any, others get no heavy ones.
local function is_for(host, heavy)
  return (rules.heavy_hosts[host.name] or false) == heavy
end

-- The servers of HAProxy follow the judgement. All connections of a host that accepts none are cut when none is being made any more. Those
-- of one with another fault end by themselves, but its WebSockets are cut. Connections of a drained host go on until they end.
local function enact(host)
  local was = host.serving
  host.good = host.fault and 0 or (host.good or good_rounds - 1) + 1
  host.serving = not host.fault and not host.drained and (was or host.good >= good_rounds)
  -- A turn ends when its host serves again, or fails: those that wait for its end find the host.
  local in_turn = host.drained == turn_reason or (host.in_turn and not host.drained and not host.serving and not host.fault)
  -- Its second turn is of another run, which takes each host out again.
  if in_turn and not host.in_turn and host.renewed and is_for(host, false) then
    for _, each_host in ipairs(hosts) do each_host.renewed = nil end
  end
  if host.in_turn and not in_turn and not host.drained then host.renewed = now() end
  host.in_turn = in_turn
  host.reason = host.drained and "drained: " .. host.drained or host.fault or (not host.serving and "was out, coming back") or nil
  local is_dead = host.silent and host.dead and not host.serving
  host.dead_since = is_dead and (host.dead_since or now()) or nil
  if is_dead and now() - host.dead_since >= connecting_for then
    for _, server in pairs(host.servers) do server:shut_sess() end
  end
  if host.serving == was then return end
  if was == false then host.came_back = now() end
  -- HAProxy itself sends a client to the host that it had, if that is in the map.
  if host.serving and is_for(host, false) then
    core.set_map(serving, host.id, host.name)
  else
    core.del_map(serving, host.id)
  end
  for name, server in pairs(host.servers) do
    if host.serving then
      server:set_ready()
    else
      server:set_maint()
      if host.fault and not is_dead and name == "rpc_websocket" then server:shut_sess() end
    end
  end
  local what = host.serving and "serves" or "is out: " .. host.reason
  core.log(host.serving and core.notice or core.warning, "RPC host " .. host.name .. " " .. what)
end

-- The hosts, with their servers of HAProxy by the names of the backends.
local function find_hosts()
  local by_name = {}
  for _, backend in ipairs(backends) do
    for name, server in pairs(core.backends[backend] and core.backends[backend].servers or {}) do
      if not by_name[name] then
        local address, port = server:get_addr():match("^(.*):(%d+)$")
        local host = { name = name, address = address, port = tonumber(port), id = tostring(server:get_stats().sid), at = {}, servers = {} }
        hosts[#hosts + 1], by_id[host.id], by_name[name] = host, host, host
      end
      by_name[name].servers[backend] = server
    end
  end
  table.sort(hosts, function(one, other) return one.name < other.name end)
end

core.register_task(function()
  find_hosts()
  while true do
    local started = now()
    each(hosts, patience, function(host)
      local height, hash = ask(host, "latest")
      if height then
        host.height, host.hash, host.seen, host.error = height, hash, now(), nil
      else
        host.error = hash
      end
    end)
    judge()
    judge_calls()
    for _, host in ipairs(hosts) do enact(host) end
    judged = true
    core.msleep(math.max(50, math.floor((started + period - now()) * 1000)))
  end
end)

-- The next host in turn that serves, at a height or above; with `since`, only one whose own turn in a run has ended after that.
local function next_host(height, heavy, since)
  for _ = 1, #hosts do
    turn = turn % #hosts + 1
    local host = hosts[turn]
    if host.serving and is_for(host, heavy) and host.height >= height and (not since or (host.renewed or 0) > since) then return host end
  end
end

-- The height of the highest host that serves, for whatever methods.
local function highest()
  local list = {}
  for _, host in ipairs(hosts) do
    if host.serving then list[#list + 1] = host end
  end
  return best(list)
end

-- The same, asked now.
local function highest_now()
  local limit = now() + 0.3
  for _, host in ipairs(hosts) do
    if host.serving then look_again(host) end
  end
  local looks
  repeat
    core.msleep(10)
    looks = false
    for _, host in ipairs(hosts) do looks = looks or host.looking end
  until not looks or now() >= limit
  return highest()
end

-- Connections and requests that a host has now.
local function sessions_of(host)
  local sessions = 0
  for _, server in pairs(host.servers) do sessions = sessions + server:get_stats().scur end
  return sessions
end

-- Whether a host that has WebSockets is in its turn, and, with `empty`, the clients that it had have left.
local function takes_turns(empty)
  for _, host in ipairs(hosts) do
    if host.in_turn and is_for(host, false) and not (empty and sessions_of(host) > 0) then return true end
  end
end

-- A WebSocket lasts, and is cut in the turn of its host. So while a run changes hosts, one that was cut goes to a host that had its turn.
-- In the first turn it waits for its end.
local function place_websocket(host, floor)
  if not takes_turns() then return host end
  -- Those that are cut together come back before the last of them is gone.
  core.msleep(300)
  local limit = now() + turn_patience
  local since = now() - renewed_for
  if not takes_turns(true) or (host and host.serving and (host.renewed or 0) > since) then return host end
  local renewed
  repeat
    renewed = next_host(floor, false, since)
    if renewed then return renewed end
    core.msleep(100)
  until now() >= limit or not takes_turns()
  return next_host(floor, false, since) or (host and host.serving and host or nil)
end

-- Chooses the host of a client: the one that it had, while that one serves; otherwise one that has every block that the client may
-- have seen. Where no host has it yet, the request waits. After that, where no host for other methods has it either, the chain itself
-- has gone back: the lower height is then the one that the client has seen.
core.register_action("place", { "http-req" }, function(txn)
  local limit = now() + longest_wait
  while not judged and now() < limit do core.msleep(20) end
  local host = by_id[tostring(txn:get_var("txn.had"))]
  local floor = txn:get_var("txn.seen") or 0
  -- HAProxy gives a number for a truth. A WebSocket is for usual methods, whatever its opening asks.
  local lasts = txn:get_var("txn.lasts")
  local heavy = not lasts and txn:get_var("txn.heavy") ~= nil
  if host and not is_for(host, heavy) then host = nil end
  -- In a process that ends the client may have got another host and its heights since, by the next process.
  local unsure = txn:get_var("txn.ends") and not (host and host.serving and now() - (host.came_back or 0) > idle_for)
  if unsure or (not host and now() - began < learns_for) then floor = math.max(floor, highest_now()) end
  if host and (unsure or not host.serving) then
    floor = host.forked and 0 or math.max(floor, host.height or 0)
    host = nil
  end
  if lasts then host = place_websocket(host, floor) end
  local went_back = false
  local keeps = host ~= nil
  while not host do
    host = next_host(floor, heavy)
    if not host then
      if not next_host(0, heavy) then return end
      if now() >= limit then
        went_back = highest() < floor
        floor = 0
      else
        -- What a host has shown is often newer than the last round.
        for _, each_host in ipairs(hosts) do
          if each_host.serving and is_for(each_host, heavy) then look_again(each_host) end
        end
        core.msleep(20)
      end
    end
  end
  if went_back then txn:set_var("txn.went_back", host.height) end
  if not keeps and not heavy then txn:set_var("txn.moves_to", tonumber(host.id)) end
  txn:set_var("txn.host", host.name)
end, 0)

-- For an answer below the height that its client was shown. It becomes that height at once where another host has shown it: the next
-- request goes there. Otherwise it waits until the host that has answered has the block. Where no host has it, the chain has gone back.
core.register_action("catch_up", { "http-res" }, function(txn)
  local limit = now() + longest_wait
  local seen, served = txn:get_var("txn.seen"), txn:get_var("txn.served")
  local shown_by = by_id[tostring(txn:get_var("txn.had"))]
  local caught_up = served == txn:get_var("txn.host") and shown_by and shown_by.serving and shown_by.name ~= served
  for _, host in ipairs(hosts) do
    if host.name == served and not caught_up then
      while host.height < seen and now() < limit do
        look_again(host)
        core.msleep(20)
      end
      caught_up = host.height >= seen
    end
  end
  if caught_up then
    txn:set_var("txn.caught_up", string.format("0x%x", seen))
  elseif highest() < seen then
    txn:set_var("txn.lowered", true)
  end
end, 0)

-- For a height of a provider below the one that its client was shown. A little below, it is shown again; far below, the provider has
-- another chain or none, and its client has to know.
core.register_action("keep_height", { "http-res" }, function(txn)
  local seen, height = txn:get_var("txn.seen"), txn:get_var("txn.height")
  if height > 0 and seen - height <= most_behind then txn:set_var("txn.caught_up", string.format("0x%x", seen)) end
end, 0)

-- Who may serve, and why not, as JSON.
core.register_service("fleet", "http", function(applet)
  local list = {}
  for _, host in ipairs(hosts) do
    list[#list + 1] = string.format(
      '{"host":%s,"heavy":%s,"serves":%s,"fit":%s,"reason":%s,"drained":%s,"height":%s,"hash":%s,"sessions":%d}',
      quoted(host.name), is_for(host, true) and "true" or "false", host.serving and "true" or "false", host.good and host.good >= good_rounds and "true" or "false",
      quoted(host.reason), quoted(host.drained),
      host.height or "null", quoted(host.hash), sessions_of(host))
  end
  local body = string.format('{"judged":%s,"configuration":%s,"refused_messages":%d,"hosts":[%s]}\n',
    judged and "true" or "false", quoted(configuration), figures.refused_messages(), table.concat(list, ","))
  answer_json(applet, body)
end)
