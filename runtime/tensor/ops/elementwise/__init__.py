"""Operations element by element."""
