"""What speculation brings on the user's own machine, measured against plain decoding."""
