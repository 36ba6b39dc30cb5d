-- The kinds of work for wrk: wrk ... URL -- WORK NOTES. Ids and offsets are random among the NOTES existing notes. Prints
-- the measurements as one line of JSON.
local headers = { ["content-type"] = "application/json" }
local text = "A body that is somewhat longer, as the bodies of notes tend to be."
local writes, work, notes = 0, "get", 1

local function get() return wrk.format("GET", "/notes/" .. math.random(1, notes)) end

local function post()
  return wrk.format("POST", "/notes", headers, '{"title":"A title of usual length","body":"' .. text .. '"}')
end

-- The text changes: SQLite skips a write that changes nothing.
local function put()
  writes = writes + 1
  local body = '{"title":"A title of usual length","body":"' .. text .. " " .. writes .. '"}'
  return wrk.format("PUT", "/notes/" .. math.random(1, notes), headers, body)
end

local works = {
  get = get,
  post = post,
  put = put,
  page = function() return wrk.format("GET", "/notes?offset=" .. math.random(0, notes - 20)) end,
  first = function() return wrk.format("GET", "/notes?offset=0") end,
  middle = function() return wrk.format("GET", "/notes?offset=" .. math.floor(notes / 2)) end,
  last = function() return wrk.format("GET", "/notes?offset=" .. notes - 20) end,
  comments_first = function() return wrk.format("GET", "/notes/1/comments?offset=0") end,
  comments_last = function() return wrk.format("GET", "/notes/1/comments?offset=" .. notes - 20) end,
  mix = function() if math.random(1, 10) == 1 then return put() else return get() end end,
}

function init(arguments)
  work, notes = arguments[1], tonumber(arguments[2])
  math.randomseed(os.time())
end

function request() return works[work]() end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('{"requests":%d,"seconds":%f,"failed":%d,"p50":%f,"p99":%f}\n', summary.requests,
    summary.duration / 1e6, failed, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
