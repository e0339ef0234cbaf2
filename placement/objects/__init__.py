"""The domain rules of providers, inventories, consumers and allocations."""
