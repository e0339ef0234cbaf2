"""The dependencies of the service: hashes, licences, known vulnerabilities."""
