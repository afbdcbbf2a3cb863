"""Why a fact does not hold."""
