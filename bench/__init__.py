"""Comparison with openstack-placement 16.0.0, on the same databases, in the same run."""
