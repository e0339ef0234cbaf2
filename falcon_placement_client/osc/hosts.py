"""The commands `openstack placement host` and `change watch`."""

from falcon_placement_client.commands import hosts, watch
from falcon_placement_client.osc.base import command_of

DrainCheck = command_of(hosts.DrainCheck)
ListHosts = command_of(hosts.ListHosts)
TaintHost = command_of(hosts.TaintHost)
UntaintHost = command_of(hosts.UntaintHost)
WatchChanges = command_of(watch.WatchChanges)
