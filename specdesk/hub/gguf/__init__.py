"""What GGUF files say of themselves, without llama.cpp."""
