(** Timelines, and the places between times.

    A timeline is what [LINE] asks for. There are two: the whole numbers ([Whole]) and the rational numbers ([Rational]).
    A *cut* is a place between times: right before or right behind a time, or at one of the two ends of the line.
    A *stretch* is what lies between two cuts. So open and closed ends are the same to all that works on stretches. *)

From Coq Require Import ZArith QArith Qcanon Bool List Lia Lqa.
Import ListNotations.

Inductive direction := Past | Future.

Module Type LINE.
  (** Times, and distances between them. *)
  Parameter time : Type.
  Parameter minus : time -> time -> time.
  Parameter lt : time -> time -> Prop.

  (** Cuts. [behind c t]: the time [t] lies behind the cut [c]. *)
  Parameter cut : Type.
  Parameter first last : cut.
  Parameter leb : cut -> cut -> bool.
  Parameter behind : cut -> time -> bool.
  Parameter before after : time -> cut.

  Definition stretch : Type := cut * cut.
  Definition mem (t : time) (s : stretch) : bool := behind (fst s) t && negb (behind (snd s) t).
  Definition dist (d : direction) (t t' : time) : time :=
    match d with Past => minus t t' | Future => minus t' t end.

  (** All times at a distance in [r] from [t]; all times at a distance in [r] from a time in [s]. *)
  Parameter around : direction -> time -> stretch -> stretch.
  Parameter shift : direction -> stretch -> stretch -> stretch.
  (** A time lies behind [wide_low c] if all times behind it do behind [c]; the same for [wide_high] and before. *)
  Parameter wide_low wide_high : cut -> cut.
  (** Distances before this cut have no times strictly between their ends. *)
  Parameter near : cut.

  (** The distance 0, seen from before it. *)
  Parameter zero : cut.
  (** The time that a whole number is. *)
  Parameter of_whole : Z -> time.
  (** The last multiple of a step that is not behind a time, for windows that move in steps. *)
  Parameter step : Type.
  Parameter step_eqb : step -> step -> bool.
  Parameter snap : step -> time -> time.
  Parameter snapped : step -> cut -> cut.
  Parameter cut_eqb : cut -> cut -> bool.
  (** All times of a stretch, where they are not too many. *)
  Parameter points : stretch -> option (list time).

  Axiom points_spec : forall s l t, points s = Some l -> (In t l <-> mem t s = true).
  Axiom mem_point : forall t u, mem t (before u, after u) = true <-> t = u.
  Axiom step_eqb_true : forall a b, step_eqb a b = true -> a = b.
  Axiom behind_snapped : forall n c t, behind (snapped n c) t = behind c (snap n t).
  Axiom snap_back : forall n c t, behind c (snap n t) = true -> behind c t = true.
  Axiom cut_eqb_true : forall a b, cut_eqb a b = true -> a = b.
  Axiom forward : forall r t t' c, leb zero (fst r) = true -> mem (dist Past t t') r = true ->
    behind c t' = true -> behind c t = true.
  Axiom leb_total : forall a b, leb a b = true \/ leb b a = true.
  Axiom leb_trans : forall a b c, leb a b = true -> leb b c = true -> leb a c = true.
  Axiom behind_first : forall t, behind first t = true.
  Axiom behind_last : forall t, behind last t = false.
  Axiom behind_mono : forall a b t, leb a b = true -> behind b t = true -> behind a t = true.
  Axiom point : forall a b, leb b a = false -> exists t, behind a t = true /\ behind b t = false.
  Axiom behind_after : forall t t', behind (after t) t' = true <-> lt t t'.
  Axiom behind_before : forall t t', behind (before t) t' = false <-> lt t' t.
  Axiom lt_trans : forall a b c, lt a b -> lt b c -> lt a c.
  Axiom behind_itself : forall t, behind (before t) t = true /\ behind (after t) t = false.
  Axiom mem_around : forall d t t' r, mem t' (around d t r) = mem (dist d t t') r.
  Axiom shift_low : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (fst (shift d s r)) t = negb (leb (snd (around d t r)) (fst s)).
  Axiom shift_high : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (snd (shift d s r)) t = leb (snd s) (fst (around d t r)).
  Axiom around_proper : forall d t r, leb (snd r) (fst r) = false -> leb (snd (around d t r)) (fst (around d t r)) = false.
  Axiom behind_wide_low : forall c t, behind (wide_low c) t = leb c (after t).
  Axiom behind_wide_high : forall c t, behind (wide_high c) t = negb (leb (before t) c).
  Axiom near_spec : forall d t t', behind near (dist d t t') = false <->
    match d with Past => leb (before t) (after t') | Future => leb (before t') (after t) end = true.
