"""Constrained answers: grammars over llama.cpp's engine, and JSON schemas as grammars."""
