"""Sessions: the engine for embedding, whole or as one stage."""
