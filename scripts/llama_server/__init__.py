"""llama.cpp's own server beside specdesk: built, run and asked, for scripts/compare_llama_server.py."""
