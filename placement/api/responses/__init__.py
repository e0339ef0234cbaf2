"""The responses of the API: their members, each with its first version."""
