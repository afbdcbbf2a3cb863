(** Values for variables that an aggregate gives: those of its groups, and its own. *)

From Coq Require Import Bool List PArith ZArith QArith Qcanon Permutation.
From Tidelog Require Import Lines Sets Totals Language Matching Counting Formulas Evaluation.
Import ListNotations.

Module Groups (L : LINE) (V : VALUES).
  Module Export E := Evaluation L V.
  Import L V.

  (** Aggregates that have to be so where a formula holds. *)
  Fixpoint totals_in (f : formula) : list formula :=
    match f with
    | And f g => totals_in f ++ totals_in g
    | Diamond _ _ f | Stepped _ f => totals_in f
    | Box _ r f => if is_empty r then [] else totals_in f
    | Lasts _ _ _ g => totals_in g
    | Total _ _ _ _ _ _ | Enough _ _ _ _ _ => [f]
    | _ => []
    end.

  Definition environment_eqb : environment -> environment -> bool :=
    list_eqb (fun a b => Pos.eqb (fst a) (fst b) && value_eqb (snd a) (snd b)).
  Fixpoint each_once (l : list environment) : list environment :=
    match l with [] => [] | e :: r => if existsb (environment_eqb e) r then each_once r else e :: each_once r end.
  (** Values for the variables of a group: where nothing of it holds, there is no aggregate of it. *)
  Definition grouped (k : knowledge) (m : mode) (own : list variable) (r : stretch) (f : formula) (e : environment)
      : list environment :=
    if (looks_back f && leb zero (fst r)) || leb last (horizon k) then
      each_once (map (fun c => forget own c ++ filter (fun b => is_own own (fst b)) e) (candidates (rows k m) f (forget own e)))
    else [e].

  (** The values that a function may have of some pairs. *)
  Definition guessed (fn : function) (l : measured) : list value :=
    let all := map fst l in
    let one := fun x => match x with Some x => [x] | None => [] end in
    match fn with
    | Count => [told_whole (Z.of_nat (length all))]
    | Distinct => [told_whole (Z.of_nat (length (different all)))]
    | Sum => one (rounded (sum_of all))
    | Mean => one (rounded (sum_of all / size_of (length all))%Qc)
    | Other o => one (statistic_of o all)
    | _ => all
    end.
  Fixpoint all_guessed (fn : function) (own : list variable) (x : term) (e : environment) (st : list (stretch * list pair))
      : option (list value) :=
    match st with
    | [] => Some []
    | s :: r => bind (taken_of (takes fn) own x e (snd s)) (fun l =>
        bind (all_guessed fn own x e r) (fun m => Some (guessed fn l ++ m)))
    end.
  Definition valued (k : knowledge) (own : list variable) (r : stretch) (fn : function) (x result : term) (f : formula)
      (e : environment) : list environment :=
    match result, peval e result with
    | Var y, Any =>
        let e' := forget own e in
        let st := settled k own r f (fun e => truth k Surely e f) (fun e => truth k MaybeThere e f) e' (first, horizon k) in
        if within [(first, horizon k)] (normal (map fst st)) then
          match all_guessed fn own x e' st with Some l => map (fun a => (y, a) :: e) (different l) | None => [e] end
        else [e]
    | _, _ => [e]
    end.
  Definition by_total (k : knowledge) (m : mode) (f : formula) (e : environment) : list environment :=
    match f with
    | Total own r fn x result f => flat_map (valued k own r fn x result f) (grouped k MaybeThere own r f e)
    | Enough own r _ _ f => grouped k m own r f e
    | _ => [e]
    end.
  (** All values that may make a formula hold; those that aggregates give may solve further equations. *)
  Definition expanded (k : knowledge) (m : mode) (f : formula) (e : environment) : list environment :=
    let es := candidates (rows k m) f e in
    match totals_in f with
    | [] => es
    | ts => flat_map (candidates (rows k m) f) (fold_left (fun es g => flat_map (by_total k m g) es) ts es)
    end.
  (** Where a formula holds with some values. *)
  Definition anywhere (k : knowledge) (m : mode) (f : formula) : times :=
    if is_surely m then any_of (fun e => truth k m e f) (wished (rows k m) f (expanded k m f []))
    else if looks_back f || leb last (horizon k) then any_of (fun e => truth k m e f) (expanded k m f []) ++ beyond k
    else truth k m [] f.

  (** ** Proofs *)
  Lemma totals_met : forall m k P N, m <> Surely -> valid k P N ->
    forall f v t, (looks_back f = true \/ forall u, behind (horizon k) u = false) -> behind (horizon k) t = false ->
    sat (reads m P N) N v f t -> forall g, In g (totals_in f) ->
    exists u, behind (horizon k) u = false /\ sat (reads m P N) N v g u.
  Proof.
    intros m k P N Hm Va.
    induction f; intros v t B H Sa g I; cbn [totals_in] in I; try contradiction.
    - destruct (both_back k f1 f2 B) as [B1 B2].
      destruct Sa as [S1 S2]. apply in_app_or in I as [I|I]; [eapply IHf1 | eapply IHf2]; eauto.
    - destruct Sa as [t' [M Sa]].
      destruct (one_back k d r f t t' M H B) as [B' H']. eapply IHf; try apply Sa; auto.
    - destruct (is_empty r) eqn:E; [contradiction|]. destruct (box_time d r t E) as [t' M].
      specialize (Sa t' M).
      destruct (one_back k d r f t t' M H B) as [B' H']. eapply IHf; try apply Sa; auto.
    - apply (IHf v (snap n t)); auto.
      destruct (behind (horizon k) (snap n t)) eqn:E; auto. rewrite (snap_back _ _ _ E) in H. discriminate.
    - destruct Sa as [t' [M [Sa _]]].
      destruct (one_back k d r f2 t t' M H (right_back k d r f1 f2 B)) as [B' H'].
      eapply IHf2; try apply Sa; auto.
    - destruct I as [<-|[]]. exists t. auto.
    - destruct I as [<-|[]]. exists t. auto.
  Qed.

  Lemma environment_eqb_true : forall a b, environment_eqb a b = true -> a = b.
  Proof.
    apply list_eqb_true. intros [x a] [y b] H. simpl in H. apply andb_true_iff in H as [H1 H2].
    apply Pos.eqb_eq in H1. apply value_eqb_spec in H2. congruence.
  Qed.
  Lemma each_once_keeps : forall l e, In e l -> In e (each_once l).
  Proof.
    induction l as [|x l IH]; intros e I; simpl; auto. destruct (existsb (environment_eqb x) l) eqn:E.
    - destruct I as [<-|I]; auto. apply existsb_exists in E as [y [Iy E]]. apply environment_eqb_true in E. subst. auto.
    - destruct I as [<-|I]; simpl; auto.
  Qed.

  Lemma lookup_app : forall a b x, lookup (a ++ b) x = match lookup a x with Some v => Some v | None => lookup b x end.
  Proof. induction a as [|[y v] a IH]; intros b x; simpl; auto. destruct (Pos.eqb x y); auto. Qed.
  Lemma lookup_filter : forall (g : variable -> bool) e x a, lookup (filter (fun b => g (fst b)) e) x = Some a ->
    lookup e x = Some a.
  Proof.
    induction e as [|[y b] e IH]; intros x a H; simpl in *; [discriminate|]. destruct (g y) eqn:G; simpl in H.
    - destruct (Pos.eqb x y); auto.
    - destruct (Pos.eqb_spec x y) as [->|]; auto. exfalso. clear IH. induction e as [|[z c] e IH]; simpl in H; [discriminate|].
      destruct (g z) eqn:Gz; simpl in H; auto. destruct (Pos.eqb_spec y z); [congruence | auto].
  Qed.

  (** A pair that is counted shows which group it is of. *)
  Lemma grouped_complete : forall k P N m own r f e v t p, valid k P N -> m <> Surely -> agrees e v ->
    behind (horizon k) t = false -> counted (fun w u => sat (reads m P N) N w f u) own r v t p ->
    exists e', In e' (grouped k m own r f e) /\ agrees e' v.
  Proof.
    intros k P N m own r f e v t p Va Hm A B [_ [Mr Sa]]. unfold grouped.
    destruct ((looks_back f && leb zero (fst r)) || leb last (horizon k)) eqn:Ok; [|exists e; split; [left; auto | auto]].
    set (w := with_row own (fst p) v) in *.
    assert (Aw : agrees (forget own e) w) by (eapply forget_agrees; [exact A | apply with_row_but]).
    destruct (candidates_complete (rows k m) f (forget own e) w Aw) as [c [Ic Ac]].
    { apply orb_true_iff in Ok as [Ok|Ok].
      - apply andb_true_iff in Ok as [Lb Zr]. apply (requirements_met m k P N Hm Va f w (snd p)); auto.
        destruct (behind (horizon k) (snd p)) eqn:Bp; auto. rewrite (forward r t (snd p) _ Zr Mr Bp) in B. discriminate.
      - apply (requirements_met m k P N Hm Va f w (snd p)); auto; [right; intros u|]; apply last_never; auto. }
    exists (forget own c ++ filter (fun b => is_own own (fst b)) e). split.
    - apply each_once_keeps. apply (in_map (fun c => forget own c ++ filter (fun b => is_own own (fst b)) e)). exact Ic.
    - intros x a H. rewrite lookup_app in H. destruct (lookup (forget own c) x) as [b|] eqn:L.
      + inversion H; subst. apply lookup_forget in L as [N' L]. rewrite (with_row_but own (fst p) v x N'). apply Ac; auto.
      + apply A. exact (lookup_filter (is_own own) e x a H).
  Qed.

  Lemma guessed_all : forall fn l a, is_total fn l a = true -> In a (guessed fn l).
  Proof.
    intros fn l a H. destruct l as [|y l]; [discriminate|]. unfold is_total in H. unfold guessed.
    set (m := y :: l) in *. cbv zeta in *. clearbody m.
    assert (Cn : forall n, is_count n a = true -> told_whole (Z.of_nat n) = a).
    { intros n C. unfold is_count in C. destruct (whole_number a) as [z|] eqn:W; [|discriminate].
      apply Z.eqb_eq in C. subst z. apply told_whole_spec. exact W. }
    assert (Vl : forall o, is_value o a = true -> In a (match o with Some x => [x] | None => [] end)).
    { intros [b|] I; [|discriminate]. simpl in I. apply value_eqb_spec in I. left. auto. }
    assert (Ed : forall g, existsb (fun p => value_eqb a (fst p) && g p) m = true -> In a (map fst m)).
    { intros g E. apply existsb_exists in E as [p [I E]]. apply andb_true_iff in E as [E _]. apply value_eqb_spec in E.
      apply in_map_iff. exists p. auto. }
    destruct fn; try (apply andb_true_iff in H as [H _]; apply is_in_values_spec in H; exact H);
      try (left; apply Cn; exact H); try (apply Vl; exact H); eapply Ed; exact H.
  Qed.
  Lemma all_guessed_in : forall fn own x e st l s ps m, all_guessed fn own x e st = Some l -> In (s, ps) st ->
    taken_of (takes fn) own x e ps = Some m -> incl (guessed fn m) l.
  Proof.
    induction st as [|[s0 ps0] st IH]; intros l s ps m H I T; [contradiction|]. simpl in H.
    destruct (taken_of (takes fn) own x e ps0) as [m0|] eqn:T0; [|discriminate]. simpl in H.
    destruct (all_guessed fn own x e st) as [l0|]; [|discriminate]. simpl in H. inversion H; subst.
    destruct I as [I|I].
    - inversion I; subst. rewrite T in T0. inversion T0; subst. intros y Iy. apply in_or_app; auto.
    - intros y Iy. apply in_or_app. right. apply (IH l0 s ps m eq_refl I T y Iy).
  Qed.
  Lemma all_guessed_taken : forall fn own x e st l s ps, all_guessed fn own x e st = Some l -> In (s, ps) st ->
    exists m, taken_of (takes fn) own x e ps = Some m.
  Proof.
    induction st as [|[s0 ps0] st IH]; intros l s ps H I; [contradiction|]. simpl in H.
    destruct (taken_of (takes fn) own x e ps0) as [m0|] eqn:T0; [|discriminate]. simpl in H.
    destruct (all_guessed fn own x e st) as [l0|]; [|discriminate]. destruct I as [I|I].
    - inversion I; subst. exists m0; auto.
    - apply (IH l0 s ps eq_refl I).
  Qed.

  Lemma valued_complete : forall k P N own r fn x result f e v t, valid k P N -> agrees e v ->
    behind (horizon k) t = false -> sat P N v (Total own r fn x result f) t ->
    exists e', In e' (valued k own r fn x result f e) /\ agrees e' v.
  Proof.
    intros k P N own r fn x result f e v t Va A B Sa. unfold valued.
    assert (Same : exists e', In e' [e] /\ agrees e' v) by (exists e; split; [left; auto | auto]).
    destruct result as [y| | |]; auto. destruct (peval e (Var y)) eqn:Pe; auto.
    set (st := settled k own r f (fun e0 => truth k Surely e0 f) (fun e0 => truth k MaybeThere e0 f) (forget own e) (first, horizon k)).
    destruct (within [(first, horizon k)] (normal (map fst st))) eqn:Wi; auto.
    destruct (all_guessed fn own x (forget own e) st) as [l|] eqn:G; auto.
    assert (Af : agrees (forget own e) v).
    { apply (forget_agrees own e v v A). intros z _. auto. }
    assert (Fr : free_of own (forget own e)) by (intros z a Lz; eapply forget_not_own; exact Lz).
    destruct Sa as [ps [U [C [a [Ea T]]]]].
    assert (Ht : holds (map fst st) t = true).
    { rewrite <- normal_holds. apply (within_holds _ _ _ Wi). rewrite holds_one. apply mem_split. split; [apply behind_first | exact B]. }
    apply holds_spec in Ht as [s [Is Mt]]. apply in_map_iff in Is as [[s' qs] [E Is]]. simpl in E. subst s'.
    destruct (settled_right k P N own r f (fun e0 => truth k Surely e0 f) (fun e0 => truth k MaybeThere e0 f) (forget own e)
      (first, horizon k) s qs v t Va Af Fr) as [U' C'];
      [ | |exact Is|exact Mt|].
    { intros e0 v0 t0 A0. exact (truth_right k P N Va f Surely e0 v0 t0 A0). }
    { intros e0 v0 t0 A0. exact (truth_right k P N Va f MaybeThere e0 v0 t0 A0). }
    destruct (all_guessed_taken _ _ _ _ _ _ _ _ G Is) as [m Tm].
    pose proof (taken_of_spec _ _ _ _ v _ _ Af Fr Tm) as Em.
    rewrite (is_total_permuted fn _ (measure (takes fn) own x v qs) a) in T.
    2: { apply measure_permuted, NoDup_Permutation; auto. intros p. rewrite C, C'. reflexivity. }
    rewrite <- Em in T. apply guessed_all in T. apply (all_guessed_in _ _ _ _ _ _ _ _ _ G Is Tm) in T.
    exists ((y, a) :: e). split.
    - apply (in_map (fun a => (y, a) :: e)). apply different_in. exact T.
    - apply agrees_cons; auto. simpl in Ea. congruence.
  Qed.

  Lemma by_total_complete : forall k P N m f e v t, valid k P N -> m <> Surely -> agrees e v ->
    behind (horizon k) t = false -> sat (reads m P N) N v f t ->
    exists e', In e' (by_total k m f e) /\ agrees e' v.
  Proof.
    intros k P N m f e v t Va Hm A B Sa.
    destruct f; try (exists e; split; [left; auto | auto]; fail).
    - destruct Sa as [l [U [C T]]]. assert (T0 := T). destruct T as [a [_ T]].
      destruct l as [|p l]; [discriminate|].
      assert (Hm' : MaybeThere <> Surely) by discriminate.
      destruct (grouped_complete k P N MaybeThere own r f e v t p Va Hm' A B) as [e1 [I1 A1]].
      { apply C. left. auto. }
      destruct (valued_complete k P N own r fn x result f e1 v t Va A1 B) as [e2 [I2 A2]].
      { exists (p :: l). auto. }
      exists e2. split; auto. simpl. apply in_flat_map. exists e1. auto.
    - destruct Sa as [l [U [C T]]]. destruct l as [|p l]; [discriminate|].
      apply (grouped_complete k P N m own r f e v t p Va Hm A B). apply C. left. auto.
  Qed.

  Lemma expanded_complete : forall k P N m f e v t, valid k P N -> m <> Surely -> agrees e v ->
    (looks_back f = true \/ forall u, behind (horizon k) u = false) -> behind (horizon k) t = false ->
    sat (reads m P N) N v f t -> exists e', In e' (expanded k m f e) /\ agrees e' v.
  Proof.
    intros k P N m f e v t Va Hm A Lb B Sa. unfold expanded.
    pose proof (requirements_met m k P N Hm Va f v t Lb B Sa) as Met.
    assert (Start := candidates_complete (rows k m) f e v A Met).
    pose proof (totals_met m k P N Hm Va f v t Lb B Sa) as To. revert To.
    destruct (totals_in f) as [|g ts]; auto. intros To.
    assert (End : exists e', In e' (fold_left (fun es g => flat_map (by_total k m g) es) (g :: ts) (candidates (rows k m) f e))
      /\ agrees e' v).
    { revert To Start. generalize (candidates (rows k m) f e). generalize (g :: ts). clear - Va Hm.
      induction l as [|g l IH]; intros es To [e1 [I1 A1]]; simpl; [exists e1; auto|].
      apply IH; [intros h I; apply To; right; auto|].
      destruct (To g (or_introl eq_refl)) as [u [Bu Su]].
      destruct (by_total_complete k P N m g e1 v u Va Hm A1 Bu Su) as [e2 [I2 A2]].
      exists e2. split; auto. apply in_flat_map. exists e1; auto. }
    destruct End as [e1 [I1 A1]].
    destruct (candidates_complete (rows k m) f e1 v A1 Met) as [e2 [I2 A2]].
    exists e2. split; auto. apply in_flat_map. exists e1; auto.
  Qed.

  Lemma anywhere_complete : forall k P N m f v t, valid k P N -> m <> Surely ->
    sat (reads m P N) N v f t -> holds (anywhere k m f) t = true.
  Proof.
    intros k P N m f v t Va Hm Sa. unfold anywhere.
    assert (is_surely m = false) as -> by (destruct m; auto; contradiction).
    assert (T : forall e, agrees e v -> holds (truth k m e f) t = true).
    { intros e A. pose proof (truth_right k P N Va f m e v t A) as R. destruct m; [contradiction| |]; apply R; exact Sa. }
    destruct (looks_back f || leb last (horizon k)) eqn:E; [|apply T, nil_agrees].
    rewrite holds_app, beyond_holds. destruct (behind (horizon k) t) eqn:B; [apply orb_true_r|].
    rewrite orb_false_r. apply any_of_holds.
    destruct (expanded_complete k P N m f [] v t Va Hm (nil_agrees v)) as [e [I A]]; auto.
    - apply orb_true_iff in E as [E|E]; auto. right. intros u. apply last_never; auto.
    - exists e; auto.
  Qed.
End Groups.
