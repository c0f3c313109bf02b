"""One adapter per provider: the request body that it expects, the response body that it returns."""
