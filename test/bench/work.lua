-- The kinds of work for wrk: wrk ... URL -- WORK NOTES, where WORK may also be the path of a GET.
-- Ids and offsets are random among the NOTES existing notes. Prints the measurements as a line of JSON.
local headers = { ["content-type"] = "application/json", ["x-api-key"] = os.getenv("BENCH_KEY") }
wrk.headers["x-api-key"] = os.getenv("BENCH_KEY")
local text = "A body that is somewhat longer, as the bodies of notes tend to be."
local writes, work, notes = 0, "get", 1

local function written(method, path, body)
  return wrk.format(method, path, headers, '{"title":"A title of usual length","body":"' .. body .. '"}')
end

local works = {}
function works.get() return wrk.format("GET", "/notes/" .. math.random(1, notes)) end
function works.page() return wrk.format("GET", "/notes?offset=" .. math.random(0, notes - 20)) end
function works.post() return written("POST", "/notes", text) end
function works.put()
  -- The text changes: SQLite skips a write that changes nothing.
  writes = writes + 1
  return written("PUT", "/notes/" .. math.random(1, notes), text .. " " .. writes)
end
function works.mix() if math.random(1, 10) == 1 then return works.put() else return works.get() end end

function init(arguments)
  work, notes = arguments[1], tonumber(arguments[2])
  math.randomseed(os.time())
end

function request() return works[work] and works[work]() or wrk.format("GET", work) end

function done(summary, latency)
  local failures = {}
  for kind, count in pairs(summary.errors) do failures[#failures + 1] = string.format('"%s":%d', kind, count) end
  io.write(string.format('{"requests":%d,"seconds":%f,"failures":{%s},"p50":%f,"p99":%f}\n', summary.requests,
    summary.duration / 1e6, table.concat(failures, ","), latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
