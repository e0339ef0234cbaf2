"""The commands `openstack placement cloud`, for cloud files."""

from falcon_placement_client.commands import clouds
from falcon_placement_client.osc.base import command_of

DumpCloud = command_of(clouds.DumpCloud)
LoadCloud = command_of(clouds.LoadCloud)
