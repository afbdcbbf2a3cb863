"""What a fact costs on its way: alone, in a batch, as a frame, through an engine, from text to text, with a state."""
