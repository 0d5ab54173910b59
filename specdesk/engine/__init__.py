"""The native half: llama.cpp behind the core's LanguageModel protocol, and conversations over a pair of models.

Only `client` is for other rooms.
"""
