"""The operations of the API: bodies, parameters, responses and handlers of each noun."""
