"""HTTP to a provider: connections, one attempt per request, errors, limits that servers report."""
