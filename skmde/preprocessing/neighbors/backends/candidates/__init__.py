"""Sources of candidates for nearest neighbours on a device, one file each."""
