"""The responses of the API, which declare the first version of each member."""