End LINE.

(** ** Whole numbers: a cut is the first time behind it. *)
Module Whole <: LINE.
  Definition time := Z.
  Definition minus := Z.sub.
  Definition lt := Z.lt.

  Inductive place := First | At (z : Z) | Last.
  Definition cut := place.
  Definition first := First.
  Definition last := Last.
  Definition leb (a b : cut) : bool :=
    match a, b with
    | First, _ => true | _, Last => true
    | At x, At y => (x <=? y)%Z
    | _, _ => false
    end.
  Definition behind (c : cut) (t : time) : bool :=
    match c with First => true | At x => (x <=? t)%Z | Last => false end.
  Definition before (t : time) : cut := At t.
  Definition after (t : time) : cut := At (t + 1).

  Definition stretch : Type := cut * cut.
  Definition mem (t : time) (s : stretch) : bool := behind (fst s) t && negb (behind (snd s) t).
  Definition dist (d : direction) (t t' : time) : time :=
    match d with Past => minus t t' | Future => minus t' t end.

  Definition plus (a : cut) (z : Z) : cut := match a with At x => At (x + z) | _ => a end.
  Definition mirror (t : Z) (a : cut) : cut := match a with First => Last | Last => First | At x => At (t - x + 1) end.
  Definition around (d : direction) (t : time) (r : stretch) : stretch :=
    match d with
    | Past => (mirror t (snd r), mirror t (fst r))
    | Future => (plus (fst r) t, plus (snd r) t)
    end.
  Definition add_low (a b : cut) : cut := match a, b with At x, At y => At (x + y) | _, _ => First end.
  Definition add_high (a b : cut) : cut := match a, b with At x, At y => At (x + y - 1) | _, _ => Last end.
  Definition sub_low (a b : cut) : cut := match a, b with At x, At y => At (x - y + 1) | _, _ => First end.
  Definition sub_high (a b : cut) : cut := match a, b with At x, At y => At (x - y) | _, _ => Last end.
  Definition shift (d : direction) (s r : stretch) : stretch :=
    match d with
    | Past => (add_low (fst s) (fst r), add_high (snd s) (snd r))
    | Future => (sub_low (fst s) (snd r), sub_high (snd s) (fst r))
    end.
  Definition wide_low (c : cut) : cut := plus c (-1).
  Definition wide_high (c : cut) : cut := plus c 1.
  Definition near : cut := At 2.
  Definition zero : cut := At 0.
  Definition cut_eqb (a b : cut) : bool :=
    match a, b with First, First => true | Last, Last => true | At x, At y => Z.eqb x y | _, _ => false end.

  Ltac cases :=
    repeat match goal with
    | c : cut |- _ => destruct c
    | c : place |- _ => destruct c
    | s : stretch |- _ => destruct s
    | d : direction |- _ => destruct d
    end;
    unfold mem, dist, minus, lt, first, last, before, after, time in *; simpl in *;
    repeat match goal with
    | |- context [(?x <=? ?y)%Z] => destruct (Z.leb_spec x y)
    | H : context [(?x <=? ?y)%Z] |- _ => destruct (Z.leb_spec x y)
    end;
    simpl in *; try reflexivity; try congruence; try lia; auto.

  Definition of_whole (z : Z) : time := z.
  Lemma mem_point : forall t u, mem t (before u, after u) = true <-> t = u.
  Proof. intros; split; [intro; cases | intros ->; cases]. Qed.
  Definition step := positive.
  Definition step_eqb := Pos.eqb.
  Definition snap (n : step) (t : time) : time := (Zpos n * (t / Zpos n))%Z.
  Definition snapped (n : step) (c : cut) : cut :=
    match c with At x => At (Zpos n * - (- x / Zpos n))%Z | _ => c end.
  Lemma step_eqb_true : forall a b, step_eqb a b = true -> a = b.
  Proof. intros a b H. apply Pos.eqb_eq; exact H. Qed.
  Lemma behind_snapped : forall n c t, behind (snapped n c) t = behind c (snap n t).
  Proof.
    intros n [|x|] t; auto. cbn [snapped behind]. unfold snap. apply Bool.eq_true_iff_eq. rewrite !Z.leb_le.
    pose proof (Z.mul_div_le t (Zpos n) eq_refl) as A. pose proof (Z.mul_succ_div_gt t (Zpos n) eq_refl) as B.
    pose proof (Z.mul_div_le (- x) (Zpos n) eq_refl) as C. pose proof (Z.mul_succ_div_gt (- x) (Zpos n) eq_refl) as D.
    assert (P : (0 < Zpos n)%Z) by reflexivity. revert A B C D P. generalize (Zpos n) as p. intros p.
    generalize (t / p)%Z as q. generalize (- x / p)%Z as m. intros m q A B C D P. unfold Z.succ in *.
    split; intro H; (assert (K : (- m <= q)%Z);
      [destruct (Z.le_gt_cases (- m) q) as [K|K]; auto; exfalso;
       assert (p * (q + 1) <= p * - m)%Z by (apply Z.mul_le_mono_nonneg_l; lia); lia
      |assert (p * - m <= p * q)%Z by (apply Z.mul_le_mono_nonneg_l; lia); lia]).
  Qed.
  Lemma snap_back : forall n c t, behind c (snap n t) = true -> behind c t = true.
  Proof.
    intros n [|x|] t H; simpl in *; auto. unfold snap in H. apply Z.leb_le in H. apply Z.leb_le.
    pose proof (Z.mul_div_le t (Zpos n) eq_refl). lia.
  Qed.
  Lemma cut_eqb_true : forall a b, cut_eqb a b = true -> a = b.
  Proof. intros [|x|] [|y|] H; simpl in H; try discriminate; auto. apply Z.eqb_eq in H. congruence. Qed.
  Lemma forward : forall r t t' c, leb zero (fst r) = true -> mem (dist Past t t') r = true ->
    behind c t' = true -> behind c t = true.
  Proof. intros [a b] t t' c H; cases. Qed.
  Lemma leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof. intros; cases. Qed.
  Lemma leb_trans : forall a b c, leb a b = true -> leb b c = true -> leb a c = true.
  Proof. intros; cases. Qed.
  Lemma behind_first : forall t, behind first t = true.
  Proof. reflexivity. Qed.
  Lemma behind_last : forall t, behind last t = false.
  Proof. reflexivity. Qed.
  Lemma behind_mono : forall a b t, leb a b = true -> behind b t = true -> behind a t = true.
  Proof. intros; cases. Qed.
  Lemma point : forall a b, leb b a = false -> exists t, behind a t = true /\ behind b t = false.
  Proof.
    intros [|x|] [|y|] H; simpl in *; try discriminate.
    - exists (y - 1)%Z. split; auto. apply Z.leb_gt. lia.
    - exists 0%Z; auto.
    - exists x. apply Z.leb_gt in H. split; [apply Z.leb_le; lia | apply Z.leb_gt; lia].
    - exists x. split; auto. apply Z.leb_le; lia.
  Qed.
  Lemma behind_after : forall t t', behind (after t) t' = true <-> lt t t'.
  Proof. intros; split; cases. Qed.
  Lemma behind_before : forall t t', behind (before t) t' = false <-> lt t' t.
  Proof. intros; split; cases. Qed.
  Lemma lt_trans : forall a b c, lt a b -> lt b c -> lt a c.
  Proof. unfold lt; intros; lia. Qed.
  Lemma behind_itself : forall t, behind (before t) t = true /\ behind (after t) t = false.
  Proof. intros; split; cases. Qed.
  Lemma mem_around : forall d t t' r, mem t' (around d t r) = mem (dist d t t') r.
  Proof. intros d t t' [a b]; cases. Qed.
  Lemma shift_low : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (fst (shift d s r)) t = negb (leb (snd (around d t r)) (fst s)).
  Proof. intros d t [a b] [x y]; cases. Qed.
  Lemma shift_high : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (snd (shift d s r)) t = leb (snd s) (fst (around d t r)).
  Proof. intros d t [a b] [x y]; cases. Qed.
  Lemma around_proper : forall d t r, leb (snd r) (fst r) = false -> leb (snd (around d t r)) (fst (around d t r)) = false.
  Proof. intros d t [a b]; cases. Qed.
  Lemma behind_wide_low : forall c t, behind (wide_low c) t = leb c (after t).
  Proof. intros; cases. Qed.
  Lemma behind_wide_high : forall c t, behind (wide_high c) t = negb (leb (before t) c).
  Proof. intros; cases. Qed.
  Lemma near_spec : forall d t t', behind near (dist d t t') = false <->
    match d with Past => leb (before t) (after t') | Future => leb (before t') (after t) end = true.
  Proof. intros; split; cases. Qed.
  Definition most_points : Z := 100000.
  Definition points (s : stretch) : option (list time) :=
    match s with
    | (At a, At b) =>
        if (b - a <=? most_points)%Z then Some (map (fun n => a + Z.of_nat n)%Z (seq 0 (Z.to_nat (b - a)))) else None
    | (a, b) => if leb b a then Some [] else None
    end.
  Lemma points_spec : forall s l t, points s = Some l -> (In t l <-> mem t s = true).
  Proof.
    intros [a b] l t H. unfold points in H.
    assert (E : leb b a = true -> In t [] <-> mem t (a, b) = true).
    { intros E. split; [intros []|]. intros M. unfold mem in M; simpl in M. apply andb_true_iff in M as [A B].
      apply negb_true_iff in B. exfalso. destruct a as [|x|], b as [|y|]; simpl in *; try discriminate.
      apply Z.leb_le in E, A. apply Z.leb_gt in B. lia. }
    destruct a as [|x|], b as [|y|]; simpl in H; try discriminate; try (inversion H; subst; apply E; reflexivity).
    destruct (y - x <=? most_points)%Z; [|discriminate]. inversion H; subst. rewrite in_map_iff. unfold mem; simpl.
    rewrite andb_true_iff, negb_true_iff, Z.leb_le, Z.leb_gt. split.
    - intros [n [<- I]]. apply in_seq in I. lia.
    - intros [A B]. exists (Z.to_nat (t - x)). split; [rewrite Z2Nat.id; lia|]. apply in_seq. lia.
  Qed.
