(** The checker as a program in OCaml. Nothing is replaced by anything of OCaml but booleans, pairs, lists and options. *)

From Coq Require Import Extraction ExtrOcamlBasic ZArith QArith.
From Tidelog Require Import Lines Soundness.

Extraction Language OCaml.
Set Extraction KeepSingleton.
(** The last four are for the driver: it reads numbers with them. *)
Extraction "proved.ml" Whole Rational Soundness Z.mul Z.div Qmult Qinv.
