"""FedDdrl (Sensors 2023): value decomposition stops clients and sets local epochs."""
