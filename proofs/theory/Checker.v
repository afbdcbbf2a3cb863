(** Certificates, and what checks them. All of it is a program; that it is right is proved in [Soundness]. *)

From Coq Require Import Bool List PArith.
From Tidelog Require Import Lines Sets Totals Language Matching Counting Formulas Evaluation Groups.
Import ListNotations.

Module Checker (L : LINE) (V : VALUES).
  Module Export E := Groups L V.
  Import L V.

  (** ** Worlds: rows with the times at which they hold *)
  Record fact := Fact { of : predicate; args : row; at_times : times }.
  Definition world := list fact.

  Definition row_eqb : row -> row -> bool := list_eqb value_eqb.
  Definition is_of (p : predicate) (f : fact) : bool := Pos.eqb p (of f).
  Definition is_fact (p : predicate) (r : row) (f : fact) : bool := is_of p f && row_eqb r (args f).
  Definition times_in (w : world) (p : predicate) (r : row) : times :=
    flat_map at_times (filter (is_fact p r) w).
  Definition times_matching (w : world) (p : predicate) (q : pattern) : times :=
    flat_map at_times (filter (fun f => is_of p f && matches q (args f)) w).
  Definition rows_in (w : world) (p : predicate) : list row := map args (filter (is_of p) w).
  (** With one more fact: of what is known of the same row, one fact is made. *)
  Fixpoint add (f : fact) (w : world) : world :=
    match w with
    | [] => [Fact (of f) (args f) (normal (at_times f))]
    | g :: r => if is_fact (of f) (args f) g then Fact (of g) (args g) (union (at_times f) (at_times g)) :: r else g :: add f r
    end.
  Definition adds (l : list fact) (w : world) : world := fold_left (fun w f => add f w) l w.

  (** ** What is absent: all rows like these, or what a formula says; or all pairs but those that give an aggregate its value,
      which is worked out for the times [look] *)
  Inductive absence :=
  | NoRows (p : predicate) (q : pattern) (s : times)
  | NoFormula (f : formula) (s : times)
  | Valued (f : formula) (s look : times).

  (** The pattern [q] speaks of no row that [wider] does not speak of. *)
  Fixpoint covers (wider q : pattern) : bool :=
    match wider, q with
    | [], [] => true
    | None :: w, _ :: q => covers w q
    | Some a :: w, Some b :: q => value_eqb a b && covers w q
    | _, _ => false
    end.

  (** ** One step: what a rule gives from premises and from nothing else *)
  Definition known_by (w : world) (l : list absence) : knowledge := Knowledge
    (fun m p q => match m with
      | Surely => match whole q with Some r => normal (times_in w p r) | None => [] end
      | _ => others (flat_map (fun a => match a with
          | NoRows p' q' s => if Pos.eqb p p' && covers q' q then s else []
          | _ => [] end) l)
      end)
    (fun m p => match m with Surely => Some (rows_in w p) | _ => None end)
    (flat_map (fun a => match a with NoFormula f s => [(f, s)] | _ => [] end) l)
    (flat_map (fun a => match a with Valued f s _ => [(f, s)] | _ => [] end) l)
    last.

  Definition back (d : direction) : direction := match d with Past => Future | Future => Past end.
  (** All times that a head with these boxes speaks of at these times. *)
  Fixpoint spoken (bs : list (direction * stretch)) (s : times) : times :=
    match bs with [] => s | (d, r) :: rest => spoken rest (moved (back d) r s) end.

  (** What a rule gives of a row that is wanted. Where values for variables may be found is no matter: hints may be anything. *)
  Definition given_by (k : knowledge) (rl : rule) (r : row) (hints : list environment) : times :=
    any_of (fun h => match unify h (head_args rl) r with
    | None => []
    | Some e =>
        any_of (fun e =>
          match patterned e (head_args rl) with
          | Some q => match whole q with
            | Some r' => if row_eqb r r' then spoken (boxes rl) (truth k Surely e (body rl)) else []
            | None => [] end
          | None => [] end) (wished (rows k Surely) (body rl) (candidates (rows k Surely) (body rl) e))
    end) ([] :: hints).
  (** All that a rule gives. *)
  Definition all_given (k : knowledge) (rl : rule) : list fact :=
    flat_map (fun e =>
      match patterned e (head_args rl) with
      | Some q => match whole q with
        | Some r => match spoken (boxes rl) (truth k Surely e (body rl)) with [] => [] | s => [Fact (head rl) r s] end
        | None => [] end
      | None => [] end) (wished (rows k Surely) (body rl) (expanded k Surely (body rl) [])).

  (** ** All that holds of some predicates, up to a cut

      A table has what surely holds, and what may: no more than that holds of the predicates that are [closed_]. *)
  Record table := Table { held : world; upper : world; closed_ : list predicate; until_ : cut }.

  Definition up_to (c : cut) : times := [(first, c)].
  Definition is_in (l : list predicate) (p : predicate) : bool := existsb (Pos.eqb p) l.

  (** What is known if [w] holds, [u] has all of the predicates in [maybe] as far as [P] is asked, and [v] of those in
      [there] for [N]. *)
  Definition known_in (w u : world) (maybe : list predicate) (v : world) (there : list predicate) (c : cut) : knowledge :=
    Knowledge
    (fun m p q => match m with
      | Surely => match whole q with Some r => normal (times_in w p r) | None => [] end
      | Maybe => if is_in maybe p then normal (times_matching u p q ++ [(c, last)]) else always
      | MaybeThere => if is_in there p then normal (times_matching v p q ++ [(c, last)]) else always
      end)
    (fun m p => match m with
      | Surely => Some (rows_in w p)
      | Maybe => if is_in maybe p then Some (rows_in u p) else None
      | MaybeThere => if is_in there p then Some (rows_in v p) else None
      end)
    [] [] c.

  Definition same_times (a b : times) : bool := list_eqb stretch_eqb a b.
  Fixpoint same_world (a b : world) : bool :=
    match a, b with [], [] => true | f :: a, g :: b => same_times (at_times f) (at_times g) && same_world a b | _, _ => false end.
  Fixpoint again (fuel : nat) (f : world -> world) (w : world) : world :=
    match fuel with
    | O => w
    | S fuel => let w' := f w in if same_world w w' then w else again fuel f w'
    end.

  (** What surely holds: rules are applied round by round, as long as they give more, and as often as there is fuel. *)
  Definition clip (c : cut) (f : fact) : fact := Fact (of f) (args f) (meet (at_times f) (up_to c)).
  (** The facts as far as they hold up to the cut. *)
  Definition soon (c : cut) (l : world) : world :=
    filter (fun f => negb (forallb is_empty (at_times f))) (map (clip c) l).
  Definition round (rules : list rule) (v : world) (there : list predicate) (c : cut) (w : world) : world :=
    fold_left (fun w rl => adds (map (clip c) (all_given (known_in w [] [] v there c) rl)) w) rules w.

  (** What may hold, in the same way. Nothing rests on how it is found: [adds_nothing] looks whether it is enough. *)
  Definition possible (k : knowledge) (c : cut) (e : environment) (rl : rule) : times :=
    meet (spoken (boxes rl) (meet (truth k Maybe e (body rl)) (up_to c))) (up_to c).
  Definition all_possible (k : knowledge) (c : cut) (rl : rule) : list fact :=
    flat_map (fun e => match patterned e (head_args rl) with
      | Some q => match whole q with
        | Some r => match possible k c e rl with [] => [] | s => [Fact (head rl) r s] end
        | None => [] end
      | None => [] end) (expanded k Maybe (body rl) []).
  Definition wider (rules : list rule) (w : world) (maybe : list predicate) (v : world) (there : list predicate) (c : cut)
      (u : world) : world :=
    fold_left (fun u rl => adds (all_possible (known_in w u maybe v there c) c rl) u) rules u.

  (** Whether the rules give nothing of some predicates but what is in [u]. *)
  Definition is_forward (b : direction * stretch) : bool :=
    match fst b with Future => leb zero (fst (snd b)) | Past => false end.
  Definition adds_nothing (w u : world) (maybe : list predicate) (v : world) (there : list predicate) (c : cut) (rl : rule)
      : bool :=
    let k := known_in w u maybe v there c in
    ((looks_back (body rl) && forallb is_forward (boxes rl)) || leb last c) &&
    forallb (fun e =>
      match patterned e (head_args rl) with
      | None => true
      | Some q =>
          let s := possible k c e rl in
          forallb is_empty s ||
          match whole q with Some r => within s (times_in u (head rl) r) | None => false end
      end) (expanded k Maybe (body rl) []).
  Definition has_data (u : world) (c : cut) (f : fact) : bool :=
    within (meet (at_times f) (up_to c)) (times_in u (of f) (args f)).

  (** Where predicates depend on their own absence, at earlier times, more that surely holds leaves less that may, and the
      other way round: by turns, until nothing changes. *)
  Fixpoint by_turns (turns fuel : nat) (mine : list rule) (given : world) (own done : list predicate) (base : world) (c : cut)
      (w v : world) (there : list predicate) : option (world * world) :=
    let all := own ++ done in
    let start := adds (soon c given ++ filter (fun f => is_in own (of f)) w) base in
    let u := again fuel (wider mine w all v there c) start in
    if forallb (has_data u c) given && forallb (adds_nothing w u all v there c) mine then
      let w' := again fuel (round mine u all c) w in
      let exact := forallb (fun f => within (at_times f) (times_in w' (of f) (args f))) (filter (fun f => is_in own (of f)) u) in
      match turns with
      | O => Some (w', u)
      | S turns =>
          if exact || (same_world w w' && same_world u v) then Some (w', u)
          else match by_turns turns fuel mine given own done base c w' u all with Some x => Some x | None => Some (w', u) end
      end
    else None.

  Definition stratum (fuel : nat) (rules : list rule) (data : world) (t : table) (own : list predicate) : option table :=
    let mine := filter (fun rl => is_in own (head rl)) rules in
    let given := filter (fun f => is_in own (of f)) data in
    let done := closed_ t in
    let c := until_ t in
    let w := again fuel (round mine (upper t) done c) (adds (soon c given) (held t)) in
    match by_turns fuel fuel mine given own done (upper t) c w (upper t) done with
    | Some (w, u) => Some (Table w u (own ++ done) c)
    | None => None
    end.

  Fixpoint strata (fuel : nat) (rules : list rule) (data : world) (plan : list (list predicate)) (t : table) : option table :=
    match plan with
    | [] => Some t
    | own :: rest => match stratum fuel rules data t own with Some t => strata fuel rules data rest t | None => None end
    end.

  (** What the certificate's absences are looked up in: evaluated once, in the order of [plan], up to [c].
      Beyond what has been promised of the input nothing is known to be absent. *)
  Definition tabulated (fuel : nat) (rules : list rule) (data : world) (promised : cut) (open_ : list predicate)
      (plan : list (list predicate)) (c : cut) : option table :=
    if leb c promised && forallb (fun p => negb (is_in open_ p)) (concat plan)
    then strata fuel rules data plan (Table [] [] [] c) else None.

  (** When an aggregate has its value, worked out for the windows that end in [look]. *)
  Definition value_times (k : knowledge) (look : times) (f : formula) : times :=
    match f with
    | Total own r fn x result g =>
        match peval [] result with
        | Value a => flat_map (fun z => judged fn own x [] a true
            (settled k own r g (fun e => truth k Surely e g) (fun e => truth k MaybeThere e g) [] z)) look
        | _ => []
        end
    | Enough own r th x g =>
        flat_map (fun z => reached k own r th x g (fun e => meet (truth k Surely e g) (moved Future r [z])) []) look
    | _ => truth k Surely [] f
    end.
  Definition valued_times (k : knowledge) (look : times) (f : formula) : times :=
    match f with Stepped n g => stepped n (value_times k look g) | _ => value_times k look f end.

  Definition known_of (t : table) : knowledge := known_in (held t) (upper t) (closed_ t) (upper t) (closed_ t) (until_ t).
  Definition is_absent (t : table) (a : absence) : bool :=
    match a with
    | NoRows p q s =>
        is_in (closed_ t) p && within s (up_to (until_ t)) && forallb is_empty (meet s (times_matching (upper t) p q))
    | NoFormula f s => forallb is_empty (meet s (anywhere (known_of t) Maybe f))
    | Valued f s look => within s (valued_times (known_of t) look f)
    end.
  (** Whether what is said to be absent surely is not: else it is not known. Nothing rests on it but what is told. *)
  Definition is_refuted (t : table) (a : absence) : bool :=
    match a with
    | NoRows p q s => negb (within s (up_to (until_ t)) && forallb is_empty (meet s (times_matching (held t) p q)))
    | NoFormula f s => negb (forallb is_empty (meet s (anywhere (known_of t) Surely f)))
    | Valued f s _ => negb (within s (truth (known_of t) Maybe [] f))
    end.

  (** How many pairs are in the windows that end in [look]. Nothing rests on it but what is told: those that a certificate
      does not show. *)
  Definition counted_pairs (k : knowledge) (look : times) (f : formula) : option nat :=
    let count own r x taken g :=
      let window := normal (flat_map (fun z => moved Future r [z]) look) in
      let es := filter (only own []) (candidates (rows k Surely) g []) in
      bind (all_spots own (fun _ => []) (fun e => meet (truth k Surely e g) window) es) (fun l =>
        bind (taken_of taken own x [] (map fst (once l))) (fun m => Some (length m))) in
    match f with
    | Total own r fn x _ g | Stepped _ (Total own r fn x _ g) => count own r x (takes fn) g
    | Enough own r th x g | Stepped _ (Enough own r th x g) => count own r x (takes_to th) g
    | _ => None
    end.

  (** ** Certificates *)
  Inductive proof :=
  | Given (kind : nat) (f : fact)             (* stands in the data of this kind *)
  | Lemma_ (f : fact)                          (* proved before *)
  | Parts (f : fact) (parts : list proof)      (* the same fact, over parts of its times *)
  | Step (f : fact) (rule : nat) (hints : list environment) (premises : list proof)
  | Absent (a : absence) (table : nat)
  | Aggregated (f : formula) (s look : times) (table : nat) (more : option nat) (premises : list proof).
    (* with so many pairs that are not shown, or endlessly many *)

  Inductive reason :=
  | NotGiven | NoLemma | NotTheParts | RestsOnItself | NoRule | DoesNotFollow | NotAbsent | NotTheValue | OtherPairs | NoEnd
  | NoFact | OtherFact | ItHolds | NoTimes.

  (** [None]: accepted. *)
  Definition verdict := option reason.
  Definition expect (b : bool) (why : reason) : verdict := if b then None else Some why.
  Definition and_then (a b : verdict) : verdict := match a with None => b | _ => a end.

  Definition claim (x : proof) : option fact :=
    match x with Given _ f | Lemma_ f | Parts f _ | Step f _ _ _ => Some f | Absent _ _ | Aggregated _ _ _ _ _ _ => None end.
  Definition claims (l : list proof) : list fact :=
    flat_map (fun x => match claim x with Some f => [f] | None => [] end) l.
  (** What a premise says; that of an aggregate says what its own premises do, too. *)
  Fixpoint facts_of (x : proof) : list fact :=
    match x with Aggregated _ _ _ _ _ l => flat_map facts_of l | _ => match claim x with Some f => [f] | None => [] end end.
  Fixpoint absences_of (x : proof) : list absence :=
    match x with
    | Absent a _ => [a]
    | Aggregated f s look _ _ l => Valued f s look :: flat_map absences_of l
    | _ => []
    end.
  Definition known_from (premises : list proof) : knowledge :=
    known_by (adds (flat_map facts_of premises) []) (flat_map absences_of premises).

  Record problem := Problem {
    rules : list rule;
    data : list world;                 (* by kind: the input, the program's own facts, … *)
    promised : cut;                    (* the input is complete up to here *)
    open_ : list predicate             (* of these there may be more than rules and data say: nothing is known to be absent *)
  }.

  Definition same_fact (f g : fact) : bool := is_fact (of f) (args f) g.
  Definition rests_on_itself (above : list fact) (f : fact) : bool :=
    existsb (fun g => same_fact f g && negb (forallb is_empty (meet (at_times f) (at_times g)))) above.

  Section Check.
    Variable pb : problem.
    Variable tables : list (option table).
    Variable lemmas : world.

    Definition check_absence (a : absence) (n : nat) : verdict :=
      match nth_error tables n with
      | Some (Some t) =>
          if is_absent t a then None
          else Some (if is_refuted t a then match a with Valued _ _ _ => NotTheValue | _ => NotAbsent end else NoEnd)
      | _ => Some NoEnd
      end.
    Definition check_pairs (f : formula) (look : times) (n : nat) (more : option nat) (premises : list proof) : verdict :=
      match nth_error tables n with
      | Some (Some t) =>
          match counted_pairs (known_of t) look f, counted_pairs (known_from premises) look f with
          | Some there, Some shown =>
              expect (match more with Some n => Nat.eqb there (shown + n) | None => false end) OtherPairs
          | _, _ => Some NoEnd
          end
      | _ => Some NoEnd
      end.

    Definition check_given (kind : nat) (f : fact) : verdict :=
      match nth_error (data pb) kind with
      | Some w => expect (within (at_times f) (times_in w (of f) (args f))) NotGiven
      | None => Some NotGiven
      end.

    Definition check_step (f : fact) (n : nat) (hints : list environment) (premises : list proof) : verdict :=
      match nth_error (rules pb) n with
      | None => Some NoRule
      | Some rl =>
          let k := known_from premises in
          expect (Pos.eqb (head rl) (of f) && within (at_times f) (given_by k rl (args f) hints)) DoesNotFollow
      end.

    Fixpoint check (above : list fact) (x : proof) : verdict :=
      match x with
      | Given kind f => check_given kind f
      | Lemma_ f => expect (within (at_times f) (times_in lemmas (of f) (args f))) NoLemma
      | Parts f parts =>
          let all := flat_map at_times (claims parts) in
          and_then
            (expect (forallb (fun x => match claim x with Some g => same_fact f g | None => false end) parts
              && within (at_times f) all && within all (at_times f)) NotTheParts)
            (fold_right (fun x r => and_then (check above x) r) None parts)
      | Step f n hints premises =>
          and_then (expect (negb (rests_on_itself above f)) RestsOnItself)
            (and_then (check_step f n hints premises)
              (fold_right (fun x r => and_then (check (f :: above) x) r) None premises))
      | Absent a n => check_absence a n
      | Aggregated f s look n more premises =>
          and_then (check_absence (Valued f s look) n)
            (and_then (check_pairs f look n more premises)
              (fold_right (fun x r => and_then (check above x) r) None premises))
      end.
  End Check.

  (** Lemmas, each from those before it; then the proof. *)
  Fixpoint check_lemmas (pb : problem) (tables : list (option table)) (lemmas : world) (l : list proof) : verdict * world :=
    match l with
    | [] => (None, lemmas)
    | x :: r =>
        match claim x with
        | None => (Some NoFact, lemmas)
        | Some f => match check pb tables lemmas [] x with
          | None => check_lemmas pb tables (add f lemmas) r
          | Some why => (Some why, lemmas) end
        end
    end.

  Definition has_times (f : fact) : bool := negb (forallb is_empty (at_times f)).

  Definition check_holds (pb : problem) (tables : list (option table)) (f : fact) (lemmas : list proof) (x : proof) : verdict :=
    match check_lemmas pb tables [] lemmas with
    | (Some why, _) => Some why
    | (None, w) =>
        match claim x with
        | None => Some NoFact
        | Some g =>
            and_then (expect (has_times f) NoTimes)
              (and_then (expect (same_fact f g && within (at_times f) (at_times g) && within (at_times g) (at_times f)) OtherFact)
                (check pb tables w [] x))
        end
    end.

  Definition check_missing (t : option table) (f : fact) : verdict :=
    match t with
    | None => Some NoEnd
    | Some t =>
        if is_in (closed_ t) (of f) then
          expect (negb (forallb is_empty
            (meet (minus_times (at_times f) (times_in (upper t) (of f) (args f))) (up_to (until_ t))))) ItHolds
        else Some NoEnd
    end.

  (** A table is asked for by the predicates that it is about, in their order, and by its end. *)
  Record request := Request { plan : list (list predicate); end_ : cut }.
  Definition tabulate (fuel : nat) (pb : problem) (r : request) : option table :=
    tabulated fuel (rules pb) (concat (data pb)) (promised pb) (open_ pb) (plan r) (end_ r).

  Inductive certificate :=
  | Holds (f : fact) (lemmas : list proof) (x : proof)
  | Missing (f : fact).

  Definition verify (fuel : nat) (pb : problem) (asked : list request) (c : certificate) : verdict :=
    let tables := map (tabulate fuel pb) asked in
    match c with
    | Holds f lemmas x => check_holds pb tables f lemmas x
    | Missing f => check_missing (nth 0 tables None) f
    end.
End Checker.
