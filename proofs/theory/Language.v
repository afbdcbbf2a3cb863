(** The language: formulas, rules, what they mean, and what a model is. *)

From Coq Require Import Bool List PArith ZArith.
From Tidelog Require Import Lines Sets Totals.
Import ListNotations.

Module Language (L : LINE) (V : VALUES).
  Module Export S := Sets L.
  Module Export A := Totals L V.
  Import L V.

  Definition variable := positive.
  Definition predicate := positive.
  Definition row := list value.

  Inductive term :=
  | Var (x : variable)
  | Const (v : value)
  | Op1 (o : operation) (a : term)
  | Op2 (o : operation) (a b : term).

  Inductive formula :=
  | Truth (b : bool)
  | During (s : times)
  | Atom (p : predicate) (args : list term)
  | Compare (c : comparison) (a b : term)
  | Now (a : term) (* it is this time *)
  | And (f g : formula)
  | Or (f g : formula)
  | Not (own : list variable) (f : formula)
  | Diamond (d : direction) (r : stretch) (f : formula)
  | Box (d : direction) (r : stretch) (f : formula)
  | Stepped (n : step) (f : formula)
  | Lasts (d : direction) (r : stretch) (f g : formula) (* [f] lasts since [g], or until it *)
  (** Over all pairs of a row, which is values for [own], and a time at a distance in [r] before now, at which [f] holds:
      [result] is the value of [fn] over what [x] is for each of them; or some of them are enough. *)
  | Total (own : list variable) (r : stretch) (fn : function) (x result : term) (f : formula)
  | Enough (own : list variable) (r : stretch) (th : threshold) (x : term) (f : formula).

  (** [boxplus[a,b] p(X) :- body]: the boxes before the head, its atom, and the body. *)
  Record rule := Rule {
    boxes : list (direction * stretch);
    head : predicate;
    head_args : list term;
    body : formula
  }.

  (** ** Meaning *)
  Definition valuation := variable -> value.
  Definition interpretation := predicate -> row -> time -> Prop.

  Definition bind {A B} (x : option A) (f : A -> option B) : option B :=
    match x with Some a => f a | None => None end.

  Fixpoint eval (v : valuation) (e : term) : option value :=
    match e with
    | Var x => Some (v x)
    | Const c => Some c
    | Op1 o a => bind (eval v a) (fun x => apply o [x])
    | Op2 o a b => bind (eval v a) (fun x => bind (eval v b) (fun y => apply o [x; y]))
    end.

  Fixpoint evals (v : valuation) (l : list term) : option row :=
    match l with
    | [] => Some []
    | e :: r => bind (eval v e) (fun x => bind (evals v r) (fun y => Some (x :: y)))
    end.

  Definition same_but (own : list variable) (v w : valuation) : Prop := forall x, ~ In x own -> v x = w x.

  (** ** Aggregates *)
  Definition pair : Type := row * time.
  Fixpoint value_in (own : list variable) (r : row) (x : variable) : option value :=
    match own, r with y :: own, a :: r => if Pos.eqb x y then Some a else value_in own r x | _, _ => None end.
  Definition with_row (own : list variable) (r : row) (v : valuation) : valuation :=
    fun x => match value_in own r x with Some a => a | None => v x end.
  (** A pair is counted at [t] if it lies in the window, and what is counted holds there. *)
  Definition counted (holds_there : valuation -> time -> Prop) (own : list variable) (r : stretch) (v : valuation) (t : time)
      (p : pair) : Prop :=
    map (with_row own (fst p) v) own = fst p /\ mem (dist Past t (snd p)) r = true /\ holds_there (with_row own (fst p) v) (snd p).
  (** What is taken of some pairs: nothing of one for which the expression has no value, or none that is taken. *)
  Definition measure (taken : value -> bool) (own : list variable) (e : term) (v : valuation) (l : list pair) : measured :=
    flat_map (fun p => match eval (with_row own (fst p) v) e with
      | Some x => if taken x then [(x, snd p)] else []
      | None => [] end) l.

  (** When a formula holds. Atoms are read in [P]; below a negation, and in the value of an aggregate, all
      is read in [N]. *)
  Fixpoint sat (P N : interpretation) (v : valuation) (f : formula) (t : time) : Prop :=
    match f with
    | Truth b => b = true
    | During s => holds s t = true
    | Atom p args => exists r, evals v args = Some r /\ P p r t
    | Compare c a b => exists x y, eval v a = Some x /\ eval v b = Some y /\ compares c x y = true
    | Now e => exists x z, eval v e = Some x /\ whole_number x = Some z /\ t = of_whole z
    | And f g => sat P N v f t /\ sat P N v g t
    | Or f g => sat P N v f t \/ sat P N v g t
    | Not own f => ~ exists w, same_but own v w /\ sat N N w f t
    | Diamond d r f => exists t', mem (dist d t t') r = true /\ sat P N v f t'
    | Box d r f => forall t', mem (dist d t t') r = true -> sat P N v f t'
    | Stepped n f => sat P N v f (snap n t)
    | Lasts d r f g => exists t', mem (dist d t t') r = true /\ sat P N v g t' /\
        forall u, strictly_between d t t' u -> sat P N v f u
    | Total own r fn e result f => exists l, NoDup l /\ (forall p, In p l <-> counted (fun w u => sat N N w f u) own r v t p) /\
        exists x, eval v result = Some x /\ is_total fn (measure (takes fn) own e v l) x = true
    | Enough own r th e f => exists l, NoDup l /\ (forall p, In p l -> counted (fun w u => sat P N w f u) own r v t p) /\
        enough th (map fst (measure (takes_to th) own e v l)) = true
    end.

  (** At [t] a head with these boxes speaks of [u]. *)
  Fixpoint speaks (bs : list (direction * stretch)) (t u : time) : Prop :=
    match bs with
    | [] => u = t
    | (d, r) :: rest => exists m, mem (dist d t m) r = true /\ speaks rest m u
    end.

  (** [P] has the data, and all that the rules give from it, where what is negated is read in [N]. *)
  Definition closed (rules : list rule) (D P N : interpretation) : Prop :=
    (forall p r t, D p r t -> P p r t) /\
    (forall rl, In rl rules -> forall v t u r,
      sat P N v (body rl) t -> speaks (boxes rl) t u -> evals v (head_args rl) = Some r -> P (head rl) r u).

  Definition model (rules : list rule) (D M : interpretation) : Prop := closed rules D M M.

  (** A model in which nothing holds without a reason: it is the least one of those that read negations as it does.
      A program without negation has one, its least model; a stratified one has one, its stratified model. *)
  Definition stable (rules : list rule) (D M : interpretation) : Prop :=
    model rules D M /\ forall P, closed rules D P M -> forall p r t, M p r t -> P p r t.

  Lemma sat_mono : forall f (P Q N : interpretation) v t, (forall p r t, P p r t -> Q p r t) -> sat P N v f t -> sat Q N v f t.
  Proof.
    induction f; intros P Q N v t H; simpl; auto.
    - intros [x [E A]]. exists x; auto.
    - intros [A B]. split; [eapply IHf1 | eapply IHf2]; eauto.
    - intros [A|B]; [left; eapply IHf1 | right; eapply IHf2]; eauto.
    - intros [t' [M A]]. exists t'. split; auto. eapply IHf; eauto.
    - intros A t' M. eapply IHf; eauto.
    - intros A. eapply IHf; eauto.
    - intros [t' [M [A B]]]. exists t'. repeat split; auto; [eapply IHf2 | intros u U; eapply IHf1]; eauto.
    - intros [l [U [A B]]]. exists l. split; auto. split; auto. intros p I. destruct (A p I) as [C [M S]].
      split; auto. split; auto. eapply IHf; eauto.
  Qed.

  (** The data with all that follows, in a program without negation. *)
  Definition least_model (rules : list rule) (D : interpretation) : interpretation :=
    fun p r t => forall P N, closed rules D P N -> P p r t.

  Fixpoint positive (f : formula) : bool :=
    match f with
    | Not _ _ | Total _ _ _ _ _ _ => false
    | And f g | Or f g | Lasts _ _ f g => positive f && positive g
    | Diamond _ _ f | Box _ _ f | Stepped _ f | Enough _ _ _ _ f => positive f
    | _ => true
    end.

  Lemma sat_positive : forall f (P N N' : interpretation) v t, positive f = true -> sat P N v f t -> sat P N' v f t.
  Proof.
    induction f; intros P N N' v t H; simpl in *; auto; try discriminate;
      try (apply andb_true_iff in H as [H1 H2]).
    - intros [A B]; split; eauto.
    - intros [A|B]; eauto.
    - intros [t' [M A]]; exists t'; split; eauto.
    - intros A t' M; eauto.
    - intros A; eauto.
    - intros [t' [M [A B]]]; exists t'; repeat split; eauto.
    - intros [l [U [A B]]]; exists l. split; auto. split; auto. intros p I. destruct (A p I) as [C [M S]].
      split; auto. split; eauto.
  Qed.

  (** So the theorems do not speak of nothing: a program without negation has a stable model. *)
  Theorem least_model_is_stable : forall rules D,
    (forall rl, In rl rules -> positive (body rl) = true) -> stable rules D (least_model rules D).
  Proof.
    intros rules D Pos. split.
    - split.
      + intros p r t H P N [C _]. auto.
      + intros rl I v t u r B S E P N C. destruct C as [C1 C2]. eapply C2; eauto.
        eapply sat_mono; [|eapply sat_positive; [apply Pos; exact I | exact B]].
        intros p' r' t' L. apply (L P N). split; assumption.
    - intros P C p r t L. eapply L; eauto.
  Qed.
End Language.
