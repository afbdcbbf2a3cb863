(** What is accepted holds. The theorems are at the end. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Totals Language Matching Counting Formulas Evaluation Groups Checker Steps.
Import ListNotations.

Module Soundness (L : LINE) (V : VALUES).
  Module Export T := Steps L V.
  Import L V.

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
        assert (Hm : Maybe <> Surely) by discriminate.
        destruct (expanded_complete k U M Maybe (body rl) [] x s Va Hm (nil_agrees x)) as [e [Ie Ae]]; auto.
        { apply orb_true_iff in Hl as [Hl|Hl].
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
        apply filter_In in I as [I _]. apply in_map_iff in I as [g [<- I]]. apply filter_In in I as [I _].
        simpl in *. rewrite meet_holds in Hs. apply andb_true_iff in Hs as [Hs _]. exists g; auto.
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

  Lemma known_of_valid : forall M t, right_table M t -> valid (known_of t) M M.
  Proof. intros M t [W Co]. apply known_in_valid; auto. Qed.
  Lemma value_times_right : forall k M look f v u, valid k M M -> holds (value_times k look f) u = true -> sat M M v f u.
  Proof.
    intros k M look f v u Va H.
    assert (S : forall g e v t, agrees e v -> holds (truth k Surely e g) t = true -> sat M M v g t).
    { intros g e v0 t A. exact (truth_right k M M Va g Surely e v0 t A). }
    assert (My : forall g e v t, agrees e v -> sat M M v g t -> holds (truth k MaybeThere e g) t = true).
    { intros g e v0 t A. exact (truth_right k M M Va g MaybeThere e v0 t A). }
    assert (Fr : forall own, free_of own []) by (intros own x a L; discriminate).
    destruct f; try (eapply S; [apply nil_agrees | exact H]).
    - cbn [value_times] in H. pose proof (peval_spec result [] v (nil_agrees v)) as Pe.
      destruct (peval [] result) as [| |a]; try discriminate.
      apply holds_flat in H as [z [_ H]].
      destruct (judged_right M own r fn x f [] v a true _ u (nil_agrees v) (Fr own)
        (fun s ps I Mt => settled_right k M M own r f (fun e => truth k Surely e f) (fun e => truth k MaybeThere e f) [] z s ps v u Va
          (nil_agrees v) (Fr own) (S f) (My f) I Mt) H)
        as [l [U [C T]]].
      exists l. split; auto. split; auto. exists a. auto.
    - cbn [value_times] in H. apply holds_flat in H as [z [_ H]].
      eapply reached_right; [apply nil_agrees | apply Fr | | exact H].
      intros e v0 t A Ht. cbv beta in Ht. rewrite meet_holds in Ht. apply andb_true_iff in Ht as [Ht _]. apply (S f e v0 t A Ht).
  Qed.

  Lemma is_absent_right : forall M t a, right_table M t -> is_absent t a = true -> truly_absent M a.
  Proof.
    intros M t [p q s|f s|f s look] R H; simpl in H.
    - destruct R as [W Co]. apply andb_true_iff in H as [H Hm]. apply andb_true_iff in H as [Hi Hw]. intros r u Q Hs Hr.
      assert (B : behind (until_ t) u = false).
      { apply (within_holds _ _ u) in Hw; auto. rewrite up_to_holds in Hw. apply negb_true_iff; auto. }
      apply (nothing_holds _ u) in Hm. rewrite meet_holds, Hs in Hm. simpl in Hm.
      assert (X : holds (times_matching (upper t) p q) u = true) by (apply matching_spec; exists r; auto). congruence.
    - intros v u Hs Sa. apply (nothing_holds _ u) in H. rewrite meet_holds, Hs in H. simpl in H.
      set (k := known_of t) in *.
      assert (Va : valid k M M) by (apply known_of_valid; auto).
      assert (Hm : Maybe <> Surely) by discriminate.
      rewrite (anywhere_complete k M M Maybe f v u Va Hm Sa) in H. discriminate.
    - intros v u Hs. pose proof (known_of_valid M t R) as Va. apply (within_holds _ _ _ H) in Hs.
      destruct f; try (apply (value_times_right (known_of t) M look _ v u Va Hs)).
      cbn [valued_times] in Hs. rewrite stepped_spec in Hs. simpl. apply (value_times_right (known_of t) M look f v _ Va Hs).
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
    destruct (is_absent t a) eqn:Ia; [|discriminate]. apply nth_error_In in N. apply in_map_iff in N as [r [N _]].
    eapply is_absent_right; [|exact Ia]. eapply tabulate_right; eauto.
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
