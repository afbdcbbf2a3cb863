(** Sets of times: lists of stretches, and what operators do with them, exactly. *)

From Coq Require Import Bool List.
From Tidelog Require Import Lines.
Import ListNotations.

Module Sets (L : LINE).
  Import L.

  Definition times : Type := list stretch.
  Definition always : times := [(first, last)].
  Definition holds (s : times) (t : time) : bool := existsb (mem t) s.
  Definition is_empty (s : stretch) : bool := leb (snd s) (fst s).

  Lemma holds_spec : forall s t, holds s t = true <-> exists x, In x s /\ mem t x = true.
  Proof. intros; apply existsb_exists. Qed.

  Lemma mem_split : forall t a b, mem t (a, b) = true <-> behind a t = true /\ behind b t = false.
  Proof. intros; unfold mem; simpl. rewrite andb_true_iff, negb_true_iff. reflexivity. Qed.

  Lemma always_holds : forall t, holds always t = true.
  Proof. intros; apply holds_spec. exists (first, last). split; [left; auto|]. apply mem_split. split; [apply behind_first | apply behind_last]. Qed.

  Lemma empty_mem : forall s t, is_empty s = true -> mem t s = false.
  Proof.
    intros [a b] t E. unfold is_empty in E; simpl in E. destruct (mem t (a, b)) eqn:M; auto.
    apply mem_split in M as [A B]. rewrite (behind_mono _ _ _ E A) in B. discriminate.
  Qed.

  Lemma proper_mem : forall s, is_empty s = false -> exists t, mem t s = true.
  Proof.
    intros [a b] E. unfold is_empty in E; simpl in E. destruct (point _ _ E) as [t [A B]].
    exists t. apply mem_split; auto.
  Qed.

  Lemma mem_proper : forall s t, mem t s = true -> is_empty s = false.
  Proof. intros s t M. destruct (is_empty s) eqn:E; auto. rewrite (empty_mem s t E) in M. discriminate. Qed.

  Lemma leb_refl : forall a, leb a a = true.
  Proof. intros; destruct (leb_total a a); auto. Qed.

  Lemma leb_false : forall a b, leb a b = false -> leb b a = true.
  Proof. intros a b E. destruct (leb_total a b) as [H|H]; congruence. Qed.

  (** ** Larger and smaller cuts *)
  Definition most (a b : cut) : cut := if leb a b then b else a.
  Definition least (a b : cut) : cut := if leb a b then a else b.

  Lemma behind_most : forall a b t, behind (most a b) t = behind a t && behind b t.
  Proof.
    intros; unfold most. destruct (leb a b) eqn:E.
    - destruct (behind b t) eqn:B; [rewrite (behind_mono _ _ _ E B)|rewrite andb_false_r]; auto.
    - apply leb_false in E. destruct (behind a t) eqn:A; [rewrite (behind_mono _ _ _ E A)|]; auto.
  Qed.
  Lemma behind_least : forall a b t, behind (least a b) t = behind a t || behind b t.
  Proof.
    intros; unfold least. destruct (leb a b) eqn:E.
    - destruct (behind b t) eqn:B; [rewrite (behind_mono _ _ _ E B)|rewrite orb_false_r]; auto.
    - apply leb_false in E. destruct (behind a t) eqn:A; [rewrite (behind_mono _ _ _ E A)|]; auto.
  Qed.

  (** ** One form of a set: sorted, and no stretch empty *)
  Fixpoint insert (s : stretch) (l : times) : times :=
    match l with
    | [] => [s]
    | x :: r => if leb (fst s) (fst x) then s :: l else x :: insert s r
    end.
  Fixpoint merge (s : stretch) (l : times) : times :=
    match l with
    | [] => [s]
    | x :: r =>
        if leb (fst s) (fst x) && leb (fst x) (snd s) then merge (fst s, most (snd s) (snd x)) r else s :: merge x r
    end.
  Definition merged (l : times) : times := match l with [] => [] | x :: r => merge x r end.
  Definition normal (l : times) : times :=
    merged (fold_right insert [] (filter (fun s => negb (is_empty s)) l)).

  Lemma insert_holds : forall s l t, holds (insert s l) t = mem t s || holds l t.
  Proof.
    intros s l t; induction l as [|x r IH]; simpl; auto. destruct (leb (fst s) (fst x)); simpl; auto.
    rewrite IH. destruct (mem t x), (mem t s); auto.
  Qed.
  Lemma merge_holds : forall l s t, holds (merge s l) t = mem t s || holds l t.
  Proof.
    induction l as [|x r IH]; intros s t; simpl; auto.
    destruct (leb (fst s) (fst x) && leb (fst x) (snd s)) eqn:E; simpl; rewrite IH; auto.
    apply andb_true_iff in E as [E1 E2]. rewrite orb_assoc. f_equal.
    destruct s as [a b], x as [c d]; unfold mem; simpl in *. rewrite behind_most.
    pose proof (behind_mono _ _ t E1). pose proof (behind_mono _ _ t E2).
    destruct (behind a t), (behind b t), (behind c t), (behind d t); simpl; auto;
      exfalso; intuition discriminate.
  Qed.
  Lemma normal_holds : forall l t, holds (normal l) t = holds l t.
  Proof.
    intros; unfold normal.
    assert (M : forall l, holds (merged l) t = holds l t).
    { intros [|x r]; simpl; auto. apply merge_holds. }
    rewrite M. clear M. induction l as [|x r IH]; simpl; auto.
    destruct (is_empty x) eqn:E; simpl.
    - rewrite IH, (empty_mem x t E); auto.
    - rewrite insert_holds, IH. auto.
  Qed.

  (** ** Union, intersection, complement, inclusion *)
  Definition union (a b : times) : times := normal (a ++ b).
  Definition meet1 (s x : stretch) : stretch := (most (fst s) (fst x), least (snd s) (snd x)).
  Definition meet (a b : times) : times := normal (flat_map (fun s => map (meet1 s) b) a).
  Definition others1 (s : stretch) : times := [(first, fst s); (snd s, last)].
  Definition others (a : times) : times := fold_right (fun s r => meet (others1 s) r) always a.
  Definition minus_times (a b : times) : times := meet a (others b).
  Definition within (a b : times) : bool := forallb is_empty (minus_times a b).

  Lemma union_holds : forall a b t, holds (union a b) t = holds a t || holds b t.
  Proof. intros; unfold union. rewrite normal_holds. apply existsb_app. Qed.
  Lemma meet1_mem : forall s x t, mem t (meet1 s x) = mem t s && mem t x.
  Proof.
    intros [a b] [c d] t; unfold mem, meet1; simpl. rewrite behind_most, behind_least.
    destruct (behind a t), (behind b t), (behind c t), (behind d t); auto.
  Qed.
  Lemma meet_holds : forall a b t, holds (meet a b) t = holds a t && holds b t.
  Proof.
    intros; unfold meet. rewrite normal_holds. induction a as [|s r IH]; simpl; auto.
    unfold holds in *. rewrite existsb_app, IH.
    assert (E : existsb (mem t) (map (meet1 s) b) = mem t s && existsb (mem t) b).
    { clear. induction b as [|x b IH]; simpl; [rewrite andb_false_r; auto|].
      rewrite IH, meet1_mem. destruct (mem t s); auto. }
    rewrite E. destruct (mem t s), (existsb (mem t) r), (existsb (mem t) b); auto.
  Qed.
  Lemma others_holds : forall a t, holds (others a) t = negb (holds a t).
  Proof.
    induction a as [|s r IH]; intros t.
    - change (holds always t = true). apply always_holds.
    - simpl. rewrite meet_holds, IH, negb_orb. f_equal.
      destruct s as [x y]; unfold others1, holds, mem; simpl.
      rewrite behind_first, behind_last. destruct (behind x t), (behind y t); auto.
  Qed.
  Lemma minus_times_holds : forall a b t, holds (minus_times a b) t = holds a t && negb (holds b t).
  Proof. intros; unfold minus_times. rewrite meet_holds, others_holds. reflexivity. Qed.
  Lemma nothing_holds : forall a t, forallb is_empty a = true -> holds a t = false.
  Proof.
    induction a as [|s r IH]; simpl; auto. intros t E. apply andb_true_iff in E as [E1 E2].
    rewrite (empty_mem _ t E1), IH; auto.
  Qed.
  Lemma something_holds : forall a, forallb is_empty a = false -> exists t, holds a t = true.
  Proof.
    induction a as [|s r IH]; simpl; intros E; [discriminate|].
    destruct (is_empty s) eqn:Es; simpl in E.
    - destruct (IH E) as [t H]. exists t. rewrite H, orb_true_r; auto.
    - destruct (proper_mem s Es) as [t H]. exists t. rewrite H; auto.
  Qed.
  Lemma within_holds : forall a b t, within a b = true -> holds a t = true -> holds b t = true.
  Proof.
    intros a b t W A. apply (nothing_holds _ t) in W. rewrite minus_times_holds, A in W.
    destruct (holds b t); auto.
  Qed.

  (** ** All times at a distance from those of a set: what a diamond says, exactly *)
  Definition moved1 (d : direction) (r s : stretch) : times :=
    if is_empty s || is_empty r then [] else [shift d s r].
  Definition moved (d : direction) (r : stretch) (a : times) : times := normal (flat_map (moved1 d r) a).

  Lemma meet1_proper : forall s x, is_empty s = false -> is_empty x = false ->
    leb (snd x) (fst s) = false -> leb (snd s) (fst x) = false -> is_empty (meet1 s x) = false.
  Proof.
    intros [a b] [c d]; unfold is_empty, meet1, most, least; simpl; intros.
    destruct (leb a c), (leb b d); auto.
  Qed.
  Lemma mem_both : forall s x t, mem t s = true -> mem t x = true -> leb (snd x) (fst s) = false.
  Proof.
    intros [a b] [c d] t S X. apply mem_split in S as [S1 S2]. apply mem_split in X as [X1 X2]. simpl.
    destruct (leb d a) eqn:E; auto. rewrite (behind_mono _ _ _ E S1) in X2. discriminate.
  Qed.

  Lemma moved1_spec : forall d r s t,
    holds (moved1 d r s) t = true <-> exists t', mem t' s = true /\ mem (dist d t t') r = true.
  Proof.
    intros d r s t. unfold moved1.
    destruct (is_empty s) eqn:Es; simpl.
    { split; [discriminate|]. intros [t' [H _]]. rewrite (empty_mem s t' Es) in H. discriminate. }
    destruct (is_empty r) eqn:Er; simpl.
    { split; [discriminate|]. intros [t' [_ H]]. rewrite (empty_mem r _ Er) in H. discriminate. }
    rewrite orb_false_r. unfold mem at 1. rewrite shift_low, shift_high by assumption.
    pose proof (around_proper d t r Er) as Ea.
    split.
    - intros H. apply andb_true_iff in H as [H1 H2]. apply negb_true_iff in H1, H2.
      destruct (proper_mem (meet1 s (around d t r))) as [t' M].
      { apply meet1_proper; auto. }
      rewrite meet1_mem, mem_around in M. apply andb_true_iff in M. exists t'. exact M.
    - intros [t' [M1 M2]]. rewrite <- mem_around in M2. apply andb_true_iff; split; apply negb_true_iff.
      + apply (mem_both s (around d t r) t'); auto.
      + apply (mem_both (around d t r) s t'); auto.
  Qed.

  Lemma moved_spec : forall d r a t,
    holds (moved d r a) t = true <-> exists t', holds a t' = true /\ mem (dist d t t') r = true.
  Proof.
    intros d r a t. unfold moved. rewrite normal_holds. induction a as [|s l IH]; simpl.
    - split; [discriminate | intros [t' [H _]]; discriminate].
    - unfold holds in *. rewrite existsb_app, orb_true_iff, IH. fold (holds (moved1 d r s) t). rewrite moved1_spec.
      split.
      + intros [[t' [M D]]|[t' [M D]]]; exists t'; rewrite M; auto. rewrite orb_true_r; auto.
      + intros [t' [M D]]. apply orb_true_iff in M as [M|M]; [left|right]; exists t'; auto.
  Qed.

  (** ** What a box says *)
  Definition boxed (d : direction) (r : stretch) (a : times) : times := others (moved d r (others a)).

  Lemma boxed_spec : forall d r a t,
    holds (boxed d r a) t = true <-> forall t', mem (dist d t t') r = true -> holds a t' = true.
  Proof.
    intros d r a t. unfold boxed. rewrite others_holds, negb_true_iff. split.
    - intros H t' D. destruct (holds a t') eqn:A; auto.
      assert (M : holds (moved d r (others a)) t = true).
      { apply moved_spec. exists t'. rewrite others_holds, A. auto. }
      congruence.
    - intros H. destruct (holds (moved d r (others a)) t) eqn:M; auto.
      apply moved_spec in M as [t' [A D]]. rewrite others_holds, (H t' D) in A. discriminate.
  Qed.

  (** ** What held at the last multiple of a step *)
  Definition stepped (n : step) (a : times) : times := normal (map (fun s => (snapped n (fst s), snapped n (snd s))) a).

  Lemma stepped_spec : forall n a t, holds (stepped n a) t = holds a (snap n t).
  Proof.
    intros n a t. unfold stepped. rewrite normal_holds. induction a as [|s r IH]; simpl; auto.
    rewrite IH. f_equal. unfold mem; simpl. rewrite !behind_snapped. auto.
  Qed.

  (** ** What `since` and `until` say *)
  Definition strictly_between (d : direction) (t t' u : time) : Prop :=
    match d with Past => lt t' u /\ lt u t | Future => lt t u /\ lt u t' end.
  Definition gap (d : direction) (t t' : time) : stretch :=
    match d with Past => (after t', before t) | Future => (after t, before t') end.

  Lemma gap_spec : forall d t t' u, mem u (gap d t t') = true <-> strictly_between d t t' u.
  Proof.
    intros [] t t' u; unfold gap, strictly_between; rewrite mem_split, behind_after, behind_before; reflexivity.
  Qed.
  Lemma near_gap : forall d t t', behind near (dist d t t') = false <-> is_empty (gap d t t') = true.
  Proof. intros d t t'; rewrite near_spec. destruct d; reflexivity. Qed.

  Definition hull (s : stretch) : stretch := (wide_low (fst s), wide_high (snd s)).
  Definition close (r : stretch) : stretch := meet1 r (first, near).
  Definition along (d : direction) (r : stretch) (right : times) (s : stretch) : times :=
    meet (moved d r (meet right [hull s])) [hull s].
  Definition lasting (d : direction) (r : stretch) (left right : times) : times :=
    normal (moved d (close r) right ++ flat_map (along d r right) left).

  Definition lasts (d : direction) (r : stretch) (left right : times) (t : time) : Prop :=
    exists t', holds right t' = true /\ mem (dist d t t') r = true /\
      forall u, strictly_between d t t' u -> holds left u = true.

  Lemma holds_one : forall s t, holds [s] t = mem t s.
  Proof. intros; simpl. apply orb_false_r. Qed.
  Lemma holds_app : forall a b t, holds (a ++ b) t = holds a t || holds b t.
  Proof. intros; apply existsb_app. Qed.
  Lemma holds_flat : forall A (f : A -> times) l t,
    holds (flat_map f l) t = true <-> exists s, In s l /\ holds (f s) t = true.
  Proof.
    intros A f l t; induction l as [|x r IH]; simpl.
    - split; [discriminate | intros [s [[] _]]].
    - rewrite holds_app, orb_true_iff, IH. split.
      + intros [H|[s [I H]]]; [exists x | exists s]; auto.
      + intros [s [[->|I] H]]; [left | right; exists s]; auto.
  Qed.

  Lemma hull_mem : forall s t, mem t (hull s) = leb (fst s) (after t) && leb (before t) (snd s).
  Proof.
    intros [a b] t; unfold hull, mem; simpl. rewrite behind_wide_low, behind_wide_high, negb_involutive. reflexivity.
  Qed.

  Lemma along_spec : forall d r right s t, holds (along d r right s) t = true <->
    mem t (hull s) = true /\ exists t', holds right t' = true /\ mem t' (hull s) = true /\ mem (dist d t t') r = true.
  Proof.
    intros; unfold along. rewrite meet_holds, holds_one, andb_true_iff, moved_spec. split.
    - intros [[t' [M D]] H]. rewrite meet_holds, holds_one in M. apply andb_true_iff in M as [M1 M2].
      split; auto. exists t'; auto.
    - intros [H [t' [M1 [M2 D]]]]. split; auto. exists t'. rewrite meet_holds, holds_one, M1, M2. auto.
  Qed.

  Lemma lasting_sound : forall d r left right t, holds (lasting d r left right) t = true -> lasts d r left right t.
  Proof.
    intros d r left right t H. unfold lasting in H. rewrite normal_holds, holds_app, orb_true_iff in H.
    destruct H as [H|H].
    - apply moved_spec in H as [t' [M D]]. unfold close in D. rewrite meet1_mem in D.
      apply andb_true_iff in D as [D N]. exists t'. repeat split; auto.
      intros u B. apply gap_spec in B. apply mem_split in N as [_ N]. apply near_gap in N.
      rewrite (empty_mem _ u N) in B. discriminate.
    - apply holds_flat in H as [s [I H]]. apply along_spec in H as [H [t' [M [H' D]]]].
      exists t'. repeat split; auto. intros u B. apply gap_spec in B.
      apply holds_spec. exists s. split; auto.
      rewrite hull_mem in H, H'. apply andb_true_iff in H as [H1 H2]. apply andb_true_iff in H' as [H3 H4].
      destruct s as [a b]; simpl in *. destruct d; apply mem_split in B as [B1 B2]; apply mem_split; split.
      + apply (behind_mono _ _ _ H3); auto.
      + destruct (behind b u) eqn:E; auto. rewrite (behind_mono _ _ _ H2 E) in B2. discriminate.
      + apply (behind_mono _ _ _ H1); auto.
      + destruct (behind b u) eqn:E; auto. rewrite (behind_mono _ _ _ H4 E) in B2. discriminate.
  Qed.

  (** Sorted, and with times between any two stretches. *)
  Fixpoint separated (l : times) : bool :=
    match l with
    | [] => true
    | s :: r =>
        negb (is_empty s) && (match r with [] => true | x :: _ => negb (leb (fst x) (snd s)) end) && separated r
    end.

  Lemma separated_low : forall l s t, separated (s :: l) = true -> holds (s :: l) t = true -> behind (fst s) t = true.
  Proof.
    induction l as [|x r IH]; intros s t S H.
    - rewrite holds_one in H. destruct s. apply mem_split in H. apply H.
    - cbn [separated] in S. apply andb_true_iff in S as [S1 S2]. apply andb_true_iff in S1 as [S0 S1].
      apply negb_true_iff in S0, S1.
      change (mem t s || holds (x :: r) t = true) in H. apply orb_true_iff in H as [H|H].
      + destruct s. apply mem_split in H. apply H.
      + apply IH in H; auto. unfold is_empty in S0. apply leb_false in S0, S1.
        eapply behind_mono; [|exact H]. eapply leb_trans; eauto.
  Qed.

  Lemma point_least : forall a b c, leb b a = false -> leb c a = false ->
    exists t, behind a t = true /\ behind b t = false /\ behind c t = false.
  Proof.
    intros a b c B C. destruct (point a (least b c)) as [t [A N]].
    { unfold least. destruct (leb b c); auto. }
    exists t. rewrite behind_least in N. apply orb_false_iff in N as [N1 N2]. auto.
  Qed.

  Lemma connected : forall l a b, separated l = true -> leb b a = false ->
    (forall u, mem u (a, b) = true -> holds l u = true) ->
    exists s, In s l /\ leb (fst s) a = true /\ leb b (snd s) = true.
  Proof.
    induction l as [|[c d] r IH]; intros a b S E H.
    - destruct (point _ _ E) as [t [A B]]. specialize (H t). rewrite mem_split in H. discriminate H; auto.
    - assert (S' := S). cbn [separated] in S. apply andb_true_iff in S as [S1 S2]. apply andb_true_iff in S1 as [S0 S1].
      destruct (leb d a) eqn:Eda.
      + destruct (IH a b S2 E) as [s [I [A B]]]; [|exists s; simpl; auto].
        intros u M. assert (Hu := H u M). apply orb_true_iff in Hu as [Hu|Hu]; auto.
        apply mem_split in Hu as [_ Hd]. apply mem_split in M as [Ma _].
        rewrite (behind_mono _ _ _ Eda Ma) in Hd. discriminate.
      + exists (c, d). split; [left; auto|]. split; simpl.
        * destruct (leb c a) eqn:Eca; auto. exfalso.
          destruct (point_least a c b Eca E) as [t [A [C B]]].
          assert (Ht : holds ((c, d) :: r) t = true) by (apply H; apply mem_split; auto).
          apply (separated_low _ _ _ S') in Ht. simpl in Ht. congruence.
        * destruct (leb b d) eqn:Ebd; auto. exfalso. apply leb_false in Eda.
          assert (N : exists t, behind d t = true /\ behind b t = false /\ holds r t = false).
          { destruct r as [|x r].
            - destruct (point _ _ Ebd) as [t [D B]]. exists t; auto.
            - apply negb_true_iff in S1. destruct (point_least d b (fst x) Ebd S1) as [t [D [B X]]].
              exists t. repeat split; auto. destruct (holds (x :: r) t) eqn:Ht; auto.
              apply (separated_low _ _ _ S2) in Ht. congruence. }
          destruct N as [t [D [B R]]].
          assert (Ht : holds ((c, d) :: r) t = true).
          { apply H. apply mem_split. split; auto. eapply behind_mono; eauto. }
          change (mem t (c, d) || holds r t = true) in Ht. rewrite R, orb_false_r in Ht.
          apply mem_split in Ht as [_ Ht]. congruence.
  Qed.

  Lemma lasting_complete : forall d r left right t,
    separated left = true -> lasts d r left right t -> holds (lasting d r left right) t = true.
  Proof.
    intros d r left right t S [t' [M [D H]]]. unfold lasting. rewrite normal_holds, holds_app, orb_true_iff.
    destruct (is_empty (gap d t t')) eqn:E.
    - left. apply moved_spec. exists t'. split; auto. unfold close. rewrite meet1_mem, D. simpl.
      apply mem_split. split; [apply behind_first|]. apply near_gap; auto.
    - right. destruct (connected left (fst (gap d t t')) (snd (gap d t t')) S) as [s [I [A B]]].
      { exact E. }
      { intros u Hu. apply H. apply gap_spec. destruct (gap d t t'); exact Hu. }
      apply holds_flat. exists s. split; auto. apply along_spec.
      assert (R : forall x y, leb (before y) (after x) = false -> leb (after x) (after y) = true /\ leb (before x) (before y) = true).
      { intros x y Exy. split.
        - destruct (leb (after x) (after y)) eqn:F; auto. exfalso. destruct (point _ _ F) as [u [P1 P2]].
          destruct (point _ _ Exy) as [v [Q1 Q2]].
          apply behind_after in P1, Q1. apply behind_before in Q2.
          assert (~ lt x u) by (rewrite <- behind_after; congruence). apply H0.
          eapply lt_trans; [exact Q1|]. eapply lt_trans; eauto.
        - destruct (leb (before x) (before y)) eqn:F; auto. exfalso. destruct (point _ _ F) as [u [P1 P2]].
          destruct (point _ _ Exy) as [v [Q1 Q2]].
          apply behind_after in Q1. apply behind_before in Q2, P2.
          assert (behind (before y) u = false).
          { apply behind_before. eapply lt_trans; [exact P2|]. eapply lt_trans; eauto. }
          congruence. }
      rewrite hull_mem. destruct d; simpl in *.
      + destruct (R t' t E) as [R1 R2]. split.
        * apply andb_true_iff; split; auto. eapply leb_trans; eauto.
        * exists t'. rewrite hull_mem. repeat split; auto. apply andb_true_iff; split; auto. eapply leb_trans; eauto.
      + destruct (R t t' E) as [R1 R2]. split.
        * apply andb_true_iff; split; auto. eapply leb_trans; eauto.
        * exists t'. rewrite hull_mem. repeat split; auto. apply andb_true_iff; split; auto. eapply leb_trans; eauto.
  Qed.
End Sets.
