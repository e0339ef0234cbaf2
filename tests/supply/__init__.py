"""What the service is made of besides its own code: hashes, licences, known vulnerabilities."""
