"""FedDisk (IEEE TAI): density ratios weight the samples."""
