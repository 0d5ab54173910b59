"""What this machine has, what llama.cpp can use of it, what to do about the rest. Gathering and judging are apart."""
