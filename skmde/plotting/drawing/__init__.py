"""Parts that the displays share: axes and themes, colours, views, points, texts."""
