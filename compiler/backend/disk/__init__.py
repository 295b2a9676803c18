"""Files for later processes: object code and facts go in under a key, and come out if nobody else wrote them."""
