"""Commands for the program `openstack`: `pip install 'falcon-placement-client[openstack]'`."""
