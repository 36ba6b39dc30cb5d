-- GET of a random one of the preloaded notes.
request = function() return wrk.format("GET", "/notes/" .. math.random(1, 1000)) end
