-- Judges requests by HTTP. It is a part of the Lua state that all threads share, as fleet.lua is: a stream must not use two states.

-- Judges what haproxy.cfg has not judged itself. Sets txn.judged, without which HAProxy refuses the request: it goes on after an error in
-- Lua. Sets txn.refused where the body is refused, with code and words of the error, and txn.id. Of what passes, txn.calls is the number
-- of calls; txn.method is set for a single call, and txn.block is the block that eth_getBlockByNumber asks for; txn.heavy says that hosts
-- for heavy methods have to answer.
core.register_action("judge", { "http-req" }, function(txn)
  local body = txn.sf:req_body() or ""
  local count, key = calls.counter(txn), txn:get_var("txn.key")
  local list, refusal
  if body == "" then
    list, refusal = calls.without_body(key, count)
  else
    list, refusal = calls.judge(body, key, count, txn:get_var("txn.monitor") ~= nil)
  end
  txn:set_var("txn.judged", true)
  txn:set_var("txn.id", (list or refusal).id)
  if refusal then
    if refusal.heavy then txn:set_var("txn.heavy", true) end
    txn:set_var("txn.refused", refusal.kind)
    txn:set_var("txn.code", refusal.code)
    txn:set_var("txn.why", refusal.message)
    return
  end
  if list.heavy then txn:set_var("txn.heavy", true) end
  -- An empty batch is a request, too.
  if body ~= "" then txn:set_var("txn.calls", math.max(1, #list)) end
  if list.is_batch or not list[1] then return end
  txn:set_var("txn.method", list[1].method)
  if list[1].method == "eth_getBlockByNumber" and list[1].first then txn:set_var("txn.block", list[1].first) end
end, 0)
