"""LLVM text: instructions, casts and values as they are spelled, and a writer that puts them where they belong."""
