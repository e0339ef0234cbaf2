"""The commands `openstack placement cloud`, for cloud files and comparisons."""

from falcon_placement_client.commands import clouds, comparison
from falcon_placement_client.osc.base import command_of

CompareClouds = command_of(comparison.Compare)
DumpCloud = command_of(clouds.DumpCloud)
LoadCloud = command_of(clouds.LoadCloud)
