(** Aggregates: which pairs are in a window, as far as it is known, and what follows for their values. *)

From Coq Require Import Bool List PArith Permutation.
From Tidelog Require Import Lines Sets Totals Language Matching.
Import ListNotations.

Module Counting (L : LINE) (V : VALUES).
  Module Export F := Matching L V.
  Import L V.

  Fixpoint list_eqb {A} (f : A -> A -> bool) (a b : list A) : bool :=
    match a, b with [], [] => true | x :: a, y :: b => f x y && list_eqb f a b | _, _ => false end.
  Lemma list_eqb_true : forall A (f : A -> A -> bool), (forall a b, f a b = true -> a = b) ->
    forall a b, list_eqb f a b = true -> a = b.
  Proof.
    induction a as [|x a IH]; intros [|y b] E; simpl in E; try discriminate; auto.
    apply andb_true_iff in E as [E1 E2]. f_equal; auto.
  Qed.

  (** ** Spots: pairs that may be counted somewhere, and whether they surely are there *)
  Definition spot : Type := pair * bool.

  Definition pair_eqb (p q : pair) : bool := list_eqb value_eqb (fst p) (fst q) && at_once (snd p) (snd q).
  Fixpoint once (l : list spot) : list spot :=
    match l with
    | [] => []
    | x :: r => if existsb (fun y => pair_eqb (fst x) (fst y)) r then once r else x :: once r
    end.
  Fixpoint row_in (e : environment) (own : list variable) : option row :=
    match own with
    | [] => Some []
    | x :: r => bind (lookup e x) (fun a => bind (row_in e r) (fun l => Some (a :: l)))
    end.
  Fixpoint all_points (s : times) : option (list time) :=
    match s with
    | [] => Some []
    | x :: r => bind (points x) (fun l => bind (all_points r) (fun m => Some (l ++ m)))
    end.
  (** Those of some values for the variables: times at which what is counted may hold, marked by whether it surely does. *)
  Definition spots_of (own : list variable) (e : environment) (sure may : times) : option (list spot) :=
    bind (row_in e own) (fun r => bind (all_points may) (fun l => Some (map (fun u => ((r, u), holds sure u)) l))).
  Fixpoint all_spots (own : list variable) (sure may : environment -> times) (es : list environment) : option (list spot) :=
    match es with
    | [] => Some []
    | e :: r => bind (spots_of own e (sure e) (may e)) (fun l => bind (all_spots own sure may r) (fun m => Some (l ++ m)))
    end.

  (** ** Pieces of time, within which no window gains or loses a spot *)
  Definition seen_from (r : stretch) (s : spot) : stretch := around Future (snd (fst s)) r.
  Definition sees (a p : stretch) : bool := leb (fst a) (fst p) && leb (snd p) (snd a).
  Definition misses (a p : stretch) : bool := leb (snd p) (fst a) || leb (snd a) (fst p).
  Fixpoint place (c : cut) (l : list cut) : list cut :=
    match l with
    | [] => [c]
    | x :: r => if cut_eqb c x then l else if leb c x then c :: l else x :: place c r
    end.
  Fixpoint between (l : list cut) : list stretch :=
    match l with a :: (b :: _) as r => (a, b) :: between r | _ => [] end.
  (** That they are all of [z] is looked at where it matters. *)
  Definition pieces (z : stretch) (cs : list cut) : list stretch :=
    let inner := filter (fun c => negb (leb c (fst z)) && negb (leb (snd z) c)) cs in
    between (fst z :: fold_right place [] inner ++ [snd z]).
  Definition inside (z p : stretch) : bool := leb (fst z) (fst p) && leb (snd p) (snd z).
  Definition ends_of (r : stretch) (l : list spot) : list cut :=
    flat_map (fun s => [fst (seen_from r s); snd (seen_from r s)]) l.

  (** For each piece in which it is known what is counted: all that is. *)
  Definition settled_in (r : stretch) (z : stretch) (l : list spot) : list (stretch * list pair) :=
    flat_map (fun p =>
      if inside z p && forallb (fun s => misses (seen_from r s) p || (sees (seen_from r s) p && snd s)) l
      then [(p, map fst (filter (fun s => sees (seen_from r s) p) l))] else []) (pieces z (ends_of r l)).
  (** For each piece: all that may be counted at one of its times. *)
  Definition met_in (r : stretch) (z : stretch) (l : list spot) : list (stretch * list pair) :=
    flat_map (fun p => if inside z p then [(p, map fst (filter (fun s => negb (misses (seen_from r s) p)) l))] else [])
      (pieces z (ends_of r l)).
  (** For each piece: what surely is counted at all of its times. *)
  Definition found_in (r : stretch) (l : list spot) : list (stretch * list pair) :=
    map (fun p => (p, map fst (filter (fun s => sees (seen_from r s) p && snd s) l))) (pieces (first, last) (ends_of r l)).

  (** ** What an aggregate takes of pairs, as far as it is known *)
  Fixpoint taken_of (taken : value -> bool) (own : list variable) (x : term) (e : environment) (l : list pair)
      : option measured :=
    match l with
    | [] => Some []
    | p :: l =>
        match peval (combine own (fst p) ++ e) x, taken_of taken own x e l with
        | Any, _ | _, None => None
        | Undefined, Some m => Some m
        | Value a, Some m => Some (if taken a then (a, snd p) :: m else m)
        end
    end.

  (** ** Proofs *)
  Lemma at_once_true : forall t u, at_once t u = true <-> t = u.
  Proof. exact mem_point. Qed.
  Lemma pair_eqb_true : forall p q, pair_eqb p q = true -> p = q.
  Proof.
    intros [a t] [b u] H. unfold pair_eqb in H. simpl in H. apply andb_true_iff in H as [H1 H2].
    apply (list_eqb_true _ _ (fun a b => proj1 (value_eqb_spec a b))) in H1. apply at_once_true in H2. congruence.
  Qed.
  Lemma pair_eqb_refl : forall p, pair_eqb p p = true.
  Proof.
    intros [a t]. unfold pair_eqb; simpl. apply andb_true_iff. split; [|apply at_once_true; auto].
    induction a as [|x a IH]; simpl; auto. rewrite value_eqb_refl. auto.
  Qed.
  Lemma once_in : forall l s, In s (once l) -> In s l.
  Proof.
    induction l as [|x l IH]; intros s I; simpl in *; auto. destruct (existsb (fun y => pair_eqb (fst x) (fst y)) l); auto. destruct I as [->|I]; auto.
  Qed.
  Lemma once_keeps : forall l s, In s l -> exists s', In s' (once l) /\ fst s' = fst s.
  Proof.
    induction l as [|x l IH]; intros s I; [contradiction|]. simpl. destruct (existsb (fun y => pair_eqb (fst x) (fst y)) l) eqn:E.
    - destruct I as [->|I]; auto. apply existsb_exists in E as [y [Iy E]]. apply pair_eqb_true in E.
      destruct (IH y Iy) as [s' [I' E']]. exists s'. split; auto. congruence.
    - destruct I as [->|I]; [exists s; simpl; auto|]. destruct (IH s I) as [s' [I' E']]. exists s'. simpl; auto.
  Qed.
  Lemma once_once : forall l, NoDup (map fst (once l)).
  Proof.
    induction l as [|x l IH]; simpl; [constructor|]. destruct (existsb (fun y => pair_eqb (fst x) (fst y)) l) eqn:E; auto. simpl. constructor; auto.
    intros I. apply in_map_iff in I as [y [Ey I]]. apply once_in in I.
    assert (X : existsb (fun y => pair_eqb (fst x) (fst y)) l = true).
    { apply existsb_exists. exists y. split; auto. rewrite Ey. apply pair_eqb_refl. }
    congruence.
  Qed.
  Lemma filter_once : forall (g : spot -> bool) l, NoDup (map fst l) -> NoDup (map fst (filter g l)).
  Proof.
    intros g. induction l as [|x l IH]; simpl; intros H; [constructor|]. inversion H as [|? ? N U]; subst.
    destruct (g x); simpl; auto. constructor; auto. intros I. apply N. apply in_map_iff in I as [y [E I]].
    apply filter_In in I as [I _]. apply in_map_iff. exists y; auto.
  Qed.

  Lemma all_points_spec : forall s l t, all_points s = Some l -> (In t l <-> holds s t = true).
  Proof.
    induction s as [|x s IH]; intros l t H; simpl in H.
    - inversion H; subst. simpl. split; [contradiction | discriminate].
    - destruct (points x) as [a|] eqn:P; [|discriminate]. simpl in H. destruct (all_points s) as [b|]; [|discriminate].
      simpl in H. inversion H; subst. rewrite in_app_iff. simpl. rewrite orb_true_iff, (points_spec x a t P), (IH b t eq_refl).
      reflexivity.
  Qed.

  Lemma value_in_spec : forall own r x, value_in own r x = lookup (combine own r) x.
  Proof. induction own as [|y own IH]; intros [|a r] x; simpl; auto. destruct (Pos.eqb x y); auto. Qed.
  Lemma value_in_own : forall own r x a, value_in own r x = Some a -> In x own.
  Proof.
    induction own as [|y own IH]; intros [|b r] x a H; simpl in H; try discriminate.
    destruct (Pos.eqb_spec x y); [left; auto | right; eapply IH; eauto].
  Qed.
  Lemma with_row_but : forall own r v, same_but own v (with_row own r v).
  Proof.
    intros own r v x N. unfold with_row. destruct (value_in own r x) eqn:E; auto. apply value_in_own in E. contradiction.
  Qed.
  Lemma row_in_value : forall own e r x, row_in e own = Some r -> In x own -> value_in own r x = lookup e x.
  Proof.
    induction own as [|y own IH]; intros e r x H I; [contradiction|]. simpl in H.
    destruct (lookup e y) as [a|] eqn:Ea; [|discriminate]. simpl in H. destruct (row_in e own) as [l|] eqn:R; [|discriminate].
    simpl in H. inversion H; subst. simpl. destruct (Pos.eqb_spec x y) as [->|N]; auto.
    destruct I as [->|I]; [contradiction|]. apply (IH e l x R I).
  Qed.
  Lemma row_in_lookup : forall own e r x, row_in e own = Some r -> In x own -> exists a, lookup e x = Some a.
  Proof.
    induction own as [|y own IH]; intros e r x H I; [contradiction|]. simpl in H.
    destruct (lookup e y) as [a|] eqn:Ea; [|discriminate]. simpl in H. destruct (row_in e own) as [l|] eqn:R; [|discriminate].
    destruct I as [<-|I]; eauto.
  Qed.
  Lemma row_in_map : forall own e r (w : valuation), row_in e own = Some r ->
    (forall x a, In x own -> lookup e x = Some a -> w x = a) -> map w own = r.
  Proof.
    induction own as [|y own IH]; intros e r w H A; simpl in H.
    - inversion H; auto.
    - destruct (lookup e y) as [a|] eqn:Ea; [|discriminate]. simpl in H. destruct (row_in e own) as [l|] eqn:R; [|discriminate].
      simpl in H. inversion H; subst. simpl. f_equal; [apply (A y a); simpl; auto|].
      apply (IH e l w R). intros x b I L. apply (A x b); simpl; auto.
  Qed.
  Lemma with_row_map : forall own e r v, row_in e own = Some r -> map (with_row own r v) own = r.
  Proof.
    intros own e r v R. apply (row_in_map own e r _ R). intros x a I L. unfold with_row.
    rewrite (row_in_value own e r x R I), L. auto.
  Qed.
  (** Values for the group and for a row are values for all. *)
  Lemma row_agrees : forall own e r v, row_in e own = Some r ->
    (forall x a, lookup e x = Some a -> ~ In x own -> v x = a) -> agrees e (with_row own r v).
  Proof.
    intros own e r v R A x a L. unfold with_row. destruct (value_in own r x) as [b|] eqn:E.
    - pose proof (value_in_own _ _ _ _ E) as I. rewrite (row_in_value own e r x R I) in E. congruence.
    - apply A; auto. intros I. rewrite (row_in_value own e r x R I) in E. congruence.
  Qed.

  Lemma all_spots_in : forall own sure may es l p b, all_spots own sure may es = Some l -> In (p, b) l ->
    exists e, In e es /\ row_in e own = Some (fst p) /\ b = holds (sure e) (snd p) /\ holds (may e) (snd p) = true.
  Proof.
    induction es as [|e es IH]; intros l p b H I; simpl in H.
    - inversion H; subst. contradiction.
    - destruct (spots_of own e (sure e) (may e)) as [a|] eqn:S; [|discriminate]. simpl in H.
      destruct (all_spots own sure may es) as [m|]; [|discriminate]. simpl in H. inversion H; subst.
      apply in_app_or in I as [I|I].
      + unfold spots_of in S. destruct (row_in e own) as [r|] eqn:R; [|discriminate]. simpl in S.
        destruct (all_points (may e)) as [ts|] eqn:P; [|discriminate]. simpl in S. inversion S; subst.
        apply in_map_iff in I as [u [E Iu]]. inversion E; subst. exists e. simpl. repeat split; auto.
        apply (all_points_spec _ _ _ P). auto.
      + destruct (IH m p b eq_refl I) as [x [Ix H']]. exists x. simpl; auto.
  Qed.
  Lemma all_spots_all : forall own sure may es l e, all_spots own sure may es = Some l -> In e es ->
    exists r, row_in e own = Some r /\ forall u, holds (may e) u = true -> exists b, In ((r, u), b) l.
  Proof.
    induction es as [|x es IH]; intros l e H I; [contradiction|]. simpl in H.
    destruct (spots_of own x (sure x) (may x)) as [a|] eqn:S; [|discriminate]. simpl in H.
    destruct (all_spots own sure may es) as [m|]; [|discriminate]. simpl in H. inversion H; subst. destruct I as [<-|I].
    - unfold spots_of in S. destruct (row_in x own) as [r|] eqn:R; [|discriminate]. simpl in S.
      destruct (all_points (may x)) as [ts|] eqn:P; [|discriminate]. simpl in S. inversion S; subst.
      exists r. split; auto. intros u Hu. exists (holds (sure x) u). apply in_or_app. left. apply in_map_iff.
      exists u. split; auto. apply (all_points_spec _ _ _ P). auto.
    - destruct (IH m e eq_refl I) as [r [R A]]. exists r. split; auto. intros u Hu. destruct (A u Hu) as [b B].
      exists b. apply in_or_app. auto.
  Qed.

  Lemma seen_spec : forall r s t, mem t (seen_from r s) = mem (dist Past t (snd (fst s))) r.
  Proof. intros r [[a u] b] t. unfold seen_from; simpl. rewrite mem_around. reflexivity. Qed.
  Lemma sees_mem : forall a p t, sees a p = true -> mem t p = true -> mem t a = true.
  Proof.
    intros [a b] [c d] t S M. unfold sees in S; simpl in S. apply andb_true_iff in S as [S1 S2].
    apply mem_split in M as [M1 M2]. apply mem_split. split; [apply (behind_mono _ _ _ S1); auto|].
    destruct (behind b t) eqn:B; auto. rewrite (behind_mono _ _ _ S2 B) in M2. discriminate.
  Qed.
  Lemma misses_mem : forall a p t, misses a p = true -> mem t p = true -> mem t a = false.
  Proof.
    intros [a b] [c d] t S M. unfold misses in S; simpl in S. apply mem_split in M as [M1 M2].
    destruct (mem t (a, b)) eqn:E; auto. apply mem_split in E as [E1 E2]. apply orb_true_iff in S as [S|S].
    - rewrite (behind_mono _ _ _ S E1) in M2. discriminate.
    - rewrite (behind_mono _ _ _ S M1) in E2. discriminate.
  Qed.

  Lemma taken_of_spec : forall taken own x e v l m, agrees e v -> (forall y a, lookup e y = Some a -> ~ In y own) ->
    taken_of taken own x e l = Some m -> m = measure taken own x v l.
  Proof.
    intros taken own x e v l. induction l as [|p l IH]; intros m A Fr H; simpl in H.
    - inversion H; auto.
    - assert (Ap : agrees (combine own (fst p) ++ e) (with_row own (fst p) v)).
      { intros y a Ly. unfold with_row. rewrite value_in_spec.
        assert (App : forall c, lookup (c ++ e) y = match lookup c y with Some a => Some a | None => lookup e y end).
        { induction c as [|[z b] c IHc]; simpl; auto. destruct (Pos.eqb y z); auto. }
        rewrite App in Ly. destruct (lookup (combine own (fst p)) y); [congruence | apply A; auto]. }
      pose proof (peval_spec x _ _ Ap) as Pe. simpl.
      destruct (peval (combine own (fst p) ++ e) x) as [| |a]; [discriminate| |];
        (destruct (taken_of taken own x e l) as [n|]; [|discriminate]); rewrite Pe; inversion H; subst; clear H.
      + apply IH; auto.
      + rewrite <- (IH n A Fr eq_refl). destruct (taken a); auto.
  Qed.

  Lemma measure_permuted : forall taken own x v l l', Permutation l l' -> Permutation (measure taken own x v l) (measure taken own x v l').
  Proof. intros. unfold measure. apply Permutation_flat_map. auto. Qed.
  Lemma measure_incl : forall taken own x v l l', incl l l' -> incl (measure taken own x v l) (measure taken own x v l').
  Proof.
    intros taken own x v l l' I y H. unfold measure in *. apply in_flat_map in H as [p [Ip H]]. apply in_flat_map. exists p. auto.
  Qed.
  Lemma measure_length : forall taken own x v l l', NoDup l -> incl l l' ->
    length (measure taken own x v l) <= length (measure taken own x v l').
  Proof.
    intros taken own x v l l' U I.
    set (g := fun p : pair => match eval (with_row own (fst p) v) x with Some a => taken a | None => false end).
    assert (E : forall l, length (measure taken own x v l) = length (filter g l)).
    { clear. induction l as [|p l IH]; simpl; auto. unfold g at 1. rewrite app_length, IH.
      destruct (eval (with_row own (fst p) v) x) as [a|]; auto. destruct (taken a); auto. }
    rewrite !E. apply NoDup_incl_length; [apply NoDup_filter; auto|].
    intros p J. apply filter_In in J as [J G]. apply filter_In. auto.
  Qed.
End Counting.
