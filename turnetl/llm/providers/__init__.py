"""One adapter per provider: the request body it expects and the response body it returns."""
