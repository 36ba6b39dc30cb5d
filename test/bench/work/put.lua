-- A random one of the preloaded notes replaced, durable. The text changes: SQLite skips a write that changes nothing.
local headers = { ["content-type"] = "application/json" }
local turn = 0
request = function()
  turn = turn + 1
  local body = '{"title":"A title of usual length","body":"A body that is somewhat longer, as bodies of notes are. ' .. turn .. '"}'
  return wrk.format("PUT", "/notes/" .. math.random(1, 1000), headers, body)
end
