"""What the native libraries have in common, and one module or room for each."""
