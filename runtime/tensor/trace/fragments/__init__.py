"""Operations as small graphs: how they are made, kept, pulled back, and known at all sizes."""
