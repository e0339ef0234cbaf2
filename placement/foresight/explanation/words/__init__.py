"""The words of explanations. `codes` has the sentence of each code, `sentences` composes them."""
