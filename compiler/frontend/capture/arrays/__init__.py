"""Arrays while a function is walked: subscripts and views go in, parts that are read and stores come out."""
