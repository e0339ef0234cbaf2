"""The domain: providers, inventories, consumers and allocations, and their rules."""
