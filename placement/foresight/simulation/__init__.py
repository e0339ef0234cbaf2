"""Simulations: changes of hosts and moves of consumers, on copies of the trees in memory."""
