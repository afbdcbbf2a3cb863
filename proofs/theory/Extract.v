(** The checker as a program in OCaml. Nothing is replaced by anything of OCaml but booleans, pairs, lists and options. *)

From Coq Require Import Extraction ExtrOcamlBasic.
From Tidelog Require Import Lines Soundness.

Extraction Language OCaml.
Set Extraction KeepSingleton.
Extraction "proved.ml" Whole Rational Soundness.
