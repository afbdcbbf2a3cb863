"""Tests of rules (`tidelog test`, and as a plug-in of pytest): files of facts, and what has to be told of them."""
