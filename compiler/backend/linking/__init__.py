"""From object files to addresses: code is put in memory, linked with what it calls, and taken away."""
