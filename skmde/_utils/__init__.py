"""What every layer may use and what knows no embedding: threads, devices, input checks."""
