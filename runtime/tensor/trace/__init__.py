"""Recording: operations are noted on a tape, and a trace of them is run op by op or compiled."""
