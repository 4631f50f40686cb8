-- Figures of what clients ask and get, by class of methods and by the name of the API key: HAProxy's own exporter knows neither.
-- All names are of the inventory, so there is a bounded number of series. It is a part of the Lua state that all threads share.

figures = {}

local without_key = "(none)"
-- Milliseconds: the upper bounds of the histogram.
local bounds = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 }

-- Counters of haproxy.cfg for a key in its table quick_figures: answers by the first bounds, then bits of their milliseconds.
local quick_bounds, quick_bits = 8, 10

local clients, names, by_kind = {}, {}, {}

local function new_client(key, class)
  local client = { key = key, class = class, calls = 0, answers = {}, refused = {}, took = 0, slower = 0, within = {}, quick = {} }
  for place in ipairs(bounds) do client.within[place] = 0 end
  return client
end

-- The figures of a key and a class; those of clients without a key have a name that no key may have.
local function client_of(key, class)
  if key == nil or key == "" then key = without_key end
  local name = key .. " " .. class
  if not clients[name] then
    clients[name] = new_client(key, class)
    names[#names + 1] = name
  end
  return clients[name]
end

-- What an answer counts for: of hundreds of the status, heavy, WebSocket, name of the key and reason of a refusal.
local function kind_of(text)
  local hundreds, heavy, lasts, key, reason = text:match("^(%d*) (%d*) (%d*) (%S*) (%S*)$")
  if not hundreds then return nil end
  local class = lasts ~= "" and "websocket" or heavy ~= "" and "heavy" or "usual"
  return { client = client_of(key, class), code = hundreds .. "xx", reason = reason ~= "" and reason or nil }
end

-- Counts an answer, as haproxy.cfg writes it: milliseconds, calls, and the rest, which few different answers have. A converter costs
-- less than an action: HAProxy makes no object of the transaction for it.
core.register_converters("figure", function(line)
  local took, calls, text = line:match("^(%d+) (%d*) (.*)$")
  local kind = text and (by_kind[text] or kind_of(text))
  if not kind then return 0 end
  by_kind[text] = kind
  local client, code, reason = kind.client, kind.code, kind.reason
  client.answers[code] = (client.answers[code] or 0) + 1
  if reason then
    client.refused[reason] = (client.refused[reason] or 0) + 1
    return 1
  end
  took = tonumber(took)
  client.calls = client.calls + (tonumber(calls) or 0)
  client.took = client.took + took
  for place, bound in ipairs(bounds) do
    if took <= bound then
      client.within[place] = client.within[place] + 1
      return 1
    end
  end
  client.slower = client.slower + 1
  return 1
end)

-- Takes over what HAProxy itself has counted since the last time. Its counters have 32 bits.
local function take_over(client, converters)
  local key = client.key == without_key and "=" or client.key
  local function more(counter)
    local now = converters:table_gpc(key, counter, "quick_figures") or 0
    local number = (now - (client.quick[counter] or 0)) & 0xffffffff
    client.quick[counter] = now
    -- After a reload the process of before empties its tables, and may be asked at that moment.
    return number > 0x7fffffff and now or number
  end
  for place = 1, quick_bounds do
    local number = more(place - 1)
    client.within[place] = client.within[place] + number
    client.calls = client.calls + number
    if number > 0 then client.answers["2xx"] = (client.answers["2xx"] or 0) + number end
  end
  for bit = 0, quick_bits - 1 do client.took = client.took + (more(quick_bounds + bit) << bit) end
end

local prefix = "rpc_node_gateway_"
local help = {
  "# TYPE rpc_node_gateway_answers_total counter",
  "# HELP rpc_node_gateway_answers_total Answers to clients, also those of the gateway itself.",
  "# TYPE rpc_node_gateway_calls_total counter",
  "# HELP rpc_node_gateway_calls_total Calls that passed, by HTTP as soon as they are answered: each one in a batch counts.",
  "# TYPE rpc_node_gateway_refused_total counter",
  "# HELP rpc_node_gateway_refused_total Requests by HTTP, and messages of WebSockets, that were refused.",
  "# TYPE rpc_node_gateway_seconds histogram",
  "# HELP rpc_node_gateway_seconds From a whole request to the beginning of its answer, without those that were refused.",
}

local function line(name, labels, value)
  return string.format("%s%s{%s} %s\n", prefix, name, labels, value)
end

local function by_name(counts, name, labels, label)
  local lines = {}
  for value, count in pairs(counts) do
    lines[#lines + 1] = line(name, string.format('%s,%s="%s"', labels, label, value), count)
  end
  return table.concat(lines)
end

local function histogram(client, labels)
  local lines, count = {}, 0
  for place, bound in ipairs(bounds) do
    count = count + client.within[place]
    lines[place] = line("seconds_bucket", string.format('%s,le="%g"', labels, bound / 1000), count)
  end
  count = count + client.slower
  if count == 0 then return "" end
  return table.concat(lines) .. line("seconds_bucket", labels .. ',le="+Inf"', count)
    .. line("seconds_sum", labels, client.took / 1000) .. line("seconds_count", labels, count)
end

local function series(client)
  local labels = string.format('key="%s",class="%s"', client.key, client.class)
  local calls = client.calls > 0 and line("calls_total", labels, client.calls) or ""
  return calls .. by_name(client.answers, "answers_total", labels, "code")
    .. by_name(client.refused, "refused_total", labels, "reason") .. histogram(client, labels)
end

-- Messages of WebSockets are counted in a table of HAProxy: their filter has other Lua states.
local function messages_of(key, entry)
  local labels = string.format('key="%s",class="websocket"', key == "=" and without_key or key)
  return line("calls_total", labels, entry.gpc0)
    .. line("refused_total", labels .. ',reason="message"', entry.gpc1)
end

local function messages()
  return core.proxies.message_figures.stktable:dump()
end

-- Messages of WebSockets that this process has refused.
function figures.refused_messages()
  local number = 0
  for _, entry in pairs(messages()) do number = number + entry.gpc1 end
  return number
end

-- The figures as Prometheus reads them. Each part is sent alone, so that clients do not wait for all of them.
core.register_service("figures", "http", function(applet)
  applet:set_status(200)
  applet:add_header("content-type", "text/plain; version=0.0.4")
  applet:start_response()
  applet:send(table.concat(help, "\n") .. "\n")
  for key in pairs(core.proxies.quick_figures.stktable:dump()) do client_of(key == "=" and "" or key, "usual") end
  for _, name in ipairs({ table.unpack(names) }) do
    local client = clients[name]
    if client.class == "usual" then take_over(client, applet.c) end
    applet:send(series(client))
  end
  for key, entry in pairs(messages()) do applet:send(messages_of(key, entry)) end
end)
