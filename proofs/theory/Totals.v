(** Constants, what is computed with them, and the functions of aggregates. *)

From Coq Require Import Bool List ZArith QArith Qcanon Permutation Lia.
From Tidelog Require Import Lines.
Import ListNotations.

(** Constants, and what is computed with them. The theory holds for all of them. *)
Module Type VALUES.
  Parameter value : Type.
  Parameter value_eqb : value -> value -> bool.
  Axiom value_eqb_spec : forall a b, value_eqb a b = true <-> a = b.
  Parameter some_value : value.
  (** The whole number that a constant is, if it is one; and the constant that it is. *)
  Parameter whole_number : value -> option Z.
  Parameter told_whole : Z -> value.
  Axiom told_whole_spec : forall x z, whole_number x = Some z -> told_whole z = x.
  (** The number that a constant is, if it is one; the constant that tells a number, which may be rounded; which of two
      constants comes first. *)
  Parameter number : value -> option Qc.
  Parameter rounded : Qc -> option value.
  Parameter ordered : value -> value -> bool.
  (** Whether something is the value of a further function of some constants, as a standard deviation. *)
  Parameter statistic : Type.
  Parameter statistic_eqb : statistic -> statistic -> bool.
  Axiom statistic_eqb_true : forall a b, statistic_eqb a b = true -> a = b.
  Parameter is_statistic : statistic -> list value -> value -> bool.
  (** Arithmetic: it may have no value, as `1/0`. *)
  Parameter operation : Type.
  Parameter operation_eqb : operation -> operation -> bool.
  Axiom operation_eqb_true : forall a b, operation_eqb a b = true -> a = b.
  Parameter apply : operation -> list value -> option value.
  Parameter comparison : Type.
  Parameter comparison_eqb : comparison -> comparison -> bool.
  Axiom comparison_eqb_true : forall a b, comparison_eqb a b = true -> a = b.
  Parameter compares : comparison -> value -> value -> bool.
  Parameter is_equality : comparison -> bool.
  Axiom is_equality_true : forall c a b, is_equality c = true -> compares c a b = true -> a = b.
End VALUES.

