"""Operations that fold dimensions away, order them or run along them."""
