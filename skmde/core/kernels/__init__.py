"""Value and gradient of the average distortion: fused loops for the CPU, torch for the rest."""
