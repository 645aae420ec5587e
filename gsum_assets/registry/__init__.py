"""Everything that is declared, united: families of methods, steps, views and checks by name."""
