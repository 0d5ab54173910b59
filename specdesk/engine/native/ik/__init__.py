"""ik_llama.cpp, a fork of llama.cpp with other kernels for processors, as the package ik-llama-cpp-python brings it."""
