"""Stand-ins: generated images, asked for by name."""
