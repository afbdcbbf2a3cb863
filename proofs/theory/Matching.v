(** Which values for variables may make a formula hold.

    An environment gives values to some variables. What has no value yet stands for any value. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Totals Language.
Import ListNotations.

Module Matching (L : LINE) (V : VALUES).
  Module Export G := Language L V.
  Import L V.

  (** ** Environments *)
  Definition environment := list (variable * value).

  Fixpoint lookup (e : environment) (x : variable) : option value :=
    match e with [] => None | (y, v) :: r => if Pos.eqb x y then Some v else lookup r x end.
  Definition agrees (e : environment) (v : valuation) : Prop := forall x a, lookup e x = Some a -> v x = a.
  Definition filled (e : environment) : valuation := fun x => match lookup e x with Some a => a | None => some_value end.

  Lemma filled_agrees : forall e, agrees e (filled e).
  Proof. intros e x a H; unfold filled; rewrite H; auto. Qed.
  Lemma nil_agrees : forall v, agrees [] v.
  Proof. intros v x a H; discriminate. Qed.

  Fixpoint is_own (own : list variable) (x : variable) : bool :=
    match own with [] => false | y :: r => Pos.eqb x y || is_own r x end.
  Definition forget (own : list variable) (e : environment) : environment :=
    filter (fun b => negb (is_own own (fst b))) e.

  Lemma is_own_spec : forall own x, is_own own x = true <-> In x own.
  Proof.
    induction own as [|y r IH]; intros x; simpl; [split; [discriminate | intros []]|].
    rewrite orb_true_iff, IH, Pos.eqb_eq. split; intros [H|H]; auto.
  Qed.
  Lemma lookup_forget : forall own e x a,
    lookup (forget own e) x = Some a -> ~ In x own /\ lookup e x = Some a.
  Proof.
    induction e as [|[y b] r IH]; intros x a; simpl; [discriminate|].
    destruct (is_own own y) eqn:O; simpl.
    - intros H. apply IH in H as [H1 H2]. split; [exact H1|]. destruct (Pos.eqb_spec x y) as [E|E]; [|exact H2].
      exfalso. apply H1. apply is_own_spec. rewrite E. exact O.
    - destruct (Pos.eqb_spec x y).
      + intros H. inversion H. subst. split; [|reflexivity]. intros I. apply is_own_spec in I. congruence.
      + apply IH.
  Qed.
  Lemma forget_agrees : forall own e v w, agrees e v -> same_but own v w -> agrees (forget own e) w.
  Proof.
    intros own e v w A S x a H. apply lookup_forget in H as [H1 H2]. rewrite <- (S x H1). auto.
  Qed.

  (** ** Values of terms *)
  Inductive known := Any | Undefined | Value (v : value).

  Definition from_option (x : option value) : known := match x with Some v => Value v | None => Undefined end.
  Fixpoint peval (e : environment) (a : term) : known :=
    match a with
    | Var x => match lookup e x with Some v => Value v | None => Any end
    | Const v => Value v
    | Op1 o a => match peval e a with Value x => from_option (apply o [x]) | k => k end
    | Op2 o a b =>
        match peval e a, peval e b with
        | Value x, Value y => from_option (apply o [x; y])
        | Undefined, _ | _, Undefined => Undefined
        | _, _ => Any
        end
    end.

  Lemma peval_spec : forall a e v, agrees e v ->
    match peval e a with Any => True | Undefined => eval v a = None | Value x => eval v a = Some x end.
  Proof.
    induction a; intros e w A; simpl; auto.
    - destruct (lookup e x) eqn:E; auto. rewrite (A _ _ E). auto.
    - specialize (IHa e w A). destruct (peval e a); simpl; auto.
      + rewrite IHa; auto.
      + rewrite IHa; simpl. destruct (apply o [v]); simpl; auto.
    - specialize (IHa1 e w A). specialize (IHa2 e w A).
      destruct (peval e a1), (peval e a2); simpl; auto; rewrite ?IHa1, ?IHa2; simpl; auto.
      + destruct (eval w a1); auto.
      + destruct (apply o [v; v0]); simpl; auto.
  Qed.

  (** What is known of a row: a value, or nothing, for each argument. *)
  Definition pattern := list (option value).
  Fixpoint patterned (e : environment) (l : list term) : option pattern :=
    match l with
    | [] => Some []
    | a :: r =>
        match peval e a, patterned e r with
        | Undefined, _ | _, None => None
        | Any, Some p => Some (None :: p)
        | Value v, Some p => Some (Some v :: p)
        end
    end.
  Fixpoint matches (p : pattern) (r : row) : bool :=
    match p, r with
    | [], [] => true
    | None :: p, _ :: r => matches p r
    | Some a :: p, b :: r => value_eqb a b && matches p r
    | _, _ => false
    end.
  Fixpoint whole (p : pattern) : option row :=
    match p with
    | [] => Some []
    | Some v :: p => bind (whole p) (fun r => Some (v :: r))
    | None :: _ => None
    end.

  Lemma value_eqb_refl : forall a, value_eqb a a = true.
  Proof. intros; apply value_eqb_spec; auto. Qed.

  Lemma patterned_spec : forall l e v, agrees e v ->
    match patterned e l with
    | None => evals v l = None
    | Some p => (forall r, evals v l = Some r -> matches p r = true) /\ (forall r, whole p = Some r -> evals v l = Some r)
    end.
  Proof.
    induction l as [|a l IH]; intros e v A; simpl.
    - split; intros r H; inversion H; auto.
    - specialize (IH e v A). pose proof (peval_spec a e v A) as P.
      destruct (peval e a); simpl.
      + destruct (patterned e l) as [p|]; simpl.
        * split; [|intros r H; discriminate]. intros r H.
          destruct (eval v a); [|discriminate]. destruct (evals v l); [|discriminate]. simpl in H. inversion H. apply IH; auto.
        * rewrite IH. destruct (eval v a); auto.
      + rewrite P. auto.
      + rewrite P. destruct (patterned e l) as [p|]; simpl.
        * destruct IH as [I1 I2]. split.
          -- intros r H. destruct (evals v l); [|discriminate]. simpl in H. inversion H. simpl. rewrite value_eqb_refl. apply I1; auto.
          -- intros r H. destruct (whole p); [|discriminate]. simpl in H. inversion H. rewrite (I2 r0); auto.
        * rewrite IH. auto.
  Qed.

  (** ** Which values may make a formula hold *)
  Inductive requirement :=
  | Needs (p : predicate) (args : list term)
  | Equals (a b : term).

  Fixpoint requirements (f : formula) : list requirement :=
    match f with
    | Atom p args => [Needs p args]
    | Compare c a b => if is_equality c then [Equals a b] else []
    | And f g => requirements f ++ requirements g
    | Diamond _ _ f => requirements f
    | Box _ r f => if is_empty r then [] else requirements f
    | Stepped _ f => requirements f
    | Lasts _ _ _ g => requirements g
    | _ => []
    end.
  (** Those of what stands on the left of `since` or `until`, which need not be met. *)
  Fixpoint wishes (f : formula) : list requirement :=
    match f with
    | And f g => wishes f ++ wishes g
    | Diamond _ _ f | Box _ _ f | Stepped _ f => wishes f
    | Lasts _ _ f g => wishes g ++ requirements f ++ wishes f
    | Or f g => requirements f ++ requirements g
    | Enough _ _ _ _ f => requirements f
    | _ => []
    end.

  Definition unify1 (e : environment) (a : term) (v : value) : option environment :=
    match a with
    | Var x => match lookup e x with Some w => if value_eqb w v then Some e else None | None => Some ((x, v) :: e) end
    | _ => match peval e a with Any => Some e | Undefined => None | Value w => if value_eqb w v then Some e else None end
    end.
  Fixpoint unify (e : environment) (l : list term) (r : row) : option environment :=
    match l, r with
    | [], [] => Some e
    | a :: l, v :: r => match unify1 e a v with Some e => unify e l r | None => None end
    | _, _ => None
    end.

  Lemma agrees_cons : forall e v x a, agrees e v -> v x = a -> agrees ((x, a) :: e) v.
  Proof.
    intros e v x a A E y b H. simpl in H. destruct (Pos.eqb_spec y x); [congruence | auto].
  Qed.
  Lemma unify1_complete : forall a e v x, agrees e v -> eval v a = Some x ->
    exists e', unify1 e a x = Some e' /\ agrees e' v.
  Proof.
    intros a e v x A H.
    assert (P : exists e', match peval e a with Any => Some e | Undefined => None | Value w => if value_eqb w x then Some e else None end = Some e' /\ agrees e' v).
    { pose proof (peval_spec a e v A) as P. destruct (peval e a).
      - exists e; auto.
      - congruence.
      - rewrite P in H. inversion H. rewrite value_eqb_refl. exists e; auto. }
    destruct a; simpl; try exact P. simpl in H. inversion H.
    destruct (lookup e x0) eqn:E.
    - rewrite (A _ _ E), value_eqb_refl. exists e; auto.
    - exists ((x0, v x0) :: e). split; auto. apply agrees_cons; auto.
  Qed.
  Lemma unify_complete : forall l e v r, agrees e v -> evals v l = Some r ->
    exists e', unify e l r = Some e' /\ agrees e' v.
  Proof.
    induction l as [|a l IH]; intros e v r A H; simpl in H.
    - inversion H. exists e; auto.
    - destruct (eval v a) as [x|] eqn:E; [|discriminate]. destruct (evals v l) as [r'|] eqn:El; [|discriminate].
      simpl in H. inversion H. destruct (unify1_complete a e v x A E) as [e1 [U A1]].
      simpl. rewrite U. apply (IH e1 v r' A1 El).
  Qed.

  Definition one_of (e : environment) (args : list term) (rows : list row) : list environment :=
    flat_map (fun r => match unify e args r with Some e => [e] | None => [] end) rows.
  Definition solve1 (e : environment) (a b : term) : environment :=
    match a with
    | Var x => match lookup e x, peval e b with None, Value v => (x, v) :: e | _, _ => e end
    | _ => e
    end.
  Fixpoint solve (n : nat) (l : list requirement) (e : environment) : environment :=
    match n with
    | O => e
    | S n => solve n l (fold_left (fun e q => match q with Equals a b => solve1 (solve1 e a b) b a | _ => e end) l e)
    end.
  Definition rows_of := predicate -> option (list row).
  Definition meet_requirement (rows : rows_of) (q : requirement) (es : list environment) : list environment :=
    match q with
    | Needs p args => match rows p with Some l => flat_map (fun e => one_of e args l) es | None => es end
    | _ => es
    end.
  Definition meet_wish (rows : rows_of) (q : requirement) (es : list environment) : list environment :=
    es ++ (match q with Needs _ _ => meet_requirement rows q es | _ => [] end).
  Definition solved (l : list requirement) (es : list environment) : list environment :=
    map (solve (length l) l) es.
  (** Equations are solved first, and again behind each atom, so that values from them are used at once. *)
  Definition candidates (rows : rows_of) (f : formula) (e : environment) : list environment :=
    let l := requirements f in
    fold_left (fun es q => match q with Needs _ _ => solved (filter (fun q => match q with Equals _ _ => true | _ => false end) l) (meet_requirement rows q es) | _ => es end) l
      (solved (filter (fun q => match q with Equals _ _ => true | _ => false end) l) [e]).
  Definition wished (rows : rows_of) (f : formula) (es : list environment) : list environment :=
    fold_left (fun es q => meet_wish rows q es) (wishes f) es.

  (** A valuation meets a requirement if a row says so, or the equation is true. *)
  Definition met (rows : rows_of) (v : valuation) (q : requirement) : Prop :=
    match q with
    | Needs p args => forall l, rows p = Some l -> exists r, evals v args = Some r /\ In r l
    | Equals a b => exists x, eval v a = Some x /\ eval v b = Some x
    end.

  Lemma one_of_complete : forall e args rows v r, agrees e v -> evals v args = Some r -> In r rows ->
    exists e', In e' (one_of e args rows) /\ agrees e' v.
  Proof.
    intros e args rows v r A E I. destruct (unify_complete args e v r A E) as [e' [U A']].
    exists e'. split; auto. unfold one_of. apply in_flat_map. exists r. rewrite U. split; simpl; auto.
  Qed.
  Lemma solve1_agrees : forall e a b v, agrees e v -> (exists x, eval v a = Some x /\ eval v b = Some x) ->
    agrees (solve1 e a b) v.
  Proof.
    intros e a b v A [x [Ea Eb]]. unfold solve1. destruct a; auto. destruct (lookup e x0); auto.
    pose proof (peval_spec b e v A) as P. destruct (peval e b); auto.
    apply agrees_cons; auto. simpl in Ea. congruence.
  Qed.
  Lemma solve_agrees : forall n rows l e v, agrees e v -> (forall q, In q l -> met rows v q) -> agrees (solve n l e) v.
  Proof.
    induction n as [|n IH]; intros rows l e v A M; simpl; auto. apply (IH rows); auto.
    clear IH. revert e A. induction l as [|q l IH]; intros e A; simpl; auto.
    assert (M' : forall q, In q l -> met rows v q) by (intros; apply M; right; auto).
    destruct q; auto. apply IH; auto. pose proof (M (Equals a b) (or_introl eq_refl)) as H. simpl in H.
    apply solve1_agrees; [apply solve1_agrees|]; auto. destruct H as [x [H1 H2]]. exists x; auto.
  Qed.
  Lemma candidates_complete : forall rows f e v, agrees e v -> (forall q, In q (requirements f) -> met rows v q) ->
    exists e', In e' (candidates rows f e) /\ agrees e' v.
  Proof.
    intros rows f e v A M. unfold candidates.
    set (eqs := filter _ _).
    assert (Meq : forall q, In q eqs -> met rows v q) by (intros q I; apply filter_In in I as [I _]; auto).
    assert (Sol : forall es, (exists e', In e' es /\ agrees e' v) -> exists e', In e' (solved eqs es) /\ agrees e' v).
    { intros es [e' [I A']]. exists (solve (length eqs) eqs e'). split.
      - unfold solved. apply in_map. auto.
      - apply (solve_agrees _ rows); auto. }
    assert (Start : exists e', In e' (solved eqs [e]) /\ agrees e' v).
    { apply Sol. exists e. split; simpl; auto. }
    clearbody eqs. revert Start. generalize (solved eqs [e]) as es.
    revert M. generalize (requirements f) as l. induction l as [|q l IH]; intros M es Start; simpl; auto.
    assert (Mq := M q (or_introl eq_refl)).
    apply IH; [intros; apply M; right; auto|].
    destruct q as [p args|a b]; simpl; auto. apply Sol.
    destruct (rows p) as [rs|] eqn:R; auto.
    destruct Start as [e' [I A']]. destruct (Mq rs R) as [r [E Ir]].
    destruct (one_of_complete e' args rs v r A' E Ir) as [e2 [I2 A2]].
    exists e2. split; auto. apply in_flat_map. exists e'; auto.
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
End Matching.
