"""What mod_wsgi loads: /etc/placement/placement.wsgi. It reads /etc/placement/placement.conf."""

from placement.wsgi.api import application  # noqa: F401
