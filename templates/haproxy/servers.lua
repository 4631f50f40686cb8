-- Functions for scripts by which HAProxy asks several servers and judges them. They are put before each of these scripts.

local function now()
  local time = core.now()
  return time.sec + time.usec / 1000000
end

-- Runs a job for each server at the same time, and waits for them for so many seconds at most. A server with an unfinished job gets no
-- second one.
local function each(list, longest, job)
  local pending = 0
  for _, server in ipairs(list) do
    if not server.busy then
      server.busy = true
      pending = pending + 1
      core.register_task(function()
        job(server)
        server.busy = false
        pending = pending - 1
      end)
    end
  end
  local limit = now() + longest
  while pending > 0 and now() < limit do core.msleep(10) end
end

local function quoted(text)
  return text and '"' .. text:gsub('[%c"\\]', function(sign) return string.format("\\u%04x", sign:byte()) end) .. '"' or "null"
end

local function answer_json(applet, body)
  applet:set_status(200)
  applet:add_header("content-type", "application/json")
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end

