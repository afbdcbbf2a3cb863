(** What each step of a certificate says is so, if what it calls absent is. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Totals Language Matching Counting Formulas Evaluation Groups Checker.
Import ListNotations.

Module Steps (L : LINE) (V : VALUES).
  Module Export C := Checker L V.
  Import L V.

  (** ** What certificates say *)
  Definition is_true (M : interpretation) (f : fact) : Prop := forall t, holds (at_times f) t = true -> M (of f) (args f) t.
  Definition are_true (M : interpretation) (w : world) : Prop := forall f, In f w -> is_true M f.
  Definition truly_absent (M : interpretation) (a : absence) : Prop :=
    match a with
    | NoRows p q s => forall r t, matches q r = true -> holds s t = true -> ~ M p r t
    | NoFormula f s => forall v t, holds s t = true -> ~ sat M M v f t
    | Valued f s _ => forall v t, holds s t = true -> sat M M v f t
    end.
  (** The data, as an interpretation. *)
  Definition as_given (w : world) : interpretation :=
    fun p r t => exists f, In f w /\ of f = p /\ args f = r /\ holds (at_times f) t = true.
  (** The promise: all that was given holds, and up to the cut nothing else will be given, but of what is left open.
      What comes later is open. *)
  Definition keeps_promise (pb : problem) (D : interpretation) : Prop :=
    (forall p r t, as_given (concat (data pb)) p r t -> D p r t) /\
    (forall p r t, is_in (open_ pb) p = false -> behind (promised pb) t = false -> D p r t ->
      as_given (concat (data pb)) p r t).

  (** ** Worlds *)
  Lemma row_eqb_true : forall a b, row_eqb a b = true -> a = b.
  Proof. apply list_eqb_true. intros a b. apply value_eqb_spec. Qed.
  Lemma row_eqb_refl : forall a, row_eqb a a = true.
  Proof. unfold row_eqb. induction a as [|x a IH]; simpl; auto. rewrite value_eqb_refl. auto. Qed.
  Lemma is_fact_true : forall p r f, is_fact p r f = true <-> of f = p /\ args f = r.
  Proof.
    intros p r f. unfold is_fact, is_of. rewrite andb_true_iff, Pos.eqb_eq. split.
    - intros [E R]. apply row_eqb_true in R. auto.
    - intros [<- <-]. rewrite row_eqb_refl. auto.
  Qed.

  Lemma holds_all : forall (l : list fact) t,
    holds (flat_map at_times l) t = true <-> exists f, In f l /\ holds (at_times f) t = true.
  Proof.
    intros l t; induction l as [|f l IH]; simpl.
    - split; [discriminate | intros [f [[] _]]].
    - rewrite holds_app, orb_true_iff, IH. split.
      + intros [H|[g [I H]]]; [exists f | exists g]; auto.
      + intros [g [[->|I] H]]; [left | right; exists g]; auto.
  Qed.
  Lemma times_in_spec : forall w p r t, holds (times_in w p r) t = true <-> as_given w p r t.
  Proof.
    intros w p r t. unfold times_in, as_given. rewrite holds_all. split; intros [f H]; exists f.
    - destruct H as [I H]. apply filter_In in I as [I E]. apply is_fact_true in E. tauto.
    - split; [|tauto]. apply filter_In. split; [tauto|]. apply is_fact_true. tauto.
  Qed.
  Lemma given_true : forall M w p r t, are_true M w -> as_given w p r t -> M p r t.
  Proof. intros M w p r t T [f [I [<- [<- H]]]]. apply (T f I); auto. Qed.
  Lemma given_row : forall w p r t, as_given w p r t -> In r (rows_in w p).
  Proof.
    intros w p r t [f [I [E [<- _]]]]. apply in_map. apply filter_In. split; auto.
    unfold is_of. apply Pos.eqb_eq. auto.
  Qed.
  Lemma add_true : forall M f w, is_true M f -> are_true M w -> are_true M (add f w).
  Proof.
    intros M f w F. induction w as [|g w IH]; intros W h I; simpl in I.
    - destruct I as [<-|[]]. intros t H. simpl in H. rewrite normal_holds in H. apply F. auto.
    - assert (W' : are_true M w) by (intros x Ix; apply W; right; auto).
      destruct (is_fact (of f) (args f) g) eqn:E; destruct I as [<-|I].
      + intros t H. simpl in H. rewrite union_holds in H. apply is_fact_true in E as [E1 E2].
        apply orb_true_iff in H as [H|H]; simpl.
        * rewrite E1, E2. apply F. auto.
        * apply (W g (or_introl eq_refl)); auto.
      + apply W'; auto.
      + apply W; left; auto.
      + apply IH; auto.
  Qed.
  Lemma adds_true : forall M l w, are_true M l -> are_true M w -> are_true M (adds l w).
  Proof.
    unfold adds. induction l as [|f l IH]; intros w A W; simpl; auto. apply IH.
    - intros g I; apply A; right; auto.
    - apply add_true; auto. apply A; left; auto.
  Qed.

  (** ** Rules *)
  Lemma spoken_spec : forall bs s u, holds (spoken bs s) u = true <-> exists t, holds s t = true /\ speaks bs t u.
  Proof.
    induction bs as [|[d r] bs IH]; intros s u; simpl.
    - split; [intros H; exists u; auto | intros [t [H ->]]; auto].
    - rewrite IH. split.
      + intros [m [H S]]. apply moved_spec in H as [t [H M]]. exists t. split; auto. exists m. split; auto.
        destruct d; exact M.
      + intros [t [H [m [M S]]]]. exists m. split; auto. apply moved_spec. exists t. split; auto. destruct d; exact M.
  Qed.

  Lemma whole_matches : forall q r, whole q = Some r -> matches q r = true.
  Proof.
    induction q as [|[a|] q IH]; intros r H; simpl in H; try discriminate.
    - inversion H. auto.
    - destruct (whole q) as [r'|] eqn:E; [|discriminate]. simpl in H. inversion H. simpl. rewrite value_eqb_refl.
      simpl. apply IH. auto.
  Qed.

  (** What a rule surely gives holds in every model that the knowledge is true of. *)
  Lemma head_true : forall k rs D M rl e q r u, valid k M M -> model rs D M -> In rl rs ->
    patterned e (head_args rl) = Some q -> whole q = Some r ->
    holds (spoken (boxes rl) (truth k Surely e (body rl))) u = true -> M (head rl) r u.
  Proof.
    intros k rs D M rl e q r u Va [_ Mo] I Eq W H. apply spoken_spec in H as [t [H S]].
    pose proof (truth_right k M M Va (body rl) Surely e (filled e) t (filled_agrees e)) as T. simpl in T.
    pose proof (patterned_spec (head_args rl) e (filled e) (filled_agrees e)) as P. rewrite Eq in P. destruct P as [_ P].
    eapply Mo; eauto.
  Qed.
  Lemma given_by_true : forall k rs D M rl r u hints, valid k M M -> model rs D M -> In rl rs ->
    holds (given_by k rl r hints) u = true -> M (head rl) r u.
  Proof.
    intros k rs D M rl r u hints Va Mo I H. unfold given_by in H. apply any_of_holds in H as [h [_ H]].
    destruct (unify h (head_args rl) r); [|discriminate].
    apply any_of_holds in H as [e' [_ H]]. destruct (patterned e' (head_args rl)) as [q|] eqn:Eq; [|discriminate].
    destruct (whole q) as [r'|] eqn:W; [|discriminate]. destruct (row_eqb r r') eqn:R; [|discriminate].
    apply row_eqb_true in R. subst r'. eapply head_true; eauto.
  Qed.
  Lemma all_given_true : forall k rs D M rl, valid k M M -> model rs D M -> In rl rs -> are_true M (all_given k rl).
  Proof.
    intros k rs D M rl Va Mo I f If. unfold all_given in If. apply in_flat_map in If as [e [_ If]].
    destruct (patterned e (head_args rl)) as [q|] eqn:Eq; [|contradiction].
    destruct (whole q) as [r|] eqn:W; [|contradiction].
    destruct (spoken (boxes rl) (truth k Surely e (body rl))) as [|x l] eqn:S; [contradiction|].
    destruct If as [<-|[]]. intros t H. change (holds (x :: l) t = true) in H. rewrite <- S in H. simpl.
    eapply head_true; eauto.
  Qed.

  (** ** Premises *)
  Lemma covers_matches : forall w q r, covers w q = true -> matches q r = true -> matches w r = true.
  Proof.
    induction w as [|[a|] w IH]; intros [|[b|] q] [|x r] H K; simpl in *; try discriminate; auto.
    - apply andb_true_iff in H as [H1 H2]. apply andb_true_iff in K as [K1 K2].
      apply value_eqb_spec in H1, K1. subst. rewrite value_eqb_refl. simpl. eapply IH; eauto.
    - apply andb_true_iff in K as [K1 K2]. eapply IH; eauto.
    - eapply IH; eauto.
  Qed.
  Lemma known_by_valid : forall M w l, are_true M w -> (forall a, In a l -> truly_absent M a) -> valid (known_by w l) M M.
  Proof.
    intros M w l W A. split; simpl.
    - intros p q r t Q H. rewrite Q, normal_holds in H. apply times_in_spec in H. eapply given_true; eauto.
    - intros m p q r t Hm H Q. destruct m; [contradiction| |]; rewrite others_holds; apply negb_true_iff;
        (match goal with |- holds ?s t = false => destruct (holds s t) eqn:E; auto end; exfalso;
         unfold holds in E; apply existsb_exists in E as [s [I E]];
         apply in_flat_map in I as [[p' q' s'| |] [Ia I]]; try contradiction;
         destruct (Pos.eqb_spec p p'); [subst p'|contradiction];
         simpl in I; destruct (covers q' q) eqn:Cv; [|contradiction];
         refine (A _ Ia r t _ _ H); [eapply covers_matches; eauto | apply holds_spec; exists s; auto]).
    - intros m p l' r t Hm R. destruct m; [contradiction| |]; discriminate.
    - intros g s t I H v. apply in_flat_map in I as [[|f s'|] [Ia I]]; try contradiction.
      destruct I as [I|[]]. inversion I. subst. apply (A _ Ia v t H).
    - intros g s t I H v. apply in_flat_map in I as [[| |f s' look] [Ia I]]; try contradiction.
      destruct I as [I|[]]. inversion I. subst. apply (A _ Ia v t H).
  Qed.

  (** ** Certificates, given that what they call absent is so *)
  Fixpoint proof_induction (P : proof -> Prop)
    (given : forall k f, P (Given k f)) (lemma : forall f, P (Lemma_ f))
    (parts : forall f l, (forall x, In x l -> P x) -> P (Parts f l))
    (step : forall f n hints l, (forall x, In x l -> P x) -> P (Step f n hints l))
    (gone : forall a n, P (Absent a n))
    (counted : forall f s look n more l, (forall x, In x l -> P x) -> P (Aggregated f s look n more l)) (x : proof) : P x :=
    let all := fix all (l : list proof) : forall x, In x l -> P x :=
      match l with
      | [] => fun _ i => match i with end
      | y :: r => fun x i => match i with
          | or_introl e => eq_ind y P (proof_induction P given lemma parts step gone counted y) x e
          | or_intror j => all r x j end
      end in
    match x with
    | Given k f => given k f
    | Lemma_ f => lemma f
    | Parts f l => parts f l (all l)
    | Step f n hints l => step f n hints l (all l)
    | Absent a n => gone a n
    | Aggregated f s look n more l => counted f s look n more l (all l)
    end.

  (** All absences of a proof, with the tables in which they are looked up. *)
  Fixpoint rests_on (x : proof) : list (absence * nat) :=
    match x with
    | Given _ _ | Lemma_ _ => []
    | Parts _ l | Step _ _ _ l => flat_map rests_on l
    | Absent a n => [(a, n)]
    | Aggregated f s look n _ l => (Valued f s look, n) :: flat_map rests_on l
    end.

  Definition says (M : interpretation) (x : proof) : Prop :=
    are_true M (facts_of x) /\ forall a, In a (absences_of x) -> truly_absent M a.
  Lemma says_claim : forall M x f, says M x -> claim x = Some f -> is_true M f.
  Proof. intros M x f [S _] C. apply S. destruct x; simpl in *; inversion C; subst; simpl; auto. Qed.
  Lemma says_fact : forall M x f, claim x = Some f -> is_true M f -> says M x.
  Proof.
    intros M x f C T. split.
    - intros g I. destruct x; simpl in *; inversion C; subst; destruct I as [<-|[]]; auto.
    - intros a I. destruct x; simpl in *; try discriminate; contradiction.
  Qed.
  Lemma known_from_valid : forall M l, (forall x, In x l -> says M x) -> valid (known_from l) M M.
  Proof.
    intros M l S. apply known_by_valid.
    - apply adds_true; [|intros h []]. intros h I. apply in_flat_map in I as [y [Iy I]]. destruct (S y Iy) as [F _]. apply F; auto.
    - intros a I. apply in_flat_map in I as [y [Iy I]]. destruct (S y Iy) as [_ A]. apply A; auto.
  Qed.

  Lemma expect_true : forall b why, expect b why = None -> b = true.
  Proof. intros [] why; simpl; congruence. Qed.
  Lemma and_then_true : forall a b, and_then a b = None -> a = None /\ b = None.
  Proof. intros [] b; simpl; [discriminate | auto]. Qed.
  Lemma checks_all : forall (g : proof -> verdict) l,
    fold_right (fun x r => and_then (g x) r) None l = None -> forall x, In x l -> g x = None.
  Proof.
    induction l as [|y l IH]; simpl; intros H x I; [contradiction|]. apply and_then_true in H as [H1 H2].
    destruct I as [<-|I]; auto.
  Qed.

  Lemma check_right : forall pb tables lemmas D M,
    model (rules pb) D M -> (forall p r t, as_given (concat (data pb)) p r t -> D p r t) -> are_true M lemmas ->
    forall x above, (forall a n, In (a, n) (rests_on x) -> check_absence tables a n = None -> truly_absent M a) ->
    check pb tables lemmas above x = None -> says M x.
  Proof.
    intros pb tables lemmas D M Mo Da Le. induction x using proof_induction; intros above Ab Ch.
    - simpl in Ch. unfold check_given in Ch. destruct (nth_error (data pb) k) as [w|] eqn:N; [|discriminate].
      apply expect_true in Ch. eapply says_fact; [reflexivity|]. intros t H.
      apply (within_holds _ _ _ Ch), times_in_spec in H. apply Mo, Da.
      destruct H as [g [I H]]. exists g. split; auto. apply in_concat. exists w. split; auto. eapply nth_error_In; eauto.
    - simpl in Ch. apply expect_true in Ch. eapply says_fact; [reflexivity|]. intros t H.
      apply (within_holds _ _ _ Ch), times_in_spec in H. eapply given_true; eauto.
    - simpl in Ch. apply and_then_true in Ch as [Ch Cp]. apply expect_true in Ch.
      apply andb_true_iff in Ch as [Ch _]. apply andb_true_iff in Ch as [Cs Cw].
      eapply says_fact; [reflexivity|]. intros t H'. apply (within_holds _ _ _ Cw), holds_all in H' as [g [I H']].
      unfold claims in I. apply in_flat_map in I as [y [Iy I]].
      destruct (claim y) as [g'|] eqn:Cl; [|contradiction]. destruct I as [<-|[]].
      pose proof (checks_all _ _ Cp y Iy) as Cy.
      assert (Sy : says M y).
      { apply (H y Iy above); auto. intros a n In'. apply Ab. simpl. apply in_flat_map. exists y; auto. }
      rewrite forallb_forall in Cs. specialize (Cs y Iy). rewrite Cl in Cs. apply is_fact_true in Cs as [C1 C2].
      assert (is_true M g') by (eapply says_claim; eauto).
      rewrite <- C1, <- C2. auto.
    - simpl in Ch. apply and_then_true in Ch as [_ Ch]. apply and_then_true in Ch as [Cs Cp].
      eapply says_fact; [reflexivity|]. intros t H'. unfold check_step in Cs.
      destruct (nth_error (rules pb) n) as [rl|] eqn:N; [|discriminate]. apply expect_true in Cs.
      apply andb_true_iff in Cs as [C1 C2]. apply Pos.eqb_eq in C1. rewrite <- C1.
      assert (All : forall y, In y l -> says M y).
      { intros y Iy. apply (H y Iy (f :: above)); [|apply (checks_all _ _ Cp y Iy)].
        intros a m I. apply Ab. simpl. apply in_flat_map. exists y; auto. }
      apply (within_holds _ _ _ C2) in H'. eapply given_by_true; [|exact Mo|eapply nth_error_In; exact N|exact H'].
      apply known_from_valid. exact All.
    - simpl in *. split; [intros g []|]. intros b [<-|[]]. apply (Ab a n); auto.
    - simpl in Ch. apply and_then_true in Ch as [Ca Ch]. apply and_then_true in Ch as [_ Cp].
      assert (All : forall y, In y l -> says M y).
      { intros y Iy. apply (H y Iy above); [|apply (checks_all _ _ Cp y Iy)].
        intros a m I. apply Ab. simpl. right. apply in_flat_map. exists y; auto. }
      split.
      + intros g I. simpl in I. apply in_flat_map in I as [y [Iy I]]. destruct (All y Iy) as [F _]. apply F; auto.
      + intros a I. simpl in I. destruct I as [<-|I].
        * apply (Ab _ n); [left; reflexivity | exact Ca].
        * apply in_flat_map in I as [y [Iy I]]. destruct (All y Iy) as [_ A]. apply A; auto.
  Qed.

  Lemma lemmas_right : forall pb tables D M,
    model (rules pb) D M -> (forall p r t, as_given (concat (data pb)) p r t -> D p r t) ->
    forall l lemmas w, are_true M lemmas ->
    (forall a n, In (a, n) (flat_map rests_on l) -> check_absence tables a n = None -> truly_absent M a) ->
    check_lemmas pb tables lemmas l = (None, w) -> are_true M w.
  Proof.
    intros pb tables D M Mo Da. induction l as [|x l IH]; intros lemmas w Le Ab Ch; simpl in Ch.
    - inversion Ch. subst. auto.
    - destruct (claim x) as [f|] eqn:Cl; [|discriminate].
      destruct (check pb tables lemmas [] x) eqn:Cx; [discriminate|].
      assert (Sx : says M x).
      { eapply check_right; eauto. intros a n I. apply Ab. simpl. apply in_or_app. auto. }
      apply (IH _ _) in Ch; auto.
      + apply add_true; auto. eapply says_claim; eauto.
      + intros a n I. apply Ab. simpl. apply in_or_app. auto.
  Qed.

  Lemma holds_right : forall pb tables D M f lemmas x,
    model (rules pb) D M -> (forall p r t, as_given (concat (data pb)) p r t -> D p r t) ->
    (forall a n, In (a, n) (flat_map rests_on (lemmas ++ [x])) -> check_absence tables a n = None -> truly_absent M a) ->
    check_holds pb tables f lemmas x = None -> is_true M f.
  Proof.
    intros pb tables D M f lemmas x Mo Da Ab Ch. unfold check_holds in Ch.
    destruct (check_lemmas pb tables [] lemmas) as [[why|] w] eqn:Cl; [discriminate|].
    assert (W : are_true M w).
    { eapply lemmas_right; [exact Mo|exact Da| |  |exact Cl].
      - intros g [].
      - intros a n I. apply Ab. rewrite flat_map_app. apply in_or_app. auto. }
    destruct (claim x) as [g|] eqn:Cx; [|discriminate]. apply and_then_true in Ch as [_ Ch].
    apply and_then_true in Ch as [C1 C2].
    apply expect_true in C1. apply andb_true_iff in C1 as [C1 _]. apply andb_true_iff in C1 as [C1 C3].
    apply is_fact_true in C1 as [E1 E2].
    assert (Sx : says M x).
    { eapply check_right; eauto. intros a n I. apply Ab. rewrite flat_map_app. apply in_or_app. right.
      simpl. rewrite app_nil_r. auto. }
    assert (T : is_true M g) by (eapply says_claim; eauto).
    intros t H. rewrite <- E1, <- E2. apply T. apply (within_holds _ _ _ C3 H).
  Qed.
End Steps.
