-- A new note, durable.
wrk.method = "POST"
wrk.path = "/notes"
wrk.headers["content-type"] = "application/json"
wrk.body = '{"title":"A title of usual length","body":"A body that is somewhat longer, as the bodies of notes tend to be."}'
