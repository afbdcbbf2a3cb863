(** What is known of atoms; formulas that say the same; values put for variables; formulas that look at no later time. *)

From Coq Require Import Bool List PArith Arith.
From Tidelog Require Import Lines Sets Totals Language Matching Counting.
Import ListNotations.

Module Formulas (L : LINE) (V : VALUES).
  Module Export N := Counting L V.
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
    said : list (formula * times); (* formulas that surely hold *)
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
    valid_absent : forall g s t, In (g, s) (absent k) -> holds s t = true -> forall v, ~ sat N N v g t;
    valid_said : forall g s t, In (g, s) (said k) -> holds s t = true -> forall v, sat N N v g t
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
  Definition direction_eqb (a b : direction) : bool :=
    match a, b with Past, Past | Future, Future => true | _, _ => false end.
  Definition stretch_eqb (a b : stretch) : bool := cut_eqb (fst a) (fst b) && cut_eqb (snd a) (snd b).
  Definition function_eqb (a b : function) : bool :=
    match a, b with
    | Count, Count | Distinct, Distinct | Sum, Sum | Mean, Mean | Least, Least | Greatest, Greatest
    | Earliest, Earliest | Latest, Latest => true
    | Other o, Other p => statistic_eqb o p
    | _, _ => false
    end.
  Definition threshold_eqb (a b : threshold) : bool :=
    match a, b with
    | AtLeast n, AtLeast m | Differing n, Differing m => Nat.eqb n m
    | Summed c x, Summed d y => comparison_eqb c d && value_eqb x y
    | _, _ => false
    end.
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
    | Total x r fn a1 a2 a, Total y s gn b1 b2 b =>
        list_eqb Pos.eqb x y && stretch_eqb r s && function_eqb fn gn && term_eqb a1 b1 && term_eqb a2 b2 && formula_eqb a b
    | Enough x r th a1 a, Enough y s ti b1 b =>
        list_eqb Pos.eqb x y && stretch_eqb r s && threshold_eqb th ti && term_eqb a1 b1 && formula_eqb a b
    | _, _ => false
    end.

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
  Lemma function_eqb_true : forall a b, function_eqb a b = true -> a = b.
  Proof. intros [] [] E; simpl in E; try discriminate; auto. apply statistic_eqb_true in E. congruence. Qed.
  Lemma threshold_eqb_true : forall a b, threshold_eqb a b = true -> a = b.
  Proof.
    intros [] [] E; simpl in E; try discriminate; split_eqs; try (apply Nat.eqb_eq in E; congruence).
    apply comparison_eqb_true in H. apply value_eqb_spec in H0. congruence.
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
      | H : function_eqb _ _ = true |- _ => apply function_eqb_true in H
      | H : threshold_eqb _ _ = true |- _ => apply threshold_eqb_true in H
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
    | Total own r fn a b f => let e' := forget own e in Total own r fn (put_term e' a) (put_term e b) (put e' f)
    | Enough own r th a f => let e' := forget own e in Enough own r th (put_term e' a) (put e' f)
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
  Lemma measure_put : forall taken own a e v, (forall q, agrees e (with_row own q v)) -> forall l,
    measure taken own (put_term e a) v l = measure taken own a v l.
  Proof.
    intros taken own a e v A l. unfold measure. induction l as [|p l IH]; simpl; auto. rewrite put_term_eval, IH; auto.
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
    - assert (Af : forall q, agrees (forget own e) (with_row own q v))
        by (intros q; eapply forget_agrees; [exact A | apply with_row_but]).
      rewrite put_term_eval by auto.
      assert (C : forall p, counted (fun w u => sat N N w (put (forget own e) f) u) own r v t p
        <-> counted (fun w u => sat N N w f u) own r v t p).
      { intros p. unfold counted. rewrite (IHf (forget own e) (with_row own (fst p) v) N N (snd p) (Af (fst p))). tauto. }
      split; intros [l [U [H T]]]; exists l; (split; [exact U | split; [|]]).
      + intros p. rewrite H. apply C.
      + destruct T as [a Ta]. exists a. rewrite measure_put in Ta by auto. exact Ta.
      + intros p. rewrite H. symmetry. apply C.
      + destruct T as [a Ta]. exists a. rewrite measure_put by auto. exact Ta.
    - assert (Af : forall q, agrees (forget own e) (with_row own q v))
        by (intros q; eapply forget_agrees; [exact A | apply with_row_but]).
      assert (C : forall p, counted (fun w u => sat P N w (put (forget own e) f) u) own r v t p
        <-> counted (fun w u => sat P N w f u) own r v t p).
      { intros p. unfold counted. rewrite (IHf (forget own e) (with_row own (fst p) v) P N (snd p) (Af (fst p))). tauto. }
      split; intros [l [U [H T]]]; exists l; (split; [exact U | split; [intros p I; apply C, H; exact I|]]).
      + rewrite measure_put in T by auto. exact T.
      + rewrite measure_put by auto. exact T.
  Qed.

  (** ** Formulas that look at no later time *)
  Fixpoint looks_back (f : formula) : bool :=
    match f with
    | And f g | Or f g => looks_back f && looks_back g
    | Not _ f | Stepped _ f => looks_back f
    | Diamond Past r f | Box Past r f => leb zero (fst r) && looks_back f
    | Lasts Past r f g => leb zero (fst r) && looks_back f && looks_back g
    | Diamond _ _ _ | Box _ _ _ | Lasts _ _ _ _ => false
    | Total _ r _ _ _ f | Enough _ r _ _ f => leb zero (fst r) && looks_back f
    | _ => true
    end.

  Lemma box_time : forall d r t, is_empty r = false -> exists t', mem (dist d t t') r = true.
  Proof.
    intros d r t E. destruct (proper_mem (around d t r)) as [t' M]; [apply around_proper; auto|].
    rewrite mem_around in M. exists t'; auto.
  Qed.

  (** What a formula that looks back rests on is as early as itself. *)
  Lemma both_back : forall k f g, (looks_back f && looks_back g = true \/ forall u, behind (horizon k) u = false) ->
    (looks_back f = true \/ forall u, behind (horizon k) u = false) /\
    (looks_back g = true \/ forall u, behind (horizon k) u = false).
  Proof. intros k f g [B|B]; auto. apply andb_true_iff in B as [B C]. auto. Qed.
  Lemma one_back : forall k d r f t t', mem (dist d t t') r = true -> behind (horizon k) t = false ->
    (looks_back (Diamond d r f) = true \/ forall u, behind (horizon k) u = false) ->
    (looks_back f = true \/ forall u, behind (horizon k) u = false) /\ behind (horizon k) t' = false.
  Proof.
    intros k d r f t t' M H [B|B]; auto. destruct d; simpl in B; [|discriminate]. apply andb_true_iff in B as [Z B].
    split; auto. destruct (behind (horizon k) t') eqn:E; auto. rewrite (forward r t t' _ Z M E) in H. discriminate.
  Qed.
  Lemma right_back : forall k d r f g, (looks_back (Lasts d r f g) = true \/ forall u, behind (horizon k) u = false) ->
    looks_back (Diamond d r g) = true \/ forall u, behind (horizon k) u = false.
  Proof.
    intros k d r f g [B|B]; auto. left. destruct d; simpl in *; [|discriminate].
    apply andb_true_iff in B as [B C]. apply andb_true_iff in B as [Z _]. rewrite Z, C. auto.
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
    - destruct (both_back k f1 f2 B) as [B1 B2].
      apply in_app_or in I as [I|I]; [eapply IHf1 | eapply IHf2]; try apply Sa; eauto.
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
  Qed.
End Formulas.
