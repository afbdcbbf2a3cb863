(** When formulas surely hold, and when they may, by what is known of atoms: both computed, both proved. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Language Matching.
Import ListNotations.

Module Evaluation (L : LINE) (V : VALUES).
  Module Export F := Matching L V.
  Import L V.

  (** ** What is known of atoms *)
  Inductive mode :=
  | Surely      (* it surely does *)
  | Maybe       (* it may, where atoms are read in [P] and what is negated in [N] *)
  | MaybeThere. (* it may, in [N] alone *)

  Record knowledge := Knowledge {
    atoms : mode -> predicate -> pattern -> times;
    rows : mode -> rows_of;
    absent : list (formula * times);
    horizon : cut (* rows are known up to here *)
  }.

  Definition reads (m : mode) (P N : interpretation) : interpretation :=
    match m with Maybe => P | _ => N end.

  Record valid (k : knowledge) (P N : interpretation) : Prop := Valid {
    valid_surely : forall p q r t, whole q = Some r -> holds (atoms k Surely p q) t = true -> N p r t;
    valid_maybe : forall m p q r t, m <> Surely -> reads m P N p r t -> matches q r = true ->
      holds (atoms k m p q) t = true;
    valid_rows : forall m p l r t, m <> Surely -> rows k m p = Some l -> behind (horizon k) t = false ->
      reads m P N p r t -> In r l;
    valid_absent : forall g s t, In (g, s) (absent k) -> holds s t = true -> forall v, ~ sat N N v g t
  }.

  (** ** Formulas that say the same, literally *)
  Fixpoint term_eqb (a b : term) : bool :=
    match a, b with
    | Var x, Var y => Pos.eqb x y
    | Const x, Const y => value_eqb x y
    | Op1 o a, Op1 p b => operation_eqb o p && term_eqb a b
    | Op2 o a1 a2, Op2 p b1 b2 => operation_eqb o p && term_eqb a1 b1 && term_eqb a2 b2
    | _, _ => false
    end.
  Fixpoint list_eqb {A} (f : A -> A -> bool) (a b : list A) : bool :=
    match a, b with [], [] => true | x :: a, y :: b => f x y && list_eqb f a b | _, _ => false end.
  Definition direction_eqb (a b : direction) : bool :=
    match a, b with Past, Past | Future, Future => true | _, _ => false end.
  Definition stretch_eqb (a b : stretch) : bool := cut_eqb (fst a) (fst b) && cut_eqb (snd a) (snd b).
  Fixpoint formula_eqb (f g : formula) : bool :=
    match f, g with
    | Truth a, Truth b => Bool.eqb a b
    | During a, During b => list_eqb stretch_eqb a b
    | Atom p a, Atom q b => Pos.eqb p q && list_eqb term_eqb a b
    | Compare c a1 a2, Compare d b1 b2 => comparison_eqb c d && term_eqb a1 b1 && term_eqb a2 b2
    | Now a, Now b => term_eqb a b
    | And a1 a2, And b1 b2 | Or a1 a2, Or b1 b2 => formula_eqb a1 b1 && formula_eqb a2 b2
    | Not x a, Not y b => list_eqb Pos.eqb x y && formula_eqb a b
    | Diamond d r a, Diamond e s b | Box d r a, Box e s b => direction_eqb d e && stretch_eqb r s && formula_eqb a b
    | Stepped n a, Stepped m b => step_eqb n m && formula_eqb a b
    | Lasts d r a1 a2, Lasts e s b1 b2 => direction_eqb d e && stretch_eqb r s && formula_eqb a1 b1 && formula_eqb a2 b2
    | _, _ => false
    end.

  Lemma list_eqb_true : forall A (f : A -> A -> bool), (forall a b, f a b = true -> a = b) ->
    forall a b, list_eqb f a b = true -> a = b.
  Proof.
    induction a as [|x a IH]; intros [|y b] E; simpl in E; try discriminate; auto.
    apply andb_true_iff in E as [E1 E2]. f_equal; auto.
  Qed.
  Ltac split_eqs :=
    repeat match goal with H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?] end.
  Lemma term_eqb_true : forall a b, term_eqb a b = true -> a = b.
  Proof.
    induction a; intros [] E; simpl in E; try discriminate; split_eqs.
    - apply Pos.eqb_eq in E. congruence.
    - apply value_eqb_spec in E. congruence.
    - apply operation_eqb_true in H. f_equal; auto.
    - apply operation_eqb_true in H. f_equal; auto.
  Qed.
  Lemma direction_eqb_true : forall a b, direction_eqb a b = true -> a = b.
  Proof. intros [] []; simpl; congruence. Qed.
  Lemma stretch_eqb_true : forall a b, stretch_eqb a b = true -> a = b.
  Proof.
    intros [a b] [c d] E. unfold stretch_eqb in E; simpl in E. split_eqs.
    apply cut_eqb_true in H, H0. congruence.
  Qed.
  Lemma formula_eqb_true : forall f g, formula_eqb f g = true -> f = g.
  Proof.
    induction f; intros [] E; simpl in E; try discriminate; split_eqs;
      repeat match goal with
      | H : Bool.eqb _ _ = true |- _ => apply eqb_prop in H
      | H : list_eqb stretch_eqb _ _ = true |- _ => apply (list_eqb_true _ _ stretch_eqb_true) in H
      | H : list_eqb term_eqb _ _ = true |- _ => apply (list_eqb_true _ _ term_eqb_true) in H
      | H : list_eqb Pos.eqb _ _ = true |- _ => apply (list_eqb_true _ _ (fun a b => proj1 (Pos.eqb_eq a b))) in H
      | H : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in H
      | H : comparison_eqb _ _ = true |- _ => apply comparison_eqb_true in H
      | H : term_eqb _ _ = true |- _ => apply term_eqb_true in H
      | H : step_eqb _ _ = true |- _ => apply step_eqb_true in H
      | H : direction_eqb _ _ = true |- _ => apply direction_eqb_true in H
      | H : stretch_eqb _ _ = true |- _ => apply stretch_eqb_true in H
      | H : formula_eqb _ _ = true |- _ => first [apply IHf in H | apply IHf1 in H | apply IHf2 in H]
      end; subst; auto.
  Qed.

  (** ** Values for variables *)
  Fixpoint put_term (e : environment) (a : term) : term :=
    match a with
    | Var x => match lookup e x with Some v => Const v | None => a end
    | Const _ => a
    | Op1 o a => Op1 o (put_term e a)
    | Op2 o a b => Op2 o (put_term e a) (put_term e b)
    end.
  Fixpoint put (e : environment) (f : formula) : formula :=
    match f with
    | Atom p args => Atom p (map (put_term e) args)
    | Compare c a b => Compare c (put_term e a) (put_term e b)
    | Now a => Now (put_term e a)
    | And f g => And (put e f) (put e g)
    | Or f g => Or (put e f) (put e g)
    | Not own f => Not own (put (forget own e) f)
    | Diamond d r f => Diamond d r (put e f)
    | Box d r f => Box d r (put e f)
    | Stepped n f => Stepped n (put e f)
    | Lasts d r f g => Lasts d r (put e f) (put e g)
    | _ => f
    end.

  Lemma put_term_eval : forall a e v, agrees e v -> eval v (put_term e a) = eval v a.
  Proof.
    induction a; intros e w A; simpl; auto.
    - destruct (lookup e x) eqn:E; simpl; auto. rewrite (A _ _ E); auto.
    - rewrite IHa; auto.
    - rewrite IHa1, IHa2; auto.
  Qed.
  Lemma put_evals : forall l e v, agrees e v -> evals v (map (put_term e) l) = evals v l.
  Proof.
    induction l as [|a l IH]; intros e v A; simpl; auto. rewrite put_term_eval, IH; auto.
  Qed.
  Lemma put_sat : forall f e v P N t, agrees e v -> (sat P N v (put e f) t <-> sat P N v f t).
  Proof.
    induction f; intros e v P N t A; simpl; try tauto.
    - rewrite put_evals by auto. tauto.
    - rewrite !put_term_eval by auto. tauto.
    - rewrite put_term_eval by auto. tauto.
    - rewrite IHf1, IHf2 by auto. tauto.
    - rewrite IHf1, IHf2 by auto. tauto.
    - split; intros H [w [S B]]; apply H; exists w; split; auto;
        apply (IHf (forget own e) w N N t (forget_agrees _ _ _ _ A S)); auto.
    - split; intros [t' [M B]]; exists t'; split; auto; apply (IHf e v P N t' A); auto.
    - split; intros H t' M; apply (IHf e v P N t' A); auto.
    - apply IHf; auto.
    - split; intros [t' [M [B C]]]; exists t'; (split; [auto|split]).
      + apply (IHf2 e v P N t' A); auto.
      + intros u U. apply (IHf1 e v P N u A); auto.
      + apply (IHf2 e v P N t' A); auto.
      + intros u U. apply (IHf1 e v P N u A); auto.
  Qed.

  (** ** Formulas that look at no later time *)
  Fixpoint looks_back (f : formula) : bool :=
    match f with
    | And f g | Or f g => looks_back f && looks_back g
    | Not _ f | Stepped _ f => looks_back f
    | Diamond Past r f | Box Past r f => leb zero (fst r) && looks_back f
    | Lasts Past r f g => leb zero (fst r) && looks_back f && looks_back g
    | Diamond _ _ _ | Box _ _ _ | Lasts _ _ _ _ => false
    | _ => true
    end.

  Lemma box_time : forall d r t, is_empty r = false -> exists t', mem (dist d t t') r = true.
  Proof.
    intros d r t E. destruct (proper_mem (around d t r)) as [t' M]; [apply around_proper; auto|].
    rewrite mem_around in M. exists t'; auto.
  Qed.

  Lemma requirements_met : forall m k P N, m <> Surely -> valid k P N ->
    forall f v t, (looks_back f = true \/ forall u, behind (horizon k) u = false) -> behind (horizon k) t = false ->
    sat (reads m P N) N v f t -> forall q, In q (requirements f) -> met (rows k m) v q.
  Proof.
    intros m k P N Hm Va.
    induction f; intros v t B H Sa q I; simpl in I, Sa; try contradiction.
    - destruct I as [<-|[]]. destruct Sa as [r [E A]]. simpl. intros l R. exists r. split; auto.
      eapply (valid_rows k P N Va m); eauto.
    - destruct (is_equality c) eqn:E; [|contradiction]. destruct I as [<-|[]].
      destruct Sa as [x [y [Ex [Ey C]]]]. apply is_equality_true in C; auto. subst. exists y; auto.
    - assert (B1 : looks_back f1 = true \/ forall u, behind (horizon k) u = false)
        by (destruct B as [B|B]; auto; simpl in B; apply andb_true_iff in B; tauto).
      assert (B2 : looks_back f2 = true \/ forall u, behind (horizon k) u = false)
        by (destruct B as [B|B]; auto; simpl in B; apply andb_true_iff in B; tauto).
      apply in_app_or in I as [I|I]; [eapply IHf1 | eapply IHf2]; try apply Sa; eauto.
    - destruct Sa as [t' [M Sa]].
      assert (H' : (looks_back f = true \/ forall u, behind (horizon k) u = false) /\ behind (horizon k) t' = false).
      { destruct B as [B|B]; auto. destruct d; simpl in B; [|discriminate]. apply andb_true_iff in B as [Z B]. split; auto.
        destruct (behind (horizon k) t') eqn:E; auto. rewrite (forward r t t' _ Z M E) in H. discriminate. }
      eapply IHf; try apply Sa; try apply H'; auto.
    - destruct (is_empty r) eqn:E; [contradiction|]. destruct (box_time d r t E) as [t' M].
      specialize (Sa t' M).
      assert (H' : (looks_back f = true \/ forall u, behind (horizon k) u = false) /\ behind (horizon k) t' = false).
      { destruct B as [B|B]; auto. destruct d; simpl in B; [|discriminate]. apply andb_true_iff in B as [Z B]. split; auto.
        destruct (behind (horizon k) t') eqn:F; auto. rewrite (forward r t t' _ Z M F) in H. discriminate. }
      eapply IHf; try apply Sa; try apply H'; auto.
    - apply (IHf v (snap n t)); auto.
      destruct (behind (horizon k) (snap n t)) eqn:E; auto. rewrite (snap_back _ _ _ E) in H. discriminate.
    - destruct Sa as [t' [M [Sa _]]].
      assert (H' : (looks_back f2 = true \/ forall u, behind (horizon k) u = false) /\ behind (horizon k) t' = false).
      { destruct B as [B|B]; auto. destruct d; simpl in B; [|discriminate].
        apply andb_true_iff in B as [B B2]. apply andb_true_iff in B as [Z _]. split; auto.
        destruct (behind (horizon k) t') eqn:E; auto. rewrite (forward r t t' _ Z M E) in H. discriminate. }
      eapply IHf2; try apply Sa; try apply H'; auto.
  Qed.

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
    | Stepped n f => stepped n (truth k m e f)
    | Lasts d r f g =>
        let s := truth k m e f in
        if is_surely m || separated s then lasting d r s (truth k m e g) else always
    end.

  Lemma any_of_holds : forall g es t, holds (any_of g es) t = true <-> exists e, In e es /\ holds (g e) t = true.
  Proof.
    intros g es t; induction es as [|e r IH]; simpl.
    - split; [discriminate | intros [e [[] _]]].
    - rewrite holds_app, orb_true_iff, IH. split.
      + intros [H|[x [I H]]]; [exists e | exists x]; auto.
      + intros [x [[->|I] H]]; [left | right; exists x]; auto.
  Qed.

  (** Candidates only ever get more values. *)
  Definition extends (e e' : environment) : Prop := forall v, agrees e' v -> agrees e v.
  Lemma extends_refl : forall e, extends e e.
  Proof. intros e v A; auto. Qed.
  Lemma extends_trans : forall a b c, extends a b -> extends b c -> extends a c.
  Proof. intros a b c H I v A; auto. Qed.
  Lemma extends_cons : forall e x a, lookup e x = None -> extends e ((x, a) :: e).
  Proof.
    intros e x a N v A y b H. apply A. simpl. destruct (Pos.eqb_spec y x); auto. subst. congruence.
  Qed.
  Lemma unify1_extends : forall e a v e', unify1 e a v = Some e' -> extends e e'.
  Proof.
    intros e a v e' H.
    assert (P : match peval e a with Any => Some e | Undefined => None | Value w => if value_eqb w v then Some e else None end = Some e' -> extends e e').
    { destruct (peval e a); try discriminate; [|destruct (value_eqb v0 v); try discriminate];
        intros E; inversion E; apply extends_refl. }
    destruct a; simpl in H; try (apply P; exact H).
    destruct (lookup e x) eqn:E.
    - destruct (value_eqb v0 v); inversion H. apply extends_refl.
    - inversion H. apply extends_cons; auto.
  Qed.
  Lemma unify_extends : forall l e r e', unify e l r = Some e' -> extends e e'.
  Proof.
    induction l as [|a l IH]; intros e [|v r] e' H; simpl in H; try discriminate.
    - inversion H. apply extends_refl.
    - destruct (unify1 e a v) as [e1|] eqn:U; [|discriminate].
      eapply extends_trans; [eapply unify1_extends | eapply IH]; eauto.
  Qed.
  Lemma one_of_extends : forall e args l e', In e' (one_of e args l) -> extends e e'.
  Proof.
    intros e args l e' I. unfold one_of in I. apply in_flat_map in I as [r [_ I]].
    destruct (unify e args r) eqn:U; [|contradiction]. destruct I as [<-|[]]. eapply unify_extends; eauto.
  Qed.
  Lemma solve1_extends : forall e a b, extends e (solve1 e a b).
  Proof.
    intros e a b. unfold solve1. destruct a; try apply extends_refl.
    destruct (lookup e x) eqn:E; try apply extends_refl. destruct (peval e b); try apply extends_refl.
    apply extends_cons; auto.
  Qed.
  Lemma solve_extends : forall n l e, extends e (solve n l e).
  Proof.
    induction n as [|n IH]; intros l e; simpl; [apply extends_refl|].
    eapply extends_trans; [|apply IH]. clear IH. generalize l at 1 as l'. intros l'. revert e.
    induction l' as [|q l' IH]; intros e; simpl; [apply extends_refl|]. destruct q; auto.
    eapply extends_trans; [|apply IH]. eapply extends_trans; apply solve1_extends.
  Qed.
  Definition all_extend (e : environment) (es : list environment) : Prop := forall e', In e' es -> extends e e'.
  Lemma requirement_extends : forall rows q e es, all_extend e es -> all_extend e (meet_requirement rows q es).
  Proof.
    intros rw q e es A e' I. destruct q; simpl in I; auto. destruct (rw p); auto.
    apply in_flat_map in I as [x [Ix I]]. apply (extends_trans e x); [apply A; exact Ix | eapply one_of_extends; exact I].
  Qed.
  Lemma solved_extends : forall l e es, all_extend e es -> all_extend e (solved l es).
  Proof.
    intros l e es A e' I. unfold solved in I. apply in_map_iff in I as [x [<- I]].
    apply (extends_trans e x); [apply A; exact I | apply solve_extends].
  Qed.
  Lemma candidates_extend : forall rows f e, all_extend e (candidates rows f e).
  Proof.
    intros rw f e. unfold candidates. set (eqs := filter _ _). clearbody eqs.
    assert (Start : all_extend e (solved eqs [e])).
    { apply solved_extends. intros e' [<-|[]]. apply extends_refl. }
    revert Start. generalize (solved eqs [e]). generalize (requirements f).
    induction l as [|q l IH]; intros es A; simpl; auto. apply IH. destruct q; auto.
    apply solved_extends. apply (requirement_extends rw (Needs p args)). auto.
  Qed.
  Lemma wished_extend : forall rows f e es, all_extend e es -> all_extend e (wished rows f es).
  Proof.
    intros rw f e es. unfold wished. revert es. generalize (wishes f).
    induction l as [|q l IH]; intros es A; simpl; auto. apply IH. unfold meet_wish.
    intros e' I. apply in_app_or in I as [I|I]; auto. destruct q; [|destruct I].
    apply (requirement_extends rw (Needs p args) e es A). auto.
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
    - rewrite stepped_spec. specialize (IHf m e v (snap n t) A). destruct (is_surely m); auto.
    - destruct (is_surely m) eqn:Em; simpl.
      + intros H. apply lasting_sound in H as [t' [H [M B]]]. exists t'. split; auto. split.
        * specialize (IHf2 m e v t' A). rewrite Em in IHf2. auto.
        * intros u U. specialize (IHf1 m e v u A). rewrite Em in IHf1. auto.
      + intros [t' [M [H B]]]. destruct (separated (truth k m e f1)) eqn:Se; [|apply always_holds].
        apply lasting_complete; auto. exists t'. split; [|split; auto].
        * specialize (IHf2 m e v t' A). rewrite Em in IHf2. auto.
        * intros u U. specialize (IHf1 m e v u A). rewrite Em in IHf1. auto.
  Qed.
End Evaluation.
