"""To JSON Schema 4.0 is an integer, to this service it is a float, and 422: bodies are sent with their integers as integers."""

import schemathesis


def with_integers(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [with_integers(each) for each in value]
    if isinstance(value, dict):
        return {name: with_integers(each) for name, each in value.items()}
    return value


@schemathesis.hook
def map_body(context, body):
    return with_integers(body)
