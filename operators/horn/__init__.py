"""Ground Horn theories over discrete time: what a program and its facts say, without variables and metric operators."""
