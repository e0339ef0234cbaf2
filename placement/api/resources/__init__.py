"""The handlers of the API, by noun."""
