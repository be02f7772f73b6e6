"""fedlib's learning servers as a Flower app: strategies, client app, server app, an in-process grid."""
