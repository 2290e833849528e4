"""Work that the processes of a ``torch.distributed`` group share."""
