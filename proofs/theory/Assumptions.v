(** The theorems rest on nothing: both timelines, with some constants and an operation that may have no value.

    [make] compares what is printed here with "Closed under the global context". *)

From Coq Require Import Bool List PArith Arith ZArith QArith Qcanon.
From Tidelog Require Import Lines Sets Totals Language Soundness.
Import ListNotations.
Local Open Scope nat_scope.

Module Numbers <: VALUES.
  Definition value := nat.
  Definition value_eqb := Nat.eqb.
  Lemma value_eqb_spec : forall a b, value_eqb a b = true <-> a = b.
  Proof. exact Nat.eqb_eq. Qed.
  Definition some_value := 0.
  Definition whole_number (n : value) : option Z := Some (Z.of_nat n).
  Definition told_whole (z : Z) : value := Z.to_nat z.
  Lemma told_whole_spec : forall x z, whole_number x = Some z -> told_whole z = x.
  Proof. intros x z H. inversion H. apply Nat2Z.id. Qed.
  Definition number (n : value) : option Qc := Some (Q2Qc (inject_Z (Z.of_nat n))).
  Definition rounded (q : Qc) : option value := if Qle_bool 0%Q q then Some (Z.to_nat (Qnum q / Zpos (Qden q))%Z) else None.
  Definition ordered := Nat.leb.
  Definition statistic := unit.
  Definition statistic_eqb (_ _ : statistic) := true.
  Lemma statistic_eqb_true : forall a b, statistic_eqb a b = true -> a = b.
  Proof. intros [] [] _. reflexivity. Qed.
  Definition is_statistic (_ : statistic) (l : list value) (x : value) : bool := existsb (Nat.eqb x) l.
  Definition operation := bool.
  Definition operation_eqb := Bool.eqb.
  Lemma operation_eqb_true : forall a b, operation_eqb a b = true -> a = b.
  Proof. exact eqb_prop. Qed.
  Definition apply (o : operation) (l : list value) : option value :=
    match l with [a; b] => if o then Some (a + b) else if Nat.eqb b 0 then None else Some (a / b) | _ => None end.
  Definition comparison := bool.
  Definition comparison_eqb := Bool.eqb.
  Lemma comparison_eqb_true : forall a b, comparison_eqb a b = true -> a = b.
  Proof. exact eqb_prop. Qed.
  Definition compares (c : comparison) := if c then Nat.eqb else Nat.leb.
  Definition is_equality (c : comparison) := c.
  Lemma is_equality_true : forall c a b, is_equality c = true -> compares c a b = true -> a = b.
  Proof. intros [] a b H; simpl; [apply Nat.eqb_eq | discriminate]. Qed.
End Numbers.

Module OnWhole := Soundness Whole Numbers.
Module OnRational := Soundness Rational Numbers.

Print Assumptions OnWhole.every_model.
Print Assumptions OnWhole.stable_model.
Print Assumptions OnWhole.missing.
Print Assumptions OnWhole.T.C.E.E.O.N.F.G.least_model_is_stable.
Print Assumptions OnRational.every_model.
Print Assumptions OnRational.stable_model.
Print Assumptions OnRational.missing.
Print Assumptions OnRational.T.C.E.E.O.N.F.G.least_model_is_stable.
