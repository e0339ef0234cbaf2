"""The words of explanations. `codes` contains the sentence of each code, `text` composes them."""
