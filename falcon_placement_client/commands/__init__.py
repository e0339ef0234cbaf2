"""Commands over REST, for `openstack` and for `placement-manage`, which has its own commands, too.

A class describes each command. Its function `set_up` adds the arguments of the command to an
argparse parser, and sets `action`: a function that takes the configuration of the service, whose
attribute `category` has the arguments, and returns the exit code. The service finds these functions
as entry points and imports nothing of this package by name. The modules need the extra `commands`.
"""
