"""Reference semantics: scalar evaluation, memory, and the kernel interpreter."""