End Whole.

(** ** Rational numbers: a cut is right before a time ([false]) or right behind it ([true]). *)
Module Rational <: LINE.
  Definition time := Qc.
  Definition minus := Qcminus.
  Definition lt := Qclt.

  Inductive place := First | At (q : Qc) (side : bool) | Last.
  Definition cut := place.
  Definition first := First.
  Definition last := Last.
  Definition le (x y : Qc) : bool := Qle_bool x y.
  Definition leb (a b : cut) : bool :=
    match a, b with
    | First, _ => true | _, Last => true
    | At x s, At y r => if s && negb r then negb (le y x) else le x y
    | _, _ => false
    end.
  Definition behind (c : cut) (t : time) : bool :=
    match c with First => true | At x s => if s then negb (le t x) else le x t | Last => false end.
  Definition before (t : time) : cut := At t false.
  Definition after (t : time) : cut := At t true.

  Definition stretch : Type := cut * cut.
  Definition mem (t : time) (s : stretch) : bool := behind (fst s) t && negb (behind (snd s) t).
  Definition dist (d : direction) (t t' : time) : time :=
    match d with Past => minus t t' | Future => minus t' t end.

  Definition plus (a : cut) (z : Qc) : cut := match a with At x s => At (x + z) s | _ => a end.
  Definition mirror (t : Qc) (a : cut) : cut :=
    match a with First => Last | Last => First | At x s => At (t - x) (negb s) end.
  Definition around (d : direction) (t : time) (r : stretch) : stretch :=
    match d with
    | Past => (mirror t (snd r), mirror t (fst r))
    | Future => (plus (fst r) t, plus (snd r) t)
    end.
  Definition add_low (a b : cut) : cut := match a, b with At x s, At y r => At (x + y) (s || r) | _, _ => First end.
  Definition add_high (a b : cut) : cut := match a, b with At x s, At y r => At (x + y) (s && r) | _, _ => Last end.
  Definition sub_low (a b : cut) : cut := match a, b with At x s, At y r => At (x - y) (s || negb r) | _, _ => First end.
  Definition sub_high (a b : cut) : cut := match a, b with At x s, At y r => At (x - y) (s && negb r) | _, _ => Last end.
  Definition shift (d : direction) (s r : stretch) : stretch :=
    match d with
    | Past => (add_low (fst s) (fst r), add_high (snd s) (snd r))
    | Future => (sub_low (fst s) (snd r), sub_high (snd s) (fst r))
    end.
  Definition wide_low (c : cut) : cut := match c with At x _ => At x false | _ => c end.
  Definition wide_high (c : cut) : cut := match c with At x _ => At x true | _ => c end.
  Definition near : cut := At 0 true.
  Definition zero : cut := At 0 false.
  Definition cut_eqb (a b : cut) : bool :=
    match a, b with
    | First, First => true | Last, Last => true
    | At x s, At y r => Qeq_bool x y && Bool.eqb s r
    | _, _ => false
    end.

  Lemma le_spec : forall x y : Qc, BoolSpec (x <= y)%Q (~ (x <= y)%Q) (le x y).
  Proof.
    intros. destruct (le x y) eqn:E; constructor; [apply Qle_bool_iff; exact E|].
    intros H. apply Qle_bool_iff in H. unfold le in E. congruence.
  Qed.

  Lemma this_plus : forall x y : Qc, (this (x + y)%Qc == x + y)%Q.
  Proof. intros; apply Qred_correct. Qed.
  Lemma this_opp : forall x : Qc, (this (- x)%Qc == - x)%Q.
  Proof. intros; apply Qred_correct. Qed.
  Lemma this_minus : forall x y : Qc, (this (x - y)%Qc == x - y)%Q.
  Proof. intros; unfold Qcminus. rewrite this_plus, this_opp. reflexivity. Qed.
  Lemma this_zero : (this 0%Qc == 0)%Q.
  Proof. reflexivity. Qed.

  Definition half : Qc := Q2Qc (1 # 2).
  Lemma this_half : forall x y : Qc, (this (half * (x + y))%Qc == (1 # 2) * (x + y))%Q.
  Proof.
    intros. assert (M : forall a b : Qc, (this (a * b)%Qc == a * b)%Q) by (intros; apply Qred_correct).
    rewrite M, this_plus. reflexivity.
  Qed.

  Local Opaque Qcplus Qcminus Qcmult half.

  Ltac known :=
    repeat match goal with
    | |- context [le ?x ?y] => destruct (le_spec x y)
    | H : context [le ?x ?y] |- _ => destruct (le_spec x y)
    end;
    simpl in *; try reflexivity; try congruence; auto;
    try solve [exfalso;
      repeat match goal with H : ~ (_ <= _)%Q |- _ => apply Qnot_le_lt in H end;
      repeat match goal with
      | H : context [this (?x + ?y)%Qc] |- _ =>
          let E := fresh in pose proof (this_plus x y) as E; generalize dependent (this (x + y)%Qc); intros
      | H : context [this (?x - ?y)%Qc] |- _ =>
          let E := fresh in pose proof (this_minus x y) as E; generalize dependent (this (x - y)%Qc); intros
      end; pose proof this_zero; lra].

  Ltac cases :=
    repeat match goal with
    | c : cut |- _ => destruct c
    | c : place |- _ => destruct c
    | s : stretch |- _ => destruct s
    | d : direction |- _ => destruct d
    | b : bool |- _ => destruct b
    end;
    unfold mem, dist, minus, lt, first, last, before, after, time in *; simpl in *; known.

  Definition of_whole (z : Z) : time := Q2Qc (inject_Z z).
  Lemma mem_point : forall t u, mem t (before u, after u) = true <-> t = u.
  Proof.
    intros t u; unfold mem; simpl. destruct (le_spec u t) as [H|H]; destruct (le_spec t u) as [K|K]; simpl; split; intro E;
      try discriminate; auto; try (subst; exfalso; apply H; apply Qle_refl); try (subst; exfalso; apply K; apply Qle_refl).
    apply Qc_is_canon. apply Qle_antisym; auto.
  Qed.
  (** Windows move in steps on whole numbers alone. *)
  Definition step := unit.
  Definition step_eqb (_ _ : step) : bool := true.
  Definition snap (_ : step) (t : time) : time := t.
  Definition snapped (_ : step) (c : cut) : cut := c.
  Lemma step_eqb_true : forall a b, step_eqb a b = true -> a = b.
  Proof. intros [] []; auto. Qed.
  Lemma behind_snapped : forall n c t, behind (snapped n c) t = behind c (snap n t).
  Proof. reflexivity. Qed.
  Lemma snap_back : forall n c t, behind c (snap n t) = true -> behind c t = true.
  Proof. auto. Qed.
  Lemma cut_eqb_true : forall a b, cut_eqb a b = true -> a = b.
  Proof.
    intros [|x s|] [|y r|] H; simpl in H; try discriminate; auto. apply andb_true_iff in H as [H1 H2].
    apply Qeq_bool_iff in H1. apply Qc_is_canon in H1. apply eqb_prop in H2. congruence.
  Qed.
  Lemma forward : forall r t t' c, leb zero (fst r) = true -> mem (dist Past t t') r = true ->
    behind c t' = true -> behind c t = true.
  Proof.
    intros [a b] t t' c H M B. unfold mem in M. apply andb_true_iff in M as [M _]. simpl in *. clear b. cases.
  Qed.
  Lemma leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof. intros; cases. Qed.
  Lemma leb_trans : forall a b c, leb a b = true -> leb b c = true -> leb a c = true.
  Proof. intros; cases. Qed.
  Lemma behind_first : forall t, behind first t = true.
  Proof. reflexivity. Qed.
  Lemma behind_last : forall t, behind last t = false.
  Proof. reflexivity. Qed.
  Lemma behind_mono : forall a b t, leb a b = true -> behind b t = true -> behind a t = true.
  Proof. intros; cases. Qed.

  Lemma point : forall a b, leb b a = false -> exists t, behind a t = true /\ behind b t = false.
  Proof.
    intros [|x s|] [|y r|] H; simpl in *; try discriminate.
    - exists (y - 1)%Qc. split; auto.
      destruct r; [destruct (le_spec (y - 1)%Qc y) | destruct (le_spec y (y - 1)%Qc)]; auto; exfalso;
        pose proof (this_minus y 1) as E; change (this 1%Qc) with 1%Q in E;
        repeat match goal with H : ~ (_ <= _)%Q |- _ => apply Qnot_le_lt in H end; lra.
    - exists 0%Qc; auto.
    - destruct (le_spec y x) as [L|L].
      + destruct r, s; simpl in H; try discriminate.
        destruct (le_spec x y); try discriminate.
        exists x. simpl. split; known.
      + exists (half * (x + y))%Qc. pose proof (this_half x y) as E.
        apply Qnot_le_lt in L.
        destruct s, r; split; simpl;
          match goal with |- context [le ?a ?b] => destruct (le_spec a b) as [K|K] end; auto; exfalso;
          try apply Qnot_le_lt in K; lra.
    - exists (x + 1)%Qc. split; auto.
      destruct s; match goal with |- context [le ?a ?b] => destruct (le_spec a b) as [K|K] end; auto; exfalso;
        pose proof (this_plus x 1) as E; change (this 1%Qc) with 1%Q in E; try apply Qnot_le_lt in K; lra.
  Qed.

  Lemma behind_after : forall t t', behind (after t) t' = true <-> lt t t'.
  Proof.
    intros; unfold lt, Qclt; simpl; destruct (le_spec t' t) as [K|K]; simpl; split; intro H; try discriminate; auto.
    - exfalso; lra.
    - apply Qnot_le_lt in K; auto.
  Qed.
  Lemma behind_before : forall t t', behind (before t) t' = false <-> lt t' t.
  Proof.
    intros; unfold lt, Qclt; simpl; destruct (le_spec t t') as [K|K]; simpl; split; intro H; try discriminate; auto.
    - exfalso; lra.
    - apply Qnot_le_lt in K; auto.
  Qed.
  Lemma lt_trans : forall a b c, lt a b -> lt b c -> lt a c.
  Proof. unfold lt, Qclt; intros; lra. Qed.
  Lemma behind_itself : forall t, behind (before t) t = true /\ behind (after t) t = false.
  Proof. intros; split; cases. Qed.
  Lemma mem_around : forall d t t' r, mem t' (around d t r) = mem (dist d t t') r.
  Proof.
    assert (P : forall c t t', behind (mirror t c) t' = negb (behind c (t - t')%Qc)) by (intros; cases).
    assert (F : forall c t t', behind (plus c t) t' = behind c (t' - t)%Qc) by (intros; cases).
    intros [] t t' [a b]; unfold mem, dist, minus, around; simpl; rewrite ?P, ?F; destruct (behind a _), (behind b _); auto.
  Qed.
  Lemma shift_low : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (fst (shift d s r)) t = negb (leb (snd (around d t r)) (fst s)).
  Proof.
    intros [] t [a b] [x y] Hs Hr; simpl in *.
    - destruct a, x; simpl in *; try reflexivity; try (destruct b; discriminate); try (destruct y; discriminate); clear Hs Hr b y; cases.
    - destruct a, y; simpl in *; try reflexivity; try (destruct b; discriminate); try (destruct x; discriminate); clear Hs Hr b x; cases.
  Qed.
  Lemma shift_high : forall d t s r, leb (snd s) (fst s) = false -> leb (snd r) (fst r) = false ->
    behind (snd (shift d s r)) t = leb (snd s) (fst (around d t r)).
  Proof.
    intros [] t [a b] [x y] Hs Hr; simpl in *.
    - destruct b, y; simpl in *; try reflexivity; try (destruct a; discriminate); try (destruct x; discriminate); clear Hs Hr a x; cases.
    - destruct b, x; simpl in *; try reflexivity; try (destruct a; discriminate); try (destruct y; discriminate); clear Hs Hr a y; cases.
  Qed.
  Lemma around_proper : forall d t r, leb (snd r) (fst r) = false -> leb (snd (around d t r)) (fst (around d t r)) = false.
  Proof. intros d t [a b]; cases. Qed.
  Lemma behind_wide_low : forall c t, behind (wide_low c) t = leb c (after t).
  Proof. intros; cases. Qed.
  Lemma behind_wide_high : forall c t, behind (wide_high c) t = negb (leb (before t) c).
  Proof. intros; cases. Qed.
  Lemma near_spec : forall d t t', behind near (dist d t t') = false <->
    match d with Past => leb (before t) (after t') | Future => leb (before t') (after t) end = true.
  Proof. intros; split; cases. Qed.
  Definition points (s : stretch) : option (list time) :=
    if leb (snd s) (fst s) then Some [] else
    match s with
    | (At x false, At y true) => if Qeq_bool x y then Some [x] else None
    | _ => None
    end.
  Lemma points_spec : forall s l t, points s = Some l -> (In t l <-> mem t s = true).
  Proof.
    intros [a b] l t H. unfold points in H. simpl in H. destruct (leb b a) eqn:E.
    - inversion H; subst. split; [intros []|]. intros M. unfold mem in M; simpl in M. apply andb_true_iff in M as [A B].
      rewrite (behind_mono _ _ _ E A) in B. discriminate.
    - destruct a as [|x [|]|], b as [|y [|]|]; try discriminate.
      destruct (Qeq_bool x y) eqn:Q; [|discriminate]. inversion H; subst. apply Qeq_bool_iff, Qc_is_canon in Q. subst y.
      change (At x false, At x true) with (before x, after x). rewrite mem_point. simpl. split; [intros [A|[]]; auto | auto].
  Qed.
End Rational.
