"""What a mask selects while a function is walked: whole arrays under the mask, and all that is done with them."""
