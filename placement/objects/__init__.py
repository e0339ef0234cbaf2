"""What the service knows of providers, inventories, consumers and allocations, and its rules."""