Module Totals (L : LINE) (V : VALUES).
  Import L V.

  Inductive function :=
  | Count | Distinct | Sum | Mean | Least | Greatest
  | Earliest (* the least value at the first time *)
  | Latest (* the greatest value at the last time *)
  | Other (o : statistic).

  (** More pairs can only make these true. *)
  Inductive threshold :=
  | AtLeast (n : nat)                          (* so many pairs *)
  | Differing (n : nat)                        (* so many values *)
  | Summed (c : comparison) (limit : value).   (* of what is not below 0 *)

  (** What an aggregate takes of each pair, and the pair's time. *)
  Definition measured := list (value * time).

  Definition is_number (x : value) : bool := match number x with Some _ => true | None => false end.
  (** Some functions pass over what is no number. *)
  Definition takes (fn : function) (x : value) : bool :=
    match fn with Sum | Mean | Other _ => is_number x | _ => true end.
  Definition takes_to (th : threshold) (x : value) : bool := match th with Summed _ _ => is_number x | _ => true end.

  Definition number_of (x : value) : Qc := match number x with Some q => q | None => 0%Qc end.
  Fixpoint sum_of (l : list value) : Qc := match l with [] => 0%Qc | x :: r => (number_of x + sum_of r)%Qc end.
  Definition size_of (n : nat) : Qc := Q2Qc (inject_Z (Z.of_nat n)).
  Definition is_in_values (l : list value) (x : value) : bool := existsb (value_eqb x) l.
  (** Each value once. *)
  Fixpoint different (l : list value) : list value :=
    match l with [] => [] | x :: r => if is_in_values r x then different r else x :: different r end.

  Definition is_count (n : nat) (x : value) : bool :=
    match whole_number x with Some z => Z.eqb z (Z.of_nat n) | None => false end.
  Definition is_value (y : option value) (x : value) : bool := match y with Some y => value_eqb y x | None => false end.
  Definition at_once (t u : time) : bool := mem t (before u, after u).
  Definition sooner (t u : time) : bool := behind (after t) u.

  (** Whether a value is that of a function. Of nothing there is none. *)
  Definition is_total (fn : function) (l : measured) (x : value) : bool :=
    match l with
    | [] => false
    | _ =>
      let all := map fst l in
      match fn with
      | Count => is_count (length all) x
      | Distinct => is_count (length (different all)) x
      | Sum => is_value (rounded (sum_of all)) x
      | Mean => is_value (rounded (sum_of all / size_of (length all))%Qc) x
      | Least => is_in_values all x && forallb (ordered x) all
      | Greatest => is_in_values all x && forallb (fun y => ordered y x) all
      | Earliest => existsb (fun p => value_eqb x (fst p) &&
          forallb (fun q => sooner (snd p) (snd q) || (at_once (snd p) (snd q) && ordered x (fst q))) l) l
      | Latest => existsb (fun p => value_eqb x (fst p) &&
          forallb (fun q => sooner (snd q) (snd p) || (at_once (snd p) (snd q) && ordered (fst q) x)) l) l
      | Other o => is_statistic o all x
      end
    end.

  (** Whether some pairs are enough. *)
  Definition enough (th : threshold) (l : list value) : bool :=
    match l with
    | [] => false
    | _ =>
      match th with
      | AtLeast n => Nat.leb n (length l)
      | Differing n => Nat.leb n (length (different l))
      | Summed c limit => match rounded (sum_of l) with Some x => compares c x limit | None => false end
      end
    end.

  (** ** The order does not matter *)
  Definition is_plain (fn : function) : bool := match fn with Other _ => false | _ => true end.

  Lemma is_in_values_spec : forall l x, is_in_values l x = true <-> In x l.
  Proof.
    intros l x. unfold is_in_values. rewrite existsb_exists. split.
    - intros [y [I E]]. apply value_eqb_spec in E. congruence.
    - intros I. exists x. split; auto. apply value_eqb_spec. auto.
  Qed.
  Lemma different_in : forall l x, In x (different l) <-> In x l.
  Proof.
    induction l as [|y l IH]; intros x; simpl; [tauto|]. destruct (is_in_values l y) eqn:E.
    - rewrite IH. apply is_in_values_spec in E. split; auto. intros [<-|I]; auto.
    - simpl. rewrite IH. tauto.
  Qed.
  Lemma different_once : forall l, NoDup (different l).
  Proof.
    induction l as [|y l IH]; simpl; [constructor|]. destruct (is_in_values l y) eqn:E; auto. constructor; auto.
    rewrite different_in. intros I. apply is_in_values_spec in I. congruence.
  Qed.
  Lemma different_incl : forall l l', incl l l' -> (length (different l) <= length (different l'))%nat.
  Proof.
    intros l l' H. apply NoDup_incl_length; [apply different_once|]. intros x I. apply different_in. apply H, different_in; auto.
  Qed.

  Lemma sum_permuted : forall l l', Permutation l l' -> sum_of l = sum_of l'.
  Proof. induction 1; simpl; try congruence. ring. Qed.
  Lemma forallb_permuted : forall A (g h : A -> bool) l l', Permutation l l' -> (forall x, g x = h x) -> forallb g l = forallb h l'.
  Proof.
    intros A g h l l' P E. apply eq_true_iff_eq. rewrite !forallb_forall. split; intros H x I.
    - rewrite <- E. apply H. eapply Permutation_in; [apply Permutation_sym|]; eauto.
    - rewrite E. apply H. eapply Permutation_in; eauto.
  Qed.
  Lemma existsb_permuted : forall A (g h : A -> bool) l l', Permutation l l' -> (forall x, g x = h x) -> existsb g l = existsb h l'.
  Proof.
    intros A g h l l' P E. apply eq_true_iff_eq. rewrite !existsb_exists. split; intros [x [I H]]; exists x; split.
    - eapply Permutation_in; eauto.
    - rewrite <- E. auto.
    - eapply Permutation_in; [apply Permutation_sym|]; eauto.
    - rewrite E. auto.
  Qed.

  Lemma is_total_permuted : forall fn l l' x, is_plain fn = true -> Permutation l l' -> is_total fn l x = is_total fn l' x.
  Proof.
    intros fn l l' x Pl P. unfold is_total.
    destruct l as [|a l]; [apply Permutation_nil in P; subst; auto|].
    destruct l' as [|b l']; [apply Permutation_sym, Permutation_nil in P; discriminate|].
    assert (M : Permutation (map fst (a :: l)) (map fst (b :: l'))) by (apply Permutation_map; auto).
    destruct fn; cbv zeta; try discriminate.
    - rewrite (Permutation_length M). auto.
    - f_equal. apply Nat.le_antisymm; apply different_incl; intros y I;
        (eapply Permutation_in; [|exact I]); auto. apply Permutation_sym; auto.
    - rewrite (sum_permuted _ _ M). auto.
    - rewrite (sum_permuted _ _ M), (Permutation_length M). auto.
    - unfold is_in_values. rewrite (existsb_permuted _ _ (value_eqb x) _ _ M), (forallb_permuted _ _ (ordered x) _ _ M); auto.
    - unfold is_in_values.
      rewrite (existsb_permuted _ _ (value_eqb x) _ _ M), (forallb_permuted _ _ (fun y => ordered y x) _ _ M); auto.
    - apply existsb_permuted; auto. intros p. f_equal. apply forallb_permuted; auto.
    - apply existsb_permuted; auto. intros p. f_equal. apply forallb_permuted; auto.
  Qed.

  (** What may be enough, if there may be no more than this. *)
  Definition may_be_enough (th : threshold) (l : list value) : bool :=
    match th with Summed _ _ => match l with [] => false | _ => true end | _ => enough th l end.

  Lemma enough_grows : forall th l l', (length l <= length l')%nat -> incl l l' -> enough th l = true -> may_be_enough th l' = true.
  Proof.
    intros th l l' Le I E. destruct l as [|a l]; [discriminate|].
    destruct l' as [|b l']; [simpl in Le; lia|]. destruct th; unfold enough in E; unfold may_be_enough, enough; auto.
    - apply Nat.leb_le in E. apply Nat.leb_le. lia.
    - apply Nat.leb_le in E. apply Nat.leb_le. pose proof (different_incl _ _ I). lia.
  Qed.
End Totals.
