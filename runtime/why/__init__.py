"""Why a fact holds, or does not: found backwards from the fact, when it is asked for."""
