(* From what a certificate says to what the proved checker takes, and its verdict. *)

open Tree
open Lines
open Meaning

module Make (L : TIMELINE) = struct
  include Meaning.Make (L)

  (* --- absences: in which order predicates are worked out, and up to where *)

  let reads th name =
    List.concat_map (function
      | Known (r, _) when head_predicate r.head = Some name -> List.concat_map predicates r.body
      | _ -> []) th.entries

  (* The components of all that some predicates depend on, each behind what it reads. *)
  let components th names =
    let index = Hashtbl.create 16 and low = Hashtbl.create 16 and stack = ref [] and found = ref [] and count = ref 0 in
    let rec visit name =
      Hashtbl.add index name !count;
      Hashtbl.add low name !count;
      incr count;
      stack := name :: !stack;
      List.iter (fun next ->
        if not (Hashtbl.mem index next) then (
          visit next;
          Hashtbl.replace low name (min (Hashtbl.find low name) (Hashtbl.find low next)))
        else if List.mem next !stack then
          Hashtbl.replace low name (min (Hashtbl.find low name) (Hashtbl.find index next))) (reads th name);
      if Hashtbl.find low name = Hashtbl.find index name then (
        let rec take component = match !stack with
          | top :: rest -> stack := rest; if top = name then top :: component else take (top :: component)
          | [] -> component in
        found := take [] :: !found) in
    List.iter (fun name -> if not (Hashtbl.mem index name) then visit name) names;
    List.rev !found

  let request_for th names ahead until =
    let plan = components th names in
    let all = List.concat plan in
    if List.exists (Alarms.is_of_desk th.alarms) all then raise of_desk;
    List.iter (fun name -> match List.assoc_opt name th.unknown with
      | Some what -> raise (Not_covered (Printf.sprintf "%s, on which `%s` rests" what name))
      | None -> ()) all;
    let ahead = ahead || List.exists (function
      | Known (r, _) -> (match head_predicate r.head with Some h -> List.mem h all && looks_ahead r | None -> false)
      | Unknown _ -> false) th.entries in
    { C.plan = List.map (List.map predicate) plan; end_ = (if ahead then L.last else until) }

  (* Behind the promise nothing is known to be absent. *)
  let promised th request =
    if L.leb request.C.end_ th.problem.C.promised then request
    else
      raise (Not_covered (Printf.sprintf
        "an absence that is known only of an input that is complete up to %s: this one promises to be so up to %s"
        (L.end_text request.C.end_) (L.end_text th.problem.C.promised)))

  let end_of times = List.fold_left (fun found (_, high) -> if L.leb found high then high else found) L.first times

  (* --- certificates *)

  let text_of = function Some (Json.String s) -> s | _ -> raise (Refused "a certificate has texts for facts, rules and absences")
  let list_of = function
    | None -> []
    | Some (Json.List l) -> l
    | Some _ -> raise (Refused "`premises` and `lemmas` are lists")
  let at_end text = match String.rindex_opt text '@' with
    | Some i -> String.sub text 0 i, String.sub text (i + 1) (String.length text - i - 1)
    | None -> raise (Refused (Printf.sprintf "`%s` has no time" text))

  let one kind text = match Statements.split (text ^ ".") with
    | [ (k, found) ] when k = kind -> found
    | _ -> raise (Refused (Printf.sprintf "`%s` cannot be read" text))
  let read f text = try f text with Unreadable why -> raise (Refused (Printf.sprintf "`%s` cannot be read: %s" text why))

  let fact_of th text =
    match read Reader.fact (one Statements.Fact text) with
    | _, None -> raise (Refused (Printf.sprintf "`%s` has no time" text))
    | a, (Some _ as i) ->
      let times = times_of th.unit i in
      if times = [] then raise (Refused (Printf.sprintf "`%s` has no times" text));
      { C.coq_of = predicate a.predicate; args = row a; at_times = times }, a.predicate

  let rule_of th text =
    let statements = read (fun text -> List.map (fun (kind, text) -> match kind with
      | Statements.Rule -> Reader.rule text
      | _ -> Directive "") (Statements.split text)) text in
    match List.filter (function Rule _ | Beyond _ -> true | _ -> false) statements with
    | [ Beyond (_, what) ] -> raise (Not_covered what)
    | [ Rule r ] ->
      let is_same (other : Tree.rule) = { other with assigns = (if other.assigns = "holds" then "" else other.assigns) } = r in
      let found = List.find_opt (function Known (o, _) | Unknown (o, _) -> is_same o) th.entries in
      (match found with
       | Some (Known (r, n)) -> r, n
       | Some (Unknown (_, what)) -> raise (Not_covered what)
       | None ->
         (match head_predicate r.head with
          | Some name when Alarms.is_of_desk th.alarms name -> raise of_desk
          | _ -> ());
         raise (Refused (Printf.sprintf "the program has no rule `%s`" text)))
    | _ -> raise (Refused (Printf.sprintf "`%s` is no rule" text))

  (* Which times the time variables of a rule may be: those at which premises hold, or at which the conclusion does. *)
  let timed (r : Tree.rule) (fact : C.fact) (premises : C.fact list) =
    let rec timed = function
      | Atom { at = Some (v, n); predicate; _ } -> [ v, (predicate, n) ]
      | Conjunction l -> List.concat_map timed l
      | Unary (_, _, f) | Window (_, f, _) -> timed f
      | Binary (_, _, f, g) -> timed g @ timed f
      | _ -> [] in
    let points facts n =
      List.concat_map (fun (f : C.fact) -> List.concat_map L.whole_points f.C.at_times) facts |> List.map (fun t -> t - n) in
    let head = match r.head with Atom { at = Some (v, n); _ } -> [ v, points [ fact ] n ] | _ -> [] in
    let body = List.map (fun (v, (name, n)) ->
      v, lazy (points (List.filter (fun (f : C.fact) -> f.C.coq_of = predicate name) premises) n)) (List.concat_map timed r.body) in
    let names = List.sort_uniq compare (List.map fst head @ List.map fst body) in
    List.fold_left (fun found v ->
      let times = match List.assoc_opt v body with Some l -> Lazy.force l | None -> List.assoc v head in
      let times = List.sort_uniq compare times in
      if List.length times * List.length found > most_times then raise too_many;
      List.concat_map (fun e -> List.map (fun t -> (variable v, Values.Number (float_of_int t)) :: e) times) found) [ [] ] names

  (* Which values the groups and the values of its aggregates may have: those of which a premise tells. *)
  let hints (r : Tree.rule) fact premises told =
    let rec totals = function
      | Conjunction l -> List.concat_map totals l
      | Negation _ -> []
      | Unary (_, _, f) | Window (_, f, _) -> totals f
      | Binary (_, _, f, g) -> totals g @ totals f
      | Total _ | Threshold _ as f -> [ f ]
      | _ -> [] in
    List.fold_left (fun found f ->
      let choices = List.filter_map (fun (known, value) -> Measures.told f known value) told in
      if choices = [] then found
      else (
        if List.length choices * List.length found > most_times then raise (Not_covered "an aggregate of so many groups");
        List.concat_map (fun e -> List.map (fun more -> List.map (fun (v, a) -> variable v, a) more @ e) choices) found))
      (timed r fact premises) (List.concat_map totals (Measures.with_thresholds [ r.head ] r.body))

  (* A formula of the certificate, with its times. *)
  let said th text =
    let said, time = at_end text in
    let fact, _ = fact_of th ("x@" ^ time) in
    match read Reader.rule (one Statements.Rule ("x :- " ^ said)) with
    | Rule r -> Measures.with_thresholds [] r.body, fact.C.at_times
    | Beyond (_, what) -> raise (Not_covered what)
    | _ -> raise (Refused (Printf.sprintf "`%s` is no formula" said))

  let absence th where text =
    let body, times = said th text in
    let found = match body with
      | [ Atom { predicate = name; arguments; at = None } ]
        when List.for_all (function Constant _ | Any -> true | _ -> false) arguments ->
        C.NoRows (predicate name, List.map (function Constant v -> Some v | _ -> None) arguments, times)
      | body ->
        C.NoFormula (conjunction (context ~where ~outer:(Measures.mentions body) th.unit th.from 1) body, times) in
    found, List.concat_map predicates body, List.exists is_ahead body, end_of times

  (* The value of an aggregate, or that it is beyond a limit; its formula, and the times at whose windows one has to look. *)
  let total th text =
    let body, times = said th text in
    let m, value, found = match body with
      | [ Total (v, m); Comparison ("=", Constant value, Variable w) ] when v = w && m.by = [] ->
        let ctx = context ~where:[ v, value ] th.unit th.from 0 in
        m, Some value, formula ctx (Total (v, m))
      | [ Threshold (m, _, _) as f ] when m.by = [] -> m, None, formula (context th.unit th.from 0) f
      | _ -> raise (Refused (Printf.sprintf "`%s` is no value of an aggregate with its time" text)) in
    let look = match m.window.step with
      | None -> times
      | Some (t, u) -> (match time th.unit t u with At q -> List.map (L.ends q) times | Ever _ -> times) in
    (List.hd body, value), found, times, look

  let fuel = nat 1000

  let kinds = [ "input", 0; "background", 1; "program", 2 ]

  let reason = function
    | C.NotGiven -> "a fact was not given" | C.NoLemma -> "a fact was not proved before" | C.NotTheParts -> "the parts are not the whole"
    | C.RestsOnItself -> "a fact rests on itself" | C.NoRule -> "there is no such rule"
    | C.DoesNotFollow -> "a fact does not follow by its rule from its premises alone"
    | C.NotAbsent -> "what is said to be absent is not"
    | C.NotTheValue -> "an aggregate has another value"
    | C.OtherPairs -> "an aggregate is worked out from other facts than those that are shown, and so many more" | C.NoEnd -> "no end" | C.NoFact -> "a proof is of a fact"
    | C.OtherFact -> "the proof is of another fact" | C.ItHolds -> "the fact holds" | C.NoTimes -> "the fact has no times"

  let verify request =
    let certificate = request.certificate in
    let get name = Json.member name certificate in
    let th = theory request in
    let requests = ref [] and known = Hashtbl.create 16 in
    let table names ahead until =
      let key = List.sort_uniq compare names, ahead, until in
      match Hashtbl.find_opt known key with
      | Some n -> n
      | None ->
        let n = List.length !requests in
        requests := !requests @ [ promised th (request_for th names ahead until) ];
        Hashtbl.add known key n;
        n in
    (* What is told of aggregates among premises, to find values by. *)
    let rec told node = match Json.member "aggregate" node with
      | Some text -> let known, _, _, _ = total th (text_of (Some text)) in known :: List.concat_map told (list_of (Json.member "premises" node))
      | None -> [] in
    let rec proof node =
      let get name = Json.member name node in
      (match node with Json.Object _ -> () | _ -> raise (Refused "a certificate is of objects"));
      match get "absent", get "aggregate" with
      | Some text, _ ->
        let where = match get "where" with
          | None -> []
          | Some (Json.Object l) -> List.map (function
            | name, Json.Number n -> name, (match Numbers.q_of_text n with
              | q when Numbers.is_whole q -> Values.number_of (float_of_string n)
              | _ | exception Numbers.Wrong _ -> raise (Refused "`where` tells whole numbers"))
            | _ -> raise (Refused "`where` tells whole numbers")) l
          | Some _ -> raise (Refused "`where` is an object") in
        let found, names, ahead, until = absence th where (text_of (Some text)) in
        C.Absent (found, nat (table names ahead until))
      | None, Some text ->
        let (f, _), found, times, look = total th (text_of (Some text)) in
        let more = match get "more" with
          | None -> Some (nat 0)
          | Some (Json.String "inf") -> None
          | Some (Json.Number n) ->
            (match int_of_string_opt n with
             | Some n when n >= 0 -> Some (nat n)
             | _ -> raise (Refused "`more` is a whole number from 0 on, or \"inf\""))
          | Some _ -> raise (Refused "`more` is a whole number from 0 on, or \"inf\"") in
        let n = nat (table (predicates f) (is_ahead f) (end_of times)) in
        C.Aggregated (found, times, look, n, more, List.map proof (list_of (get "premises")))
      | None, None ->
        let fact, _ = fact_of th (text_of (get "fact")) in
        let by = text_of (get "by") and premises = list_of (get "premises") in
        let bare found = if premises <> [] then raise (Refused "what was given has no premises") else found in
        if by = "parts" then C.Parts (fact, List.map proof premises)
        else if by = "lemma" then bare (C.Lemma_ fact)
        else if by = "calendar" then raise (Not_covered "a calendar")
        else
          match List.assoc_opt by kinds with
          | Some kind -> bare (C.Given (nat kind, fact))
          | None ->
            let r, n = rule_of th by in
            let known = List.concat_map told premises in
            let premises = List.map proof premises in
            C.Step (fact, nat n, hints r fact (C.claims premises) known, premises) in
    let fact, name = fact_of th (text_of (get "fact")) in
    let checked = match get "holds" with
      | Some (Json.Bool true) ->
        let lemmas = List.map proof (list_of (get "lemmas")) in
        let x = proof (Option.value (get "proof") ~default:Json.Null) in
        C.verify fuel th.problem !requests (C.Holds (fact, lemmas, x))
      | Some (Json.Bool false) ->
        let asked = promised th (request_for th [ name ] false (end_of fact.C.at_times)) in
        requests := [ asked ];
        C.verify fuel th.problem !requests (C.Missing fact)
      | _ -> raise (Refused "a certificate says whether its fact `holds`") in
    match checked with
    | None ->
      Accepted (match !requests with
        | [] -> None
        | many -> Some (L.end_text (List.fold_left (fun found r -> if L.leb found r.C.end_ then r.C.end_ else found) L.first many)))
    | Some C.NoEnd -> Beyond_it "an absence below which the rules do not come to an end"
    | Some why -> Refused_for (reason why)
end

module On_whole = Make (Whole)
module On_rational = Make (Rational)

let verify request =
  let integer = List.fold_left (fun found s -> match s with Timeline (k, _) -> k = "integer" | _ -> found) false request.program in
  try if integer then On_whole.verify request else On_rational.verify request with
  | Refused why | Unreadable why -> Refused_for why
  | Not_covered what -> Beyond_it what
  | Stack_overflow -> Beyond_it "a certificate of this size"
