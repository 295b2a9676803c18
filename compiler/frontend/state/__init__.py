"""What a function takes from outside of its arguments, and what it may not change there."""
