"""Buffers of the primitives: footprints, copies, lifetimes and translated dependences."""
