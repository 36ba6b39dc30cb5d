-- A page of 20 at a random offset.
request = function() return wrk.format("GET", "/notes?offset=" .. math.random(0, 900)) end
