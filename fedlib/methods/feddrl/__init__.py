"""FedDRL (ICPP 2022): DDPG chooses the aggregation weights."""
