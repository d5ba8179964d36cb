"""What Python sources and their tests say, read by `ast`. Nothing of them is ever imported or executed."""
