"""What shows results without a plotting library: facts as HTML, and thumbnails of embeddings."""
