"""Machine instructions, each declared by the loop nest that it computes."""
