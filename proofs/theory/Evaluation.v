(** When formulas surely hold, and when they may, by what is known of atoms: both computed, both proved.

    An environment gives values to some variables. What has no value yet stands for any value. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Language.
Import ListNotations.

Module Evaluation (L : LINE) (V : VALUES).
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

  Lemma nothing : forall s t, forallb is_empty s = true -> holds s t = false.
  Proof. intros; apply nothing_holds; auto. Qed.

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
    - specialize (IHf1 m e v t A). specialize (IHf2 m e v t A).
      assert (E : forall s, holds (if forallb is_empty (truth k m e f1) then [] else meet (truth k m e f1) s) t
        = holds (truth k m e f1) t && holds s t).
      { intros s. destruct (forallb is_empty (truth k m e f1)) eqn:F; [|apply meet_holds].
        rewrite (nothing _ t F). reflexivity. }
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
