"""Commands of the program `openstack`: `pip install 'falcon-placement-client[openstack]'`."""
