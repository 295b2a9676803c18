"""Lists, tuples, dicts and what `for` runs over, while a function is walked: their items, or a buffer and a count."""
