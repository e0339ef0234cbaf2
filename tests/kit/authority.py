"""Certificates for TLS, made with openssl."""

import subprocess
from pathlib import Path


class Authority:
    """An authority, and the certificates that it signs, as files of a directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self.certificate = directory / "ca.pem"
        self._key = directory / "ca.key"
        self._make("-subj", "/CN=authority", "-keyout", self._key, "-out", self.certificate)
        directory.chmod(0o755)

    def sign(self, name: str, extension: str) -> tuple[Path, Path]:
        """Create a certificate. Return it and its key."""
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        self._make(
            "-subj", f"/CN={name}", "-addext", extension, "-CA", self.certificate,
            "-CAkey", self._key, "-keyout", key, "-out", certificate,
        )  # fmt: skip
        key.chmod(0o644)  # the server runs as another user
        return certificate, key

    def _make(self, *arguments: str | Path) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        subprocess.run([*command, *arguments], check=True, capture_output=True)
