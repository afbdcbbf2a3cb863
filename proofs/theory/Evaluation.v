(** When formulas surely hold, and when they may, by what is known of atoms: both computed, both proved. *)

From Coq Require Import Bool List PArith Permutation.
From Tidelog Require Import Lines Sets Totals Language Matching Counting Formulas.
Import ListNotations.

Module Evaluation (L : LINE) (V : VALUES).
  Module Export O := Formulas L V.
  Import L V.

  (** ** When formulas hold *)
  Definition flipped (m : mode) : mode := match m with Surely => MaybeThere | _ => Surely end.
  Definition is_surely (m : mode) : bool := match m with Surely => true | _ => false end.
  Definition beyond (k : knowledge) : times := [(horizon k, last)].

  Fixpoint any_of (f : environment -> times) (es : list environment) : times :=
    match es with [] => [] | e :: r => f e ++ any_of f r end.
  (** Where some values for the variables that have none make a formula hold, whose truth is [g]. *)
  Definition is_known (e : environment) (x : variable) : bool := match lookup e x with Some _ => true | None => false end.
  Definition only (own : list variable) (e c : environment) : bool :=
    forallb (fun b => is_own own (fst b) || is_known e (fst b)) c.
  Definition exists_ (k : knowledge) (m : mode) (own : list variable) (f : formula) (g : environment -> times)
      (e : environment) : times :=
    if is_surely m then
      normal (any_of g (filter (only own e) (wished (rows k Surely) f (candidates (rows k Surely) f e))))
    else if looks_back f || leb last (horizon k) then normal (any_of g (candidates (rows k m) f e) ++ beyond k)
    else g e.
  Definition said_absent (k : knowledge) (m : mode) (f : formula) : times :=
    if is_surely m then flat_map (fun a => if formula_eqb (fst a) f then snd a else []) (absent k) else [].


  (** What a window holds: all pairs that it may have, looked for where it looks from [z]. *)
  Definition spots_maybe (k : knowledge) (m : mode) (own : list variable) (r : stretch) (f : formula)
      (sure may : environment -> times) (e : environment) (z : stretch) : option (list spot) :=
    let es := candidates (rows k m) f e in
    if (looks_back f || leb last (horizon k)) && leb zero (fst r) && leb (snd z) (horizon k) && forallb (only own e) es then
      match all_spots own sure (fun e => meet (may e) (moved Future r [z])) es with Some l => Some (once l) | None => None end
    else None.
  Definition settled (k : knowledge) (own : list variable) (r : stretch) (f : formula) (sure may : environment -> times)
      (e : environment) (z : stretch) : list (stretch * list pair) :=
    match spots_maybe k MaybeThere own r f sure may e z with Some l => settled_in r z l | None => [] end.
  (** When a value is that of an aggregate, or surely is not, if these are its pairs. *)
  Definition judged (fn : function) (own : list variable) (x : term) (e : environment) (a : value) (b : bool)
      (st : list (stretch * list pair)) : times :=
    flat_map (fun s => match taken_of (takes fn) own x e (snd s) with
      | Some l => if Bool.eqb (is_total fn l a) b then [fst s] else []
      | None => [] end) st.
  (** When there are enough pairs, and when there surely are not. *)
  Definition reached (k : knowledge) (own : list variable) (r : stretch) (th : threshold) (x : term) (f : formula)
      (sure : environment -> times) (e : environment) : times :=
    let es := filter (only own e) (wished (rows k Surely) f (candidates (rows k Surely) f e)) in
    let l := flat_map (fun e => match spots_of own e (sure e) (sure e) with Some l => l | None => [] end) es in
    flat_map (fun s => match taken_of (takes_to th) own x e (snd s) with
      | Some l => if enough th (map fst l) then [fst s] else []
      | None => [] end) (found_in r (once l)).
  Definition missed (k : knowledge) (m : mode) (own : list variable) (r : stretch) (th : threshold) (x : term) (f : formula)
      (may : environment -> times) (e : environment) : times :=
    let z := (first, horizon k) in
    match spots_maybe k m own r f (fun _ => []) may e z with
    | Some l => flat_map (fun s => match taken_of (takes_to th) own x e (snd s) with
        | Some l => if may_be_enough th (map fst l) then [] else [fst s]
        | None => [] end) (met_in r z l)
    | None => []
    end.
  Definition said_so (k : knowledge) (f : formula) : times :=
    flat_map (fun a => if formula_eqb (fst a) f then snd a else []) (said k).

  Fixpoint truth (k : knowledge) (m : mode) (e : environment) (f : formula) : times :=
    match f with
    | Truth b => if b then always else []
    | During s => normal s
    | Atom p args =>
        match patterned e args with
        | None => []
        | Some q => if is_surely m then match whole q with Some _ => atoms k m p q | None => [] end else atoms k m p q
        end
    | Compare c a b =>
        match peval e a, peval e b with
        | Value x, Value y => if compares c x y then always else []
        | Undefined, _ | _, Undefined => []
        | _, _ => if is_surely m then [] else always
        end
    | Now a =>
        match peval e a with
        | Value x => match whole_number x with Some z => [(before (of_whole z), after (of_whole z))] | None => [] end
        | Undefined => []
        | Any => if is_surely m then [] else always
        end
    | And f g => let s := truth k m e f in if forallb is_empty s then [] else meet s (truth k m e g)
    | Or f g => union (truth k m e f) (truth k m e g)
    | Not own f =>
        let e' := forget own e in
        union (others (exists_ k (flipped m) own f (fun e => truth k (flipped m) e f) e')) (said_absent k m (put e' f))
    | Diamond d r f => moved d r (truth k m e f)
    | Box d r f => boxed d r (truth k m e f)
    | Stepped n f =>
        let s := stepped n (truth k m e f) in
        if is_surely m then union s (said_so k (put e (Stepped n f))) else s
    | Lasts d r f g =>
        let s := truth k m e f in
        if is_surely m || separated s then lasting d r s (truth k m e g) else always
    | Total own r fn x result f =>
        let e' := forget own e in
        let st _ := settled k own r f (fun e => truth k Surely e f) (fun e => truth k MaybeThere e f) e' (first, horizon k) in
        let found := match peval e result with
          | Value a => if is_surely m then judged fn own x e' a true (st tt) else others (normal (judged fn own x e' a false (st tt)))
          | Undefined => []
          | Any => if is_surely m then [] else always
          end in
        if is_surely m then union found (said_so k (put e (Total own r fn x result f))) else found
    | Enough own r th x f =>
        let e' := forget own e in
        if is_surely m then union (reached k own r th x f (fun e => truth k m e f) e') (said_so k (put e (Enough own r th x f)))
        else others (normal (missed k m own r th x f (fun e => truth k m e f) e'))
    end.

  Lemma any_of_holds : forall g es t, holds (any_of g es) t = true <-> exists e, In e es /\ holds (g e) t = true.
  Proof.
    intros g es t; induction es as [|e r IH]; simpl.
    - split; [discriminate | intros [e [[] _]]].
    - rewrite holds_app, orb_true_iff, IH. split.
      + intros [H|[x [I H]]]; [exists e | exists x]; auto.
      + intros [x [[->|I] H]]; [left | right; exists x]; auto.
  Qed.

  Lemma beyond_holds : forall k t, holds (beyond k) t = behind (horizon k) t.
  Proof.
    intros; unfold beyond. rewrite holds_one. unfold mem; simpl. rewrite behind_last, andb_true_r. auto.
  Qed.
  Lemma last_never : forall c t, leb last c = true -> behind c t = false.
  Proof.
    intros c t E. destruct (behind c t) eqn:B; auto. pose proof (behind_mono _ _ _ E B) as H.
    rewrite behind_last in H. discriminate.
  Qed.

  (** The main lemma: what surely holds does, and what holds may. *)
  Definition right_for (k : knowledge) (P N : interpretation) (m : mode) (f : formula) : Prop :=
    forall e v t, agrees e v ->
      if is_surely m then holds (truth k m e f) t = true -> sat N N v f t
      else sat (reads m P N) N v f t -> holds (truth k m e f) t = true.

  Lemma lookup_in : forall c x a, lookup c x = Some a -> exists y b, In (y, b) c /\ x = y.
  Proof.
    induction c as [|[y b] r IH]; intros x a H; simpl in H; [discriminate|].
    destruct (Pos.eqb_spec x y) as [E|E].
    - exists y, b. split; [left; auto | auto].
    - destruct (IH x a H) as [z [d [I Ez]]]. exists z, d. split; [right; auto | auto].
  Qed.

  Lemma exists_surely : forall k P N own f e v t, right_for k P N Surely f -> agrees e v ->
    (forall x, In x own -> lookup e x = None) ->
    holds (exists_ k Surely own f (fun e => truth k Surely e f) e) t = true ->
    exists w, same_but own v w /\ sat N N w f t.
  Proof.
    intros k P N own f e v t R A Free H. unfold exists_ in H; simpl in H. rewrite normal_holds in H.
    apply any_of_holds in H as [c [I H]]. apply filter_In in I as [I O].
    assert (X : extends e c) by exact (wished_extend (rows k Surely) f e _ (candidates_extend _ _ _) c I).
    set (w := fun x => if is_own own x then filled c x else v x). exists w. split.
    - intros x Nx. unfold w. destruct (is_own own x) eqn:E; auto. apply is_own_spec in E. contradiction.
    - apply (R c w t); [|exact H]. intros x a Lc. unfold w. destruct (is_own own x) eqn:E.
      + unfold filled. rewrite Lc. auto.
      + destruct (lookup_in c x a Lc) as [y [b [Iy <-]]]. unfold only in O. rewrite forallb_forall in O.
        specialize (O _ Iy). simpl in O. rewrite E in O. simpl in O. unfold is_known in O.
        destruct (lookup e x) as [z|] eqn:Le; [|discriminate].
        rewrite (A _ _ Le). pose proof (X (filled c) (filled_agrees c) x z Le) as F.
        unfold filled in F. rewrite Lc in F. congruence.
  Qed.

  Lemma exists_maybe : forall k P N m own f e v t, valid k P N -> m <> Surely -> right_for k P N m f ->
    agrees e v -> sat (reads m P N) N v f t -> holds (exists_ k m own f (fun e => truth k m e f) e) t = true.
  Proof.
    intros k P N m own f e v t Va Hm R A Sa. unfold exists_.
    assert (is_surely m = false) as -> by (destruct m; auto; contradiction).
    assert (T : forall e, agrees e v -> holds (truth k m e f) t = true).
    { intros e0 A0. specialize (R e0 v t A0). destruct m; [contradiction| |]; apply R; auto. }
    destruct (looks_back f || leb last (horizon k)) eqn:E; [|auto].
    rewrite normal_holds, holds_app, beyond_holds. destruct (behind (horizon k) t) eqn:B; [apply orb_true_r|].
    rewrite orb_false_r. apply any_of_holds.
    destruct (candidates_complete (rows k m) f e v A) as [e' [I A']]; [|exists e'; auto].
    apply (requirements_met m k P N Hm Va f v t); auto.
    apply orb_true_iff in E as [E|E]; auto. right. intros u. apply last_never; auto.
  Qed.

  Lemma forget_free : forall own e x, In x own -> lookup (forget own e) x = None.
  Proof.
    intros own e x I. destruct (lookup (forget own e) x) eqn:E; auto. apply lookup_forget in E as [E _]. contradiction.
  Qed.

  (** ** Aggregates *)
  Lemma only_known : forall own e c x a, only own e c = true -> extends e c -> lookup c x = Some a -> ~ In x own ->
    lookup e x = Some a.
  Proof.
    intros own e c x a O X L N. destruct (lookup_in c x a L) as [y [b [I <-]]]. unfold only in O. rewrite forallb_forall in O.
    specialize (O _ I). simpl in O. apply orb_true_iff in O as [O|O]; [apply is_own_spec in O; contradiction|].
    unfold is_known in O. destruct (lookup e x) as [z|] eqn:Le; [|discriminate].
    pose proof (X (filled c) (filled_agrees c) x z Le) as F. unfold filled in F. rewrite L in F. congruence.
  Qed.
  Lemma forget_not_own : forall own e x a, lookup (forget own e) x = Some a -> ~ In x own.
  Proof. intros own e x a H. apply lookup_forget in H as [H _]. exact H. Qed.
  Lemma candidate_agrees : forall own e c r v, agrees e v -> only own e c = true -> extends e c -> row_in c own = Some r ->
    agrees c (with_row own r v).
  Proof.
    intros own e c r v A O X R. apply row_agrees; auto. intros x a L N. apply A. eapply only_known; eauto.
  Qed.

  Definition free_of (own : list variable) (e : environment) : Prop := forall x a, lookup e x = Some a -> ~ In x own.

  (** All pairs of a window are among the spots; those that surely hold are pairs. *)
  Lemma spots_maybe_right : forall k P N m own r f sure may e z l v t, valid k P N -> m <> Surely -> agrees e v -> free_of own e ->
    (forall e v t, agrees e v -> holds (sure e) t = true -> sat N N v f t) ->
    (forall e v t, agrees e v -> sat (reads m P N) N v f t -> holds (may e) t = true) ->
    spots_maybe k m own r f sure may e z = Some l -> mem t z = true ->
    NoDup (map fst l) /\
    (forall p, counted (fun w u => sat (reads m P N) N w f u) own r v t p -> exists b, In (p, b) l) /\
    (forall p, In (p, true) l -> mem (dist Past t (snd p)) r = true -> counted (fun w u => sat N N w f u) own r v t p).
  Proof.
    intros k P N m own r f sure may e z l v t Va Hm A Fr Su Ma H Mt. unfold spots_maybe in H.
    set (es := candidates (rows k m) f e) in *.
    destruct ((looks_back f || leb last (horizon k)) && leb zero (fst r) && leb (snd z) (horizon k) && forallb (only own e) es)
      eqn:Ok; [|discriminate].
    apply andb_true_iff in Ok as [Ok On]. apply andb_true_iff in Ok as [Ok Hz]. apply andb_true_iff in Ok as [Lb Zr].
    rewrite forallb_forall in On.
    destruct (all_spots _ _ _ _) as [l0|] eqn:S; [|discriminate]. inversion H; subst l; clear H.
    split; [apply once_once|]. split.
    - intros p [Cm [Cr Cs]]. set (w := with_row own (fst p) v) in *.
      assert (Aw : agrees e w).
      { intros x a Lx. unfold w. rewrite <- (with_row_but own (fst p) v x (Fr x a Lx)). apply A; auto. }
      assert (Bt : behind (horizon k) t = false).
      { destruct z as [z1 z2]. apply mem_split in Mt as [_ Mt]. destruct (behind (horizon k) t) eqn:B; auto.
        simpl in Hz. rewrite (behind_mono _ _ _ Hz B) in Mt. discriminate. }
      assert (Bu : behind (horizon k) (snd p) = false).
      { destruct (behind (horizon k) (snd p)) eqn:B; auto. rewrite (forward r t (snd p) _ Zr Cr B) in Bt. discriminate. }
      destruct (candidates_complete (rows k m) f e w Aw) as [c [Ic Ac]].
      { apply (requirements_met m k P N Hm Va f w (snd p)); auto. apply orb_true_iff in Lb as [Lb|Lb]; auto.
        right. intros u. apply last_never; auto. }
      destruct (all_spots_all _ _ _ _ _ c S Ic) as [q [Rq Q]].
      assert (Hq : q = fst p).
      { rewrite <- (row_in_map own c q w Rq); auto. }
      subst q. destruct (Q (snd p)) as [b Ib].
      { rewrite meet_holds, (Ma c w (snd p) Ac Cs). simpl. apply moved_spec. exists t. split; [|exact Cr].
        rewrite holds_one. exact Mt. }
      destruct (once_keeps _ _ Ib) as [[p' b'] [I' E]]. simpl in E. exists b'. rewrite E in I'. destruct p; exact I'.
    - intros p I Cr. apply once_in in I. destruct (all_spots_in _ _ _ _ _ _ _ S I) as [c [Ic [Rc [Hs _]]]].
      assert (Ac : agrees c (with_row own (fst p) v)).
      { eapply candidate_agrees; eauto. apply (candidates_extend (rows k m) f e c Ic). }
      split; [apply (with_row_map own c); auto|]. split; auto. apply (Su c); auto.
  Qed.

  Lemma settled_right : forall k P N own r f sure may e z s ps v t, valid k P N -> agrees e v -> free_of own e ->
    (forall e v t, agrees e v -> holds (sure e) t = true -> sat N N v f t) ->
    (forall e v t, agrees e v -> sat N N v f t -> holds (may e) t = true) ->
    In (s, ps) (settled k own r f sure may e z) -> mem t s = true ->
    NoDup ps /\ forall p, In p ps <-> counted (fun w u => sat N N w f u) own r v t p.
  Proof.
    intros k P N own r f sure may e z s ps v t Va A Fr Su Ma I Mt. unfold settled in I.
    destruct (spots_maybe k MaybeThere own r f sure may e z) as [l|] eqn:S; [|contradiction].
    unfold settled_in in I. apply in_flat_map in I as [p [_ I]].
    destruct (inside z p && _) eqn:C; [|contradiction]. destruct I as [I|[]]. inversion I; subst p ps; clear I.
    apply andb_true_iff in C as [C1 C2]. rewrite forallb_forall in C2.
    assert (Mz : mem t z = true) by (apply (sees_mem z s t); auto).
    assert (Hm : MaybeThere <> Surely) by discriminate.
    destruct (spots_maybe_right k P N MaybeThere own r f sure may e z l v t Va Hm A Fr Su Ma S Mz) as [U [All Sure]].
    split; [apply filter_once; auto|]. intros p. split.
    - intros I. apply in_map_iff in I as [[q b] [E I]]. simpl in E. subst q. apply filter_In in I as [I Se].
      assert (Mr : mem (dist Past t (snd p)) r = true).
      { change p with (fst (p, b)). rewrite <- seen_spec. apply (sees_mem _ s t); auto. }
      specialize (C2 _ I). apply orb_true_iff in C2 as [C2|C2].
      + apply (misses_mem _ s t) in C2; auto. rewrite seen_spec in C2. cbn [fst snd] in C2. congruence.
      + apply andb_true_iff in C2 as [_ C2]. simpl in C2. subst b. apply Sure; auto.
    - intros C. destruct (All p C) as [b I]. apply in_map_iff. exists (p, b). split; auto. apply filter_In. split; auto.
      specialize (C2 _ I). apply orb_true_iff in C2 as [C2|C2].
      + apply (misses_mem _ s t) in C2; auto. rewrite seen_spec in C2. cbn [fst snd] in C2. destruct C as [_ [C _]]. congruence.
      + apply andb_true_iff in C2 as [C2 _]. exact C2.
  Qed.

  (** Whatever list of the same pairs is taken, it has the same value. *)
  Lemma judged_right : forall N own r fn x f e v a b st t, agrees e v -> free_of own e ->
    (forall s ps, In (s, ps) st -> mem t s = true ->
      NoDup ps /\ forall p, In p ps <-> counted (fun w u => sat N N w f u) own r v t p) ->
    holds (judged fn own x e a b st) t = true ->
    exists l, NoDup l /\ (forall p, In p l <-> counted (fun w u => sat N N w f u) own r v t p) /\
      is_total fn (measure (takes fn) own x v l) a = b.
  Proof.
    intros N own r fn x f e v a b st t A Fr St H. unfold judged in H. apply holds_flat in H as [[s ps] [I H]]. simpl in H.
    destruct (taken_of (takes fn) own x e ps) as [l|] eqn:T; [|discriminate].
    destruct (Bool.eqb (is_total fn l a) b) eqn:E; [|discriminate]. rewrite holds_one in H. apply eqb_prop in E.
    apply (taken_of_spec _ _ _ _ v) in T; auto. subst l. destruct (St s ps I H) as [U C]. exists ps. auto.
  Qed.

  Lemma reached_right : forall k N own r th x f sure e v t, agrees e v -> free_of own e ->
    (forall e v t, agrees e v -> holds (sure e) t = true -> sat N N v f t) ->
    holds (reached k own r th x f sure e) t = true -> sat N N v (Enough own r th x f) t.
  Proof.
    intros k N own r th x f sure e v t A Fr Su H. unfold reached in H.
    set (l := flat_map (fun e0 => match spots_of own e0 (sure e0) (sure e0) with Some l => l | None => [] end) _) in *.
    apply holds_flat in H as [[s ps] [I H]]. simpl in H.
    destruct (taken_of (takes_to th) own x e ps) as [m|] eqn:T; [|discriminate].
    destruct (enough th (map fst m)) eqn:E; [|discriminate]. rewrite holds_one in H.
    apply (taken_of_spec _ _ _ _ v) in T; auto. subst m.
    unfold found_in in I. apply in_map_iff in I as [p [I _]]. inversion I; subst p ps; clear I.
    simpl. eexists. split; [apply filter_once, once_once|]. split; [|exact E].
    intros p I. apply in_map_iff in I as [[q b] [Eq I]]. simpl in Eq. subst q. apply filter_In in I as [I Se].
    apply andb_true_iff in Se as [Se Sb]. simpl in Sb. subst b. apply once_in in I. unfold l in I.
    apply in_flat_map in I as [c [Ic I]]. apply filter_In in Ic as [Ic On].
    destruct (spots_of own c (sure c) (sure c)) as [sp|] eqn:Sp; [|contradiction].
    assert (S1 : all_spots own sure sure [c] = Some (sp ++ [])) by (simpl; rewrite Sp; auto).
    assert (I1 : In (p, true) (sp ++ [])) by (apply in_or_app; auto).
    destruct (all_spots_in _ _ _ _ _ _ _ S1 I1) as [c' [[<-|[]] [Rc [Hs _]]]].
    assert (Ac : agrees c (with_row own (fst p) v)).
    { eapply candidate_agrees; eauto. exact (wished_extend (rows k Surely) f e _ (candidates_extend _ _ _) c Ic). }
    split; [apply (with_row_map own c); auto|]. split.
    - change p with (fst (p, true)). rewrite <- seen_spec. apply (sees_mem _ s t); auto.
    - apply (Su c); auto.
  Qed.

  Lemma missed_right : forall k P N m own r th x f may e v t, valid k P N -> m <> Surely -> agrees e v -> free_of own e ->
    (forall e v t, agrees e v -> sat (reads m P N) N v f t -> holds (may e) t = true) ->
    holds (missed k m own r th x f may e) t = true -> ~ sat (reads m P N) N v (Enough own r th x f) t.
  Proof.
    intros k P N m own r th x f may e v t Va Hm A Fr Ma H [l [U [C E]]]. unfold missed in H.
    destruct (spots_maybe k m own r f (fun _ => []) may e (first, horizon k)) as [sp|] eqn:S; [|discriminate].
    apply holds_flat in H as [[s ps] [I H]]. simpl in H.
    destruct (taken_of (takes_to th) own x e ps) as [q|] eqn:T; [|discriminate].
    destruct (may_be_enough th (map fst q)) eqn:Ne; [discriminate|]. rewrite holds_one in H.
    apply (taken_of_spec _ _ _ _ v) in T; auto. subst q.
    unfold met_in in I. apply in_flat_map in I as [p [_ I]]. destruct (inside (first, horizon k) p) eqn:Ins; [|contradiction].
    destruct I as [I|[]]. inversion I; subst p ps; clear I.
    assert (Mz : mem t (first, horizon k) = true) by (apply (sees_mem _ s t); auto).
    destruct (spots_maybe_right k P N m own r f (fun _ => []) may e (first, horizon k) sp v t Va Hm A Fr) as [_ [All _]]; auto.
    { intros e0 v0 t0 _ X. discriminate. }
    assert (In_ : incl l (map fst (filter (fun s0 => negb (misses (seen_from r s0) s)) sp))).
    { intros p I. destruct (All p (C p I)) as [b Ib]. apply in_map_iff. exists (p, b). split; auto. apply filter_In. split; auto.
      apply negb_true_iff. destruct (misses (seen_from r (p, b)) s) eqn:Mi; auto. apply (misses_mem _ s t) in Mi; auto.
      rewrite seen_spec in Mi. cbn [fst snd] in Mi. destruct (C p I) as [_ [X _]]. congruence. }
    assert (G : may_be_enough th (map fst (measure (takes_to th) own x v
      (map fst (filter (fun s0 => negb (misses (seen_from r s0) s)) sp)))) = true).
    { eapply enough_grows; [| |exact E].
      - rewrite !map_length. apply measure_length; auto.
      - apply incl_map. apply measure_incl; auto. }
    congruence.
  Qed.

  Lemma said_so_right : forall k P N f e v t, valid k P N -> agrees e v ->
    holds (said_so k (put e f)) t = true -> sat N N v f t.
  Proof.
    intros k P N f e v t Va A H. unfold said_so in H. apply holds_flat in H as [[g s] [I H]]. cbn [fst snd] in H.
    destruct (formula_eqb g (put e f)) eqn:Q; [|discriminate]. apply formula_eqb_true in Q. subst g.
    apply (put_sat f e v N N t A). apply (valid_said k P N Va _ s t I H v).
  Qed.

  Theorem truth_right : forall k P N, valid k P N -> forall f m, right_for k P N m f.
  Proof.
    intros k P N Va. induction f; intros m e v t A; simpl.
    - destruct b.
      + pose proof (always_holds t). destruct (is_surely m); auto.
      + destruct (is_surely m); simpl; intro; discriminate.
    - rewrite normal_holds. destruct (is_surely m); auto.
    - pose proof (patterned_spec args e v A) as H.
      destruct (patterned e args) as [q|].
      + destruct H as [H1 H2]. destruct m; simpl.
        * destruct (whole q) as [r|] eqn:W; [|discriminate]. intros H. exists r. split; auto.
          eapply (valid_surely k P N Va); eauto.
        * intros [r [E B]]. apply (valid_maybe k P N Va Maybe p q r t); auto. discriminate.
        * intros [r [E B]]. apply (valid_maybe k P N Va MaybeThere p q r t); auto. discriminate.
      + destruct m; simpl; try discriminate; intros [r [E B]]; congruence.
    - pose proof (peval_spec a e v A) as Ha. pose proof (peval_spec b e v A) as Hb.
      assert (Yes : holds always t = true) by apply always_holds.
      destruct (peval e a) as [| |x] eqn:Ea.
      + destruct (peval e b) as [| |y] eqn:Eb; destruct (is_surely m); auto; try (simpl; intro; discriminate);
          intros [x [y [Ex [Ey C]]]]; congruence.
      + destruct (is_surely m); [simpl; intro; discriminate|]. intros [x [y [Ex [Ey C]]]]; congruence.
      + destruct (peval e b) as [| |y] eqn:Eb; destruct (is_surely m); auto; try (simpl; intro; discriminate).
        * intros [x' [y' [Ex [Ey C]]]]; congruence.
        * destruct (compares c x y) eqn:C; [|simpl; intro; discriminate]. intros _. exists x, y; auto.
        * intros [x' [y' [Ex [Ey C]]]]. rewrite Ha in Ex. rewrite Hb in Ey. inversion Ex. inversion Ey. subst.
          rewrite C. exact Yes.
    - pose proof (peval_spec a e v A) as He. destruct (peval e a) as [| |x].
      + destruct (is_surely m); [simpl; intro; discriminate|]. intros _. apply always_holds.
      + destruct (is_surely m); [simpl; intro; discriminate|]. intros [x [z [Ex _]]]. congruence.
      + destruct (whole_number x) as [z|] eqn:W.
        * rewrite holds_one. destruct (is_surely m).
          -- intros H. apply mem_point in H. exists x, z; auto.
          -- intros [x' [z' [Ex [Wx E]]]]. rewrite He in Ex. inversion Ex. subst x'. rewrite W in Wx. inversion Wx. subst z'.
             apply mem_point. auto.
        * destruct (is_surely m); [simpl; intro; discriminate|]. intros [x' [z' [Ex [Wx E]]]]. congruence.
    - specialize (IHf1 m e v t A). specialize (IHf2 m e v t A).
      assert (E : forall s, holds (if forallb is_empty (truth k m e f1) then [] else meet (truth k m e f1) s) t
        = holds (truth k m e f1) t && holds s t).
      { intros s. destruct (forallb is_empty (truth k m e f1)) eqn:F; [|apply meet_holds].
        rewrite (nothing_holds _ t F). reflexivity. }
      rewrite E. destruct (is_surely m).
      + intros H. apply andb_true_iff in H as [H1 H2]. split; auto.
      + intros [H1 H2]. apply andb_true_iff; auto.
    - specialize (IHf1 m e v t A). specialize (IHf2 m e v t A). rewrite union_holds. destruct (is_surely m).
      + intros H. apply orb_true_iff in H as [H|H]; auto.
      + intros [H|H]; apply orb_true_iff; auto.
    - assert (Af : forall w, same_but own v w -> agrees (forget own e) w) by (intros; eapply forget_agrees; eauto).
      assert (A0 : agrees (forget own e) v) by (apply Af; intros x _; auto).
      destruct m; cbn [is_surely flipped].
      + intros H. rewrite union_holds, orb_true_iff in H. intros [w [Sw B]]. destruct H as [H|H].
        * rewrite others_holds in H.
          assert (X : holds (exists_ k MaybeThere own f (fun e0 => truth k MaybeThere e0 f) (forget own e)) t = true).
          { apply (exists_maybe k P N MaybeThere own f (forget own e) w t Va); auto. discriminate. }
          rewrite X in H. discriminate.
        * unfold said_absent in H. simpl in H. apply existsb_exists in H as [s [I M]].
          apply in_flat_map in I as [[g s'] [Ia I]]. simpl in I.
          destruct (formula_eqb g (put (forget own e) f)) eqn:Q; [|contradiction].
          apply formula_eqb_true in Q. subst g.
          assert (Hs : holds s' t = true) by (apply holds_spec; exists s; auto).
          apply (valid_absent k P N Va _ _ t Ia Hs w). apply put_sat; auto.
      + intros H. rewrite union_holds, others_holds. apply orb_true_iff. left. apply negb_true_iff.
        destruct (holds (exists_ k Surely own f (fun e0 => truth k Surely e0 f) (forget own e)) t) eqn:X; auto.
        destruct (exists_surely k P N own f (forget own e) v t (IHf Surely) A0 (forget_free own e) X) as [w [Sw B]].
        exfalso. apply H. exists w; auto.
      + intros H. rewrite union_holds, others_holds. apply orb_true_iff. left. apply negb_true_iff.
        destruct (holds (exists_ k Surely own f (fun e0 => truth k Surely e0 f) (forget own e)) t) eqn:X; auto.
        destruct (exists_surely k P N own f (forget own e) v t (IHf Surely) A0 (forget_free own e) X) as [w [Sw B]].
        exfalso. apply H. exists w; auto.
    - destruct (is_surely m) eqn:Em.
      + intros H. apply moved_spec in H as [t' [H M]]. exists t'. split; auto.
        specialize (IHf m e v t' A). rewrite Em in IHf. auto.
      + intros [t' [M H]]. apply moved_spec. exists t'. split; auto.
        specialize (IHf m e v t' A). rewrite Em in IHf. auto.
    - destruct (is_surely m) eqn:Em.
      + intros H t' M. rewrite boxed_spec in H. specialize (IHf m e v t' A). rewrite Em in IHf. auto.
      + intros H. apply boxed_spec. intros t' M. specialize (IHf m e v t' A). rewrite Em in IHf. auto.
    - pose proof (IHf m e v (snap n t) A) as I. destruct m; cbn [is_surely] in *.
      + rewrite union_holds, orb_true_iff, stepped_spec. intros [H|H]; [exact (I H)|].
        exact (said_so_right k P N (Stepped n f) e v t Va A H).
      + rewrite stepped_spec. exact I.
      + rewrite stepped_spec. exact I.
    - destruct (is_surely m) eqn:Em; simpl.
      + intros H. apply lasting_sound in H as [t' [H [M B]]]. exists t'. split; auto. split.
        * specialize (IHf2 m e v t' A). rewrite Em in IHf2. auto.
        * intros u U. specialize (IHf1 m e v u A). rewrite Em in IHf1. auto.
      + intros [t' [M [H B]]]. destruct (separated (truth k m e f1)) eqn:Se; [|apply always_holds].
        apply lasting_complete; auto. exists t'. split; [|split; auto].
        * specialize (IHf2 m e v t' A). rewrite Em in IHf2. auto.
        * intros u U. specialize (IHf1 m e v u A). rewrite Em in IHf1. auto.
    - assert (Af : agrees (forget own e) v).
      { apply (forget_agrees own e v v A). intros y _. auto. }
      assert (Fr : free_of own (forget own e)) by (intros y a Ly; eapply forget_not_own; exact Ly).
      set (st := settled k own r f (fun e0 => truth k Surely e0 f) (fun e0 => truth k MaybeThere e0 f) (forget own e) (first, horizon k)).
      assert (St : forall s ps, In (s, ps) st -> mem t s = true ->
        NoDup ps /\ forall p, In p ps <-> counted (fun w u => sat N N w f u) own r v t p).
      { intros s ps I Mt. eapply (settled_right k P N own r f _ _ (forget own e) (first, horizon k) s ps v t Va Af Fr);
          [| |exact I|exact Mt].
        - intros e0 v0 t0 A0. exact (IHf Surely e0 v0 t0 A0).
        - intros e0 v0 t0 A0. exact (IHf MaybeThere e0 v0 t0 A0). }
      pose proof (peval_spec result e v A) as Pe.
      destruct m; cbn [is_surely].
      { rewrite union_holds, orb_true_iff. intros [H|H].
        * destruct (peval e result) as [| |a]; try discriminate. fold st in H.
          destruct (judged_right N own r fn x f (forget own e) v a true st t Af Fr St H) as [l [U [C T]]].
          exists l. split; auto. split; auto. exists a. auto.
        * exact (said_so_right k P N (Total own r fn x result f) e v t Va A H). }
      all: intros [l [U [C [a [Ea T]]]]].
      all: destruct (peval e result) as [| |b]; [apply always_holds | congruence |].
      all: assert (a = b) by congruence; subst b.
      all: rewrite others_holds, normal_holds; apply negb_true_iff; fold st.
      all: destruct (holds (judged fn own x (forget own e) a false st) t) eqn:H; auto; exfalso.
      all: destruct (judged_right N own r fn x f (forget own e) v a false st t Af Fr St H) as [l' [U' [C' T']]].
      all: rewrite (is_total_permuted fn _ (measure (takes fn) own x v l') a) in T; [congruence|].
      all: apply measure_permuted, NoDup_Permutation; auto.
      all: intros p; rewrite C, C'; reflexivity.
    - assert (Af : agrees (forget own e) v).
      { apply (forget_agrees own e v v A). intros y _. auto. }
      assert (Fr : free_of own (forget own e)) by (intros y a Ly; eapply forget_not_own; exact Ly).
      destruct m; cbn [is_surely].
      + rewrite union_holds, orb_true_iff. intros [H|H].
        * apply (reached_right k N own r th x f (fun e1 => truth k Surely e1 f) (forget own e) v t Af Fr); auto.
          intros e1 v1 t1 A1. exact (IHf Surely e1 v1 t1 A1).
        * exact (said_so_right k P N (Enough own r th x f) e v t Va A H).
      + intros H. rewrite others_holds, normal_holds. apply negb_true_iff.
        match goal with |- holds ?s t = false => destruct (holds s t) eqn:X; auto end. exfalso.
        eapply (missed_right k P N Maybe own r th x f _ (forget own e) v t Va); [discriminate|exact Af|exact Fr| |exact X|exact H].
        intros e1 v1 t1 A1. exact (IHf Maybe e1 v1 t1 A1).
      + intros H. rewrite others_holds, normal_holds. apply negb_true_iff.
        match goal with |- holds ?s t = false => destruct (holds s t) eqn:X; auto end. exfalso.
        eapply (missed_right k P N MaybeThere own r th x f _ (forget own e) v t Va); [discriminate|exact Af|exact Fr| |exact X|exact H].
        intros e1 v1 t1 A1. exact (IHf MaybeThere e1 v1 t1 A1).
  Qed.
End Evaluation.
