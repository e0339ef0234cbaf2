"""The other side of the REST API: what compute agents, schedulers and operators' tools do with it.

Of the rest of the package only words and limits of the API are known here.
"""
