"""Comparison with openstack-placement 16.0.0, on the same databases and in the same run."""
