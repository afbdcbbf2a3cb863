(** What is accepted holds. The theorems are at the end. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Language Evaluation Checker.
Import ListNotations.

Module Soundness (L : LINE) (V : VALUES).
  Module Export C := Checker L V.
  Import L V.

  (** ** What certificates say *)
  Definition is_true (M : interpretation) (f : fact) : Prop := forall t, holds (at_times f) t = true -> M (of f) (args f) t.
  Definition are_true (M : interpretation) (w : world) : Prop := forall f, In f w -> is_true M f.
  Definition truly_absent (M : interpretation) (a : absence) : Prop :=
    match a with
    | NoRows p q s => forall r t, matches q r = true -> holds s t = true -> ~ M p r t
    | NoFormula f s => forall v t, holds s t = true -> ~ sat M M v f t
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
  Lemma given_by_true : forall k rs D M rl r u, valid k M M -> model rs D M -> In rl rs ->
    holds (given_by k rl r) u = true -> M (head rl) r u.
  Proof.
    intros k rs D M rl r u Va Mo I H. unfold given_by in H. destruct (unify [] (head_args rl) r); [|discriminate].
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
         apply in_flat_map in I as [[p' q' s'|] [Ia I]]; [|contradiction];
         destruct (Pos.eqb_spec p p'); [subst p'|contradiction];
         simpl in I; destruct (covers q' q) eqn:Cv; [|contradiction];
         refine (A _ Ia r t _ _ H); [eapply covers_matches; eauto | apply holds_spec; exists s; auto]).
    - intros m p l' r t Hm R. destruct m; [contradiction| |]; discriminate.
    - intros g s t I H v. apply in_flat_map in I as [[|f s'] [Ia I]]; [contradiction|].
      destruct I as [I|[]]. inversion I. subst. apply (A _ Ia v t H).
  Qed.

  (** ** Certificates, given that what they call absent is so *)
  Fixpoint proof_induction (P : proof -> Prop)
    (given : forall k f, P (Given k f)) (lemma : forall f, P (Lemma_ f))
    (parts : forall f l, (forall x, In x l -> P x) -> P (Parts f l))
    (step : forall f n l, (forall x, In x l -> P x) -> P (Step f n l))
    (gone : forall a n, P (Absent a n)) (x : proof) : P x :=
    let all := fix all (l : list proof) : forall x, In x l -> P x :=
      match l with
      | [] => fun _ i => match i with end
      | y :: r => fun x i => match i with
          | or_introl e => eq_ind y P (proof_induction P given lemma parts step gone y) x e
          | or_intror j => all r x j end
      end in
    match x with
    | Given k f => given k f
    | Lemma_ f => lemma f
    | Parts f l => parts f l (all l)
    | Step f n l => step f n l (all l)
    | Absent a n => gone a n
    end.

  (** All absences of a proof, with the tables in which they are looked up. *)
  Fixpoint rests_on (x : proof) : list (absence * nat) :=
    match x with
    | Given _ _ | Lemma_ _ => []
    | Parts _ l | Step _ _ l => flat_map rests_on l
    | Absent a n => [(a, n)]
    end.

  Definition says (M : interpretation) (x : proof) : Prop :=
    match x with Absent a _ => truly_absent M a | _ => forall f, claim x = Some f -> is_true M f end.

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
      apply expect_true in Ch. intros g E t H. inversion E. subst g.
      apply (within_holds _ _ _ Ch), times_in_spec in H. apply Mo, Da.
      destruct H as [g [I H]]. exists g. split; auto. apply in_concat. exists w. split; auto. eapply nth_error_In; eauto.
    - simpl in Ch. apply expect_true in Ch. intros g E t H. inversion E. subst g.
      apply (within_holds _ _ _ Ch), times_in_spec in H. eapply given_true; eauto.
    - simpl in Ch. apply and_then_true in Ch as [Ch Cp]. apply expect_true in Ch.
      apply andb_true_iff in Ch as [Ch _]. apply andb_true_iff in Ch as [Cs Cw].
      intros g E t H'. inversion E. subst g. apply (within_holds _ _ _ Cw), holds_all in H' as [g [I H']].
      unfold claims in I. apply in_flat_map in I as [y [Iy I]].
      destruct (claim y) as [g'|] eqn:Cl; [|contradiction]. destruct I as [<-|[]].
      pose proof (checks_all _ _ Cp y Iy) as Cy.
      assert (Sy : says M y).
      { apply (H y Iy above); auto. intros a n In'. apply Ab. simpl. apply in_flat_map. exists y; auto. }
      rewrite forallb_forall in Cs. specialize (Cs y Iy). rewrite Cl in Cs. apply is_fact_true in Cs as [C1 C2].
      assert (is_true M g') by (destruct y; simpl in Cl; try discriminate; apply Sy; auto).
      rewrite <- C1, <- C2. auto.
    - simpl in Ch. apply and_then_true in Ch as [_ Ch]. apply and_then_true in Ch as [Cs Cp].
      intros g E t H'. inversion E. subst g. unfold check_step in Cs.
      destruct (nth_error (rules pb) n) as [rl|] eqn:N; [|discriminate]. apply expect_true in Cs.
      apply andb_true_iff in Cs as [C1 C2]. apply Pos.eqb_eq in C1. rewrite <- C1.
      assert (All : forall y, In y l -> says M y).
      { intros y Iy. apply (H y Iy (f :: above)); [|apply (checks_all _ _ Cp y Iy)].
        intros a m I. apply Ab. simpl. apply in_flat_map. exists y; auto. }
      apply (within_holds _ _ _ C2) in H'. eapply given_by_true; [|exact Mo|eapply nth_error_In; exact N|exact H'].
      apply known_by_valid.
      + apply adds_true; [|intros h []]. intros h I. unfold claims in I. apply in_flat_map in I as [y [Iy I]].
        destruct (claim y) as [h'|] eqn:Cl; [|contradiction]. destruct I as [<-|[]].
        specialize (All y Iy). destruct y; simpl in Cl; try discriminate; apply All; auto.
      + intros a I. unfold absences in I. apply in_flat_map in I as [y [Iy I]].
        destruct y; try contradiction. destruct I as [<-|[]]. apply (All _ Iy).
    - simpl in *. apply (Ab a n); auto.
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
      + apply add_true; auto. destruct x; simpl in Cl; try discriminate; apply Sx; auto.
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
    assert (T : is_true M g) by (destruct x; simpl in Cx; try discriminate; apply Sx; auto).
    intros t H. rewrite <- E1, <- E2. apply T. apply (within_holds _ _ _ C3 H).
  Qed.

  (** ** Tables *)
  Definition complete (M : interpretation) (w : world) (done : list predicate) (c : cut) : Prop :=
    forall p r t, is_in done p = true -> behind c t = false -> M p r t -> as_given w p r t.

  Lemma up_to_holds : forall c t, holds (up_to c) t = negb (behind c t).
  Proof. intros; unfold up_to. rewrite holds_one. unfold mem; simpl. rewrite behind_first. auto. Qed.

  Lemma matching_spec : forall w p q t, holds (times_matching w p q) t = true <->
    exists r, matches q r = true /\ as_given w p r t.
  Proof.
    intros w p q t. unfold times_matching. rewrite holds_all. split.
    - intros [f [I H]]. apply filter_In in I as [I E]. apply andb_true_iff in E as [E1 E2].
      unfold is_of in E1. apply Pos.eqb_eq in E1. exists (args f). split; auto. exists f; auto.
    - intros [r [Q [f [I [E1 [E2 H]]]]]]. exists f. split; auto. apply filter_In. split; auto.
      apply andb_true_iff. unfold is_of. rewrite Pos.eqb_eq, E2. auto.
  Qed.

  Lemma known_in_valid : forall P M w u maybe v there c, are_true M w -> complete P u maybe c -> complete M v there c ->
    valid (known_in w u maybe v there c) P M.
  Proof.
    intros P M w u maybe v there c W Cp Cm.
    assert (K : forall X w l p q r t, complete X w l c -> X p r t -> matches q r = true ->
      holds (if is_in l p then normal (times_matching w p q ++ [(c, last)]) else always) t = true).
    { clear. intros X w l p q r t Cx H Q. destruct (is_in l p) eqn:E; [|apply always_holds].
      rewrite normal_holds, holds_app, holds_one. destruct (behind c t) eqn:B.
      - apply orb_true_iff. right. apply mem_split. split; auto. apply behind_last.
      - apply orb_true_iff. left. apply matching_spec. exists r; auto. }
    split; simpl.
    - intros p q r t Q H. rewrite Q, normal_holds in H. apply times_in_spec in H. eapply given_true; eauto.
    - intros m p q r t Hm H Q. destruct m; [contradiction| |]; simpl in H; eapply K; eauto.
    - intros m p l r t Hm R B H. destruct m; [contradiction| |]; simpl in H.
      + destruct (is_in maybe p) eqn:E; inversion R. subst. eapply given_row; eauto.
      + destruct (is_in there p) eqn:E; inversion R. subst. eapply given_row; eauto.
    - intros g s t [].
  Qed.

  Lemma add_keeps : forall f w p r t, as_given w p r t -> as_given (add f w) p r t.
  Proof.
    intros f w p r t [g [I [E1 [E2 H]]]]. induction w as [|h w IH]; [contradiction|]. simpl.
    destruct (is_fact (of f) (args f) h) eqn:Q.
    - destruct I as [->|I].
      + exists (Fact (of g) (args g) (union (at_times f) (at_times g))). split; [left; auto|]. simpl.
        rewrite union_holds, H. rewrite orb_true_r. auto.
      + exists g. split; [right; auto | auto].
    - destruct I as [->|I].
      + exists g. split; [left; auto | auto].
      + destruct (IH I) as [x [Ix Hx]]. exists x. split; [right; auto | auto].
  Qed.
  Lemma adds_keep : forall l w p r t, as_given w p r t -> as_given (adds l w) p r t.
  Proof. unfold adds. induction l as [|f l IH]; intros w p r t H; simpl; auto. apply IH, add_keeps; auto. Qed.
  Lemma adds_complete : forall M l w done c, complete M w done c -> complete M (adds l w) done c.
  Proof. intros M l w done c Co p r t E B H. apply adds_keep. apply Co; auto. Qed.
  Lemma round_true : forall rs D M v there c l w, model rs D M -> (forall rl, In rl l -> In rl rs) ->
    complete M v there c -> are_true M w -> are_true M (round l v there c w).
  Proof.
    intros rs D M v there c l. unfold round. induction l as [|rl l IH]; intros w Mo Sub Co W; simpl; auto.
    apply IH; auto.
    - intros; apply Sub; right; auto.
    - apply adds_true; auto. intros f I. apply in_map_iff in I as [g [<- I]]. intros t H. simpl in H.
      rewrite meet_holds in H. apply andb_true_iff in H as [H _]. simpl.
      refine (all_given_true _ rs D M rl _ Mo (Sub rl (or_introl eq_refl)) g I t H).
      apply known_in_valid; auto. intros p r t' E. discriminate.
  Qed.
  Lemma again_keeps : forall (Q : world -> Prop) f, (forall w, Q w -> Q (f w)) -> forall n w, Q w -> Q (again n f w).
  Proof.
    intros Q f K. induction n as [|n IH]; intros w H; simpl; auto. destruct (same_world w (f w)); auto.
  Qed.
  Lemma wider_complete : forall M rs w maybe v there c done u, complete M u done c ->
    complete M (wider rs w maybe v there c u) done c.
  Proof.
    intros M rs w maybe v there c done. unfold wider. induction rs as [|rl rs IH]; intros u Co; simpl; auto.
    apply IH, adds_complete; auto.
  Qed.

  Lemma forward_speaks : forall bs t u c, forallb is_forward bs = true -> speaks bs t u ->
    behind c t = true -> behind c u = true.
  Proof.
    induction bs as [|[d r] bs IH]; intros t u c F S B; simpl in *.
    - subst. auto.
    - apply andb_true_iff in F as [F1 F2]. destruct S as [m [Mm S]]. unfold is_forward in F1; simpl in F1.
      destruct d; [discriminate|]. apply (IH m u c F2 S). apply (forward r m t c F1 Mm B).
  Qed.

  (** What the data and the rules do not go beyond is all there is: of all of [M] but what else would be of these predicates,
      nothing is missing to be closed, so the least such set lies within it. *)
  Lemma covered : forall pb D M w u own done v there c, stable (rules pb) D M -> keeps_promise pb D ->
    leb c (promised pb) = true -> (forall p, is_in own p = true -> is_in (open_ pb) p = false) ->
    are_true M w -> complete M u done c -> complete M v there c ->
    forallb (has_data u c) (filter (fun f => is_in own (of f)) (concat (data pb))) = true ->
    forallb (adds_nothing w u (own ++ done) v there c) (filter (fun rl => is_in own (head rl)) (rules pb)) = true ->
    complete M u (own ++ done) c.
  Proof.
    intros pb D M w u own done v there c [Mo St] [Ka Kb] Pr Op W Cu Cv Hd Hn.
    set (mine := filter (fun rl => is_in own (head rl)) (rules pb)) in *.
    set (given := filter (fun f => is_in own (of f)) (concat (data pb))) in *.
    set (U := fun p r t0 => M p r t0 /\ (is_in own p = true -> behind c t0 = false -> as_given u p r t0)).
    assert (Cl : closed (rules pb) D U M).
    { split.
      - intros p r t Du. split; [apply Mo; auto|]. intros Ip B.
        assert (G : as_given (concat (data pb)) p r t).
        { apply Kb; auto. destruct (behind (promised pb) t) eqn:E; auto.
          rewrite (behind_mono _ _ _ Pr E) in B. discriminate. }
        destruct G as [f [I [E1 [E2 Hu]]]]. rewrite forallb_forall in Hd.
        assert (If : In f given) by (apply filter_In; split; auto; rewrite E1; auto).
        specialize (Hd f If). unfold has_data in Hd.
        apply (within_holds _ _ t) in Hd; [|rewrite meet_holds, up_to_holds, Hu, B; auto].
        apply times_in_spec in Hd. rewrite E1, E2 in Hd. auto.
      - intros rl Irl x s t r Sa Sp Ev. split.
        { apply Mo with (v := x) (t := s); auto. apply (sat_mono (body rl) U M M x s); auto. intros p' r' t0 [X _]; auto. }
        intros Io B. rewrite forallb_forall in Hn.
        assert (Im : In rl mine) by (apply filter_In; auto). specialize (Hn rl Im). unfold adds_nothing in Hn.
        set (k := known_in w u (own ++ done) v there c) in *.
        apply andb_true_iff in Hn as [Hl Hn].
        assert (Va : valid k U M).
        { apply known_in_valid; auto. intros p' r' t0 E B' [X Y]. unfold is_in in E. rewrite existsb_app in E.
          apply orb_true_iff in E as [E|E]; auto. }
        assert (Bs : behind c s = false).
        { destruct (behind c s) eqn:E; auto. apply orb_true_iff in Hl as [Hl|Hl].
          - apply andb_true_iff in Hl as [_ Hl]. rewrite (forward_speaks _ _ _ _ Hl Sp E) in B. discriminate.
          - rewrite (last_never _ s Hl) in E. discriminate. }
        destruct (candidates_complete (rows k Maybe) (body rl) [] x (nil_agrees x)) as [e [Ie Ae]].
        { apply (requirements_met Maybe k U M) with (f := body rl) (t := s); auto; [discriminate|].
          apply orb_true_iff in Hl as [Hl|Hl].
          - left. apply andb_true_iff in Hl as [Hl _]. auto.
          - right. intros y. apply last_never; auto. }
        rewrite forallb_forall in Hn. specialize (Hn e Ie).
        pose proof (patterned_spec (head_args rl) e x Ae) as P.
        destruct (patterned e (head_args rl)) as [q|]; [|congruence]. destruct P as [_ P].
        assert (T : holds (truth k Maybe e (body rl)) s = true) by (apply (truth_right k U M Va (body rl) Maybe e x s Ae); auto).
        assert (Hs : holds (possible k c e rl) t = true).
        { unfold possible. rewrite meet_holds, up_to_holds, B, andb_true_r. apply spoken_spec. exists s. split; auto.
          rewrite meet_holds, up_to_holds, T, Bs. auto. }
        apply orb_true_iff in Hn as [Hn|Hn].
        { rewrite (nothing_holds _ t Hn) in Hs. discriminate. }
        destruct (whole q) as [r'|] eqn:Wq; [|discriminate].
        specialize (P r' eq_refl). rewrite Ev in P. inversion P. subst r'.
        apply (within_holds _ _ _ Hn), times_in_spec in Hs. auto. }
    intros p r t E B Hm. destruct (St U Cl p r t Hm) as [_ X].
    unfold is_in in E. rewrite existsb_app in E. apply orb_true_iff in E as [E|E]; auto.
  Qed.

  Lemma by_turns_right : forall pb D M own done base c, stable (rules pb) D M -> keeps_promise pb D ->
    leb c (promised pb) = true -> (forall p, is_in own p = true -> is_in (open_ pb) p = false) ->
    complete M base done c ->
    forall fuel turns w v there w' u, are_true M w -> complete M v there c ->
    by_turns turns fuel (filter (fun rl => is_in own (head rl)) (rules pb)) (filter (fun f => is_in own (of f)) (concat (data pb)))
      own done base c w v there = Some (w', u) ->
    are_true M w' /\ complete M u (own ++ done) c.
  Proof.
    intros pb D M own done base c St Ke Pr Op Cb fuel.
    set (mine := filter (fun rl => is_in own (head rl)) (rules pb)).
    set (given := filter (fun f => is_in own (of f)) (concat (data pb))).
    assert (Turn : forall w v there start, are_true M w -> complete M v there c -> complete M start done c ->
      let um := again fuel (wider mine w (own ++ done) v there c) start in
      forallb (has_data um c) given = true -> forallb (adds_nothing w um (own ++ done) v there c) mine = true ->
      complete M um (own ++ done) c /\ are_true M (again fuel (round mine um (own ++ done) c) w)).
    { intros w v there start W Cv Cs um Hd Hn.
      assert (Cu : complete M um (own ++ done) c).
      { apply (covered pb D M w um own done v there c); auto. unfold um.
        apply (again_keeps (fun u => complete M u done c)); auto. intros x Hx. apply wider_complete; auto. }
      split; auto. apply (again_keeps (are_true M)); auto. intros x Hx.
      apply (round_true (rules pb) D M um (own ++ done) c mine x); [apply St | | exact Cu | exact Hx].
      intros rl I. apply filter_In in I. tauto. }
    induction turns as [|turns IH]; intros w v there w' u W Cv H; cbn [by_turns] in H;
      match type of H with (if ?b then _ else _) = _ => destruct b eqn:Ok; [|discriminate] end;
      apply andb_true_iff in Ok as [Hd Hn];
      (edestruct (Turn w v there) as [Cu W1]; [exact W | exact Cv | | exact Hd | exact Hn |]);
      try (apply adds_complete; exact Cb).
    - inversion H. subst. split; [exact W1 | exact Cu].
    - match type of H with (if ?b then _ else _) = _ => destruct b end.
      + inversion H. subst. split; [exact W1 | exact Cu].
      + match type of H with match ?b with _ => _ end = _ => destruct b as [[w2 u2]|] eqn:R end.
        * inversion H. subst. eapply IH; [exact W1 | exact Cu | exact R].
        * inversion H. subst. split; [exact W1 | exact Cu].
  Qed.

  Lemma stratum_right : forall pb D M fuel t own t', stable (rules pb) D M -> keeps_promise pb D ->
    leb (until_ t) (promised pb) = true -> (forall p, is_in own p = true -> is_in (open_ pb) p = false) ->
    are_true M (held t) -> complete M (upper t) (closed_ t) (until_ t) ->
    stratum fuel (rules pb) (concat (data pb)) t own = Some t' ->
    are_true M (held t') /\ complete M (upper t') (closed_ t') (until_ t') /\ until_ t' = until_ t.
  Proof.
    intros pb D M fuel t own t' St Ke Pr Op W Co H. unfold stratum in H.
    destruct (by_turns _ _ _ _ _ _ _ _ _ _ _) as [[w u]|] eqn:B; [|discriminate]. inversion H. subst t'. clear H. simpl.
    eapply by_turns_right in B; eauto.
    - destruct B; auto.
    - apply (again_keeps (are_true M)).
      + intros x Hx. eapply (round_true (rules pb) D M); [apply St | | exact Co | exact Hx].
        intros rl I; apply filter_In in I; tauto.
      + apply adds_true; auto. intros f I s Hs. destruct St as [[Mo _] _], Ke as [Ka _]. apply Mo, Ka.
        apply filter_In in I as [I _]. exists f; auto.
  Qed.

  Definition right_table (M : interpretation) (t : table) : Prop :=
    are_true M (held t) /\ complete M (upper t) (closed_ t) (until_ t).

  Lemma tabulate_right : forall pb D M fuel r t, stable (rules pb) D M -> keeps_promise pb D ->
    tabulate fuel pb r = Some t -> right_table M t.
  Proof.
    intros pb D M fuel [pl c] t St Ke H. unfold tabulate, tabulated in H. simpl in H.
    destruct (leb c (promised pb) && _) eqn:Pr; [|discriminate]. apply andb_true_iff in Pr as [Pr Op].
    rewrite forallb_forall in Op.
    assert (G : forall pl t0 t, (forall p, In p (concat pl) -> is_in (open_ pb) p = false) -> until_ t0 = c -> right_table M t0 ->
      strata fuel (rules pb) (concat (data pb)) pl t0 = Some t -> right_table M t).
    { clear H t. clear Op. induction pl0 as [|own pl0 IH]; intros t0 t Op U [R1 R2] H; simpl in H.
      - inversion H. subst. split; auto.
      - destruct (stratum fuel (rules pb) (concat (data pb)) t0 own) as [t1|] eqn:E; [|discriminate].
        destruct (stratum_right pb D M fuel t0 own t1 St Ke) as [A [B C]]; auto.
        { rewrite U. auto. }
        { intros p I. apply Op. simpl. apply in_or_app. left. unfold is_in in I. apply existsb_exists in I as [q [I E']].
          apply Pos.eqb_eq in E'. subst. auto. }
        apply (IH t1 t); auto; [|congruence | split; auto]. intros p I. apply Op. simpl. apply in_or_app. auto. }
    apply (G pl (Table [] [] [] c) t); auto.
    { intros p I. specialize (Op p I). apply negb_true_iff; auto. }
    split; simpl.
    - intros f [].
    - intros p r u E. discriminate.
  Qed.

  Lemma is_absent_right : forall M t a, right_table M t -> is_absent t a = true -> truly_absent M a.
  Proof.
    intros M t [p q s|f s] [W Co] H; simpl in H.
    - apply andb_true_iff in H as [H Hm]. apply andb_true_iff in H as [Hi Hw]. intros r u Q Hs Hr.
      assert (B : behind (until_ t) u = false).
      { apply (within_holds _ _ u) in Hw; auto. rewrite up_to_holds in Hw. apply negb_true_iff; auto. }
      apply (nothing_holds _ u) in Hm. rewrite meet_holds, Hs in Hm. simpl in Hm.
      assert (X : holds (times_matching (upper t) p q) u = true) by (apply matching_spec; exists r; auto). congruence.
    - intros v u Hs Sa. apply (nothing_holds _ u) in H. rewrite meet_holds, Hs in H. simpl in H.
      set (k := known_in (held t) (upper t) (closed_ t) (upper t) (closed_ t) (until_ t)) in *.
      assert (Va : valid k M M) by (apply known_in_valid; auto).
      assert (Hm : Maybe <> Surely) by discriminate.
      rewrite (exists_maybe k M M Maybe [] f [] v u Va Hm (truth_right k M M Va f Maybe) (nil_agrees v) Sa) in H. discriminate.
  Qed.

  (** ** Rules that are left out

      What a program derives by rules that the checker does not know is to it as if it were given. Then what is stable
      for all rules is stable for those that it knows, and the theorems below speak of it. *)
  Theorem fewer_rules : forall all some (left_out : predicate -> Prop) D M,
    incl some all -> (forall rl, In rl all -> In rl some \/ left_out (head rl)) -> stable all D M ->
    stable some (fun p r t => D p r t \/ (left_out p /\ M p r t)) M.
  Proof.
    intros all some left_out D M I Out [[Mo1 Mo2] St]. split.
    - split.
      + intros p r t [H|[_ H]]; auto.
      + intros rl Ir. apply Mo2. apply I. exact Ir.
    - intros P [C1 C2] p r t Hm.
      assert (Q : closed all D (fun p r t => P p r t /\ M p r t) M).
      { split.
        - intros p' r' t' H. split; auto.
        - intros rl Ir v s u r' Sa Sp Ev.
          assert (Hh : M (head rl) r' u).
          { apply Mo2 with (v := v) (t := s); auto. apply (sat_mono (body rl) (fun p r t => P p r t /\ M p r t) M M v s); auto.
            intros p' r0 t0 [_ X]; exact X. }
          split; auto. destruct (Out rl Ir) as [Is|Lo].
          + apply (C2 rl Is) with (v := v) (t := s); auto.
            apply (sat_mono (body rl) (fun p r t => P p r t /\ M p r t) P M v s); auto. intros p' r0 t0 [X _]; exact X.
          + apply C1. right. auto. }
      apply (St _ Q p r t Hm).
  Qed.

  (** ** The theorems *)

  (** In every model of the rules and the data, whatever else it has, in which what the certificate calls absent is so,
      its fact holds at all its times. *)
  Theorem every_model : forall fuel pb asked f lemmas x D M,
    verify fuel pb asked (Holds f lemmas x) = None ->
    model (rules pb) D M -> (forall p r t, as_given (concat (data pb)) p r t -> D p r t) ->
    (forall a n, In (a, n) (flat_map rests_on (lemmas ++ [x])) -> truly_absent M a) ->
    is_true M f.
  Proof.
    intros fuel pb asked f lemmas x D M Ve Mo Da Ab. simpl in Ve. eapply holds_right; eauto.
  Qed.

  (** In every stable model of the rules and of data that keep the promise, its fact holds at all its times. *)
  Theorem stable_model : forall fuel pb asked f lemmas x D M,
    verify fuel pb asked (Holds f lemmas x) = None ->
    keeps_promise pb D -> stable (rules pb) D M -> is_true M f.
  Proof.
    intros fuel pb asked f lemmas x D M Ve Ke St. simpl in Ve.
    eapply holds_right; [apply St | apply Ke | | exact Ve].
    intros a n _ Ca. unfold check_absence in Ca.
    destruct (nth_error (map (tabulate fuel pb) asked) n) as [[t|]|] eqn:N; try discriminate.
    apply expect_true in Ca. apply nth_error_In in N. apply in_map_iff in N as [r [N _]].
    eapply is_absent_right; [|exact Ca]. eapply tabulate_right; eauto.
  Qed.

  (** A fact that is said not to hold does not hold at all its times. *)
  Theorem missing : forall fuel pb asked f D M,
    verify fuel pb asked (Missing f) = None ->
    keeps_promise pb D -> stable (rules pb) D M ->
    exists t, holds (at_times f) t = true /\ ~ M (of f) (args f) t.
  Proof.
    intros fuel pb asked f D M Ve Ke St. simpl in Ve. unfold check_missing in Ve.
    destruct (nth 0 (map (tabulate fuel pb) asked) None) as [t|] eqn:N; [|discriminate].
    destruct asked as [|r asked]; [discriminate|]. simpl in N.
    destruct (is_in (closed_ t) (of f)) eqn:I; [|discriminate].
    apply expect_true in Ve. apply negb_true_iff, something_holds in Ve as [u H].
    rewrite meet_holds, minus_times_holds, up_to_holds in H.
    apply andb_true_iff in H as [H B]. apply andb_true_iff in H as [H Nh].
    exists u. split; auto. intros Hm. apply negb_true_iff in Nh, B.
    destruct (tabulate_right pb D M fuel r t St Ke N) as [_ Co].
    assert (X : holds (times_in (upper t) (of f) (args f)) u = true) by (apply times_in_spec; apply Co; auto).
    congruence.
  Qed.
End Soundness.
