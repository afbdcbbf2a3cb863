(* Reads programs, facts and formulas: written for the checker alone, from the language's reference. *)

open Numbers
open Statements
open Tree
open Words
open Alarms

(* --- what is not known to be an atom or a term, until it is used *)

type draft =
  | Name of string * bool * term list option (* quoted or not *)
  | Term of term
  | Formula of formula

let plain_term text =
  if text = "_" then Any
  else
    match text.[0] with
    | 'a' .. 'z' -> Constant (Values.Text text)
    | c when is_digit c || String.contains text ':' ->
      raise (Unreadable (Printf.sprintf "`%s` is neither a variable nor a constant" text))
    | _ -> Variable text

let as_term = function
  | Term found -> found
  | Formula _ -> raise (Unreadable "expected a term, found a formula")
  | Name (_, true, _) -> raise (Unreadable "a constant stands in double quotes")
  | Name (text, _, None) -> plain_term text
  | Name (text, _, Some arguments) ->
    (match String.lowercase_ascii text, List.length arguments with
     | "abs", 1 -> Arithmetic ("abs", arguments)
     | ("min" | "max") as f, n when n >= 2 -> Arithmetic (f, arguments)
     | _ -> raise (Unreadable (Printf.sprintf "`%s(...)` is not a function" text)))

let as_formula = function
  | Formula found -> found
  | Term _ -> raise (Unreadable "expected a formula, found a term")
  | Name (text, false, None) when List.mem (String.lowercase_ascii text) [ "top"; "bottom" ] ->
    Truth (String.lowercase_ascii text = "top")
  | Name (text, quoted, arguments) ->
    if not (quoted || is_predicate text) then raise (Unreadable (Printf.sprintf "`%s` is not a predicate's name" text));
    let arguments = Option.value arguments ~default:[] in
    if List.exists (function Arithmetic _ -> true | _ -> false) arguments then
      raise (Unreadable "an atom's argument is a variable or a constant");
    Atom { predicate = text; arguments; at = None }

(* --- prefixes and windows *)

type prefix = string * interval option
let metric = [ "diamondminus"; "diamondplus"; "boxminus"; "boxplus"; "sometime"; "always" ]
let bare (word, interval) = (word = "sometime" || word = "always") && interval = None

let sign_of = function Ever true -> 1 | Ever false -> -1 | At q -> (match q.Proved.qnum with Proved.Z0 -> 0 | Proved.Zpos _ -> 1 | _ -> -1)
let opposite = function Ever up -> Ever (not up) | At q -> At (negative q)

let apply_prefix (word, interval) operand =
  let given = Option.value interval ~default:forever in
  match word with
  | "not" -> Negation operand
  | "sometime" | "always" ->
    let kind = if word = "sometime" then "diamond" else "box" in
    if sign_of given.low >= 0 && sign_of given.high > 0 then Unary (kind ^ "plus", given, operand)
    else if sign_of given.high <= 0 then
      Unary (kind ^ "minus",
        { low = opposite given.high; low_unit = given.high_unit; left_open = given.right_open;
          high = opposite given.low; high_unit = given.low_unit; right_open = given.left_open }, operand)
    else raise (Unreadable "an interval reaches from the past into the future")
  | _ -> Unary (word, given, operand)

let apply_all prefixes operand = List.fold_right apply_prefix prefixes operand

(* The prefixes up to the last one that is so, and those behind it. *)
let split_last is prefixes =
  let rec go before after = match before with
    | [] -> [], after
    | x :: _ when is x -> List.rev before, after
    | x :: rest -> go rest (x :: after) in
  go (List.rev prefixes) []

let apply_window prefixes operand window =
  let before, after = split_last bare prefixes in
  match List.rev before with
  | (mode, _) :: rest -> List.rev rest, Window (mode, apply_all after operand, window)
  | [] ->
    let before, after = split_last (fun (word, _) -> word = "not") prefixes in
    let mode = match operand with Atom { at = Some _; _ } -> "at" | _ -> "sometime" in
    before, Window (mode, apply_all after operand, window)

let apply_lasting prefixes operand (word, time, unit) =
  let before, after = split_last (fun p -> fst p = "not" || bare p) prefixes in
  let operand = apply_all after operand in
  (match operand with Comparison _ -> raise (Unreadable (Printf.sprintf "`%s` stands behind a comparison" word)) | _ -> ());
  if sign_of time < 0 then raise (Unreadable "no time is shorter than 0");
  let interval = { low = At zero; low_unit = ""; left_open = false; high = time; high_unit = unit; right_open = time = Ever true } in
  before, Unary (word, interval, operand) (* `settled` and `in_head` say what it is *)

(* --- formulas and expressions, which share their grammar *)

let comma_of_by t =
  skip t;
  char t t.p = ','
  && (let e = blanks t (t.p + 1) in
      let c = char t e in
      ((c >= 'A' && c <= 'Z') || c = '_')
      && (let e = while_ t is_word e in
          let f = blanks t e in
          let follows word =
            let n = String.length word in
            f + n <= String.length t.s && String.lowercase_ascii (String.sub t.s f n) = word && not (is_word (char t (f + n))) in
          f >= String.length t.s || String.contains ",)]=<>!" (char t f) || follows "in" || follows "per"))

let by t =
  if not (keyword t "by") then []
  else
    let variable () = match plain_term (name t) with
      | Variable v -> v
      | _ -> raise (Unreadable "`by` lists variables") in
    if sign t "(" then (
      let rec go found = if sign t "," then go (variable () :: found) else (expect t ")"; List.rev found) in
      go [ variable () ])
    else
      let rec go found = if comma_of_by t && sign t "," then go (variable () :: found) else List.rev found in
      go [ variable () ]

let window t =
  expect t "[";
  let found =
    if sign t "#" then (
      skip t;
      let size, _ = time t in
      let of_ =
        if keyword t "of" then (
          let rec go found = if sign t "," then go (predicate t :: found) else List.rev found in
          go [ predicate t ])
        else [] in
      { size; unit = ""; tuples = true; of_; step = None })
    else
      let size, unit = time t in
      let step = if keyword t "step" then Some (time t) else None in
      { size; unit; tuples = false; of_ = []; step } in
  expect t "]";
  found

let at_window t =
  at_keyword t "in" && (let e = blanks t (t.p + 2) in char t e = '[')

let rec conjunction t =
  let rec go found = if sign t "," then go (binary t :: found) else List.rev found in
  match go [ binary t ] with
  | [ one ] -> one
  | many -> Formula (Conjunction (List.map as_formula many))

and binary t =
  let rec go left =
    match List.find_opt (at_keyword t) [ "since"; "until" ] with
    | None -> left
    | Some word ->
      ignore (keyword t word);
      let distances = if at_interval t then interval t else forever in
      let right = prefixed t in
      go (Formula (Binary (word, distances, as_formula left, as_formula right))) in
  go (prefixed t)

and prefixed t =
  let rec prefixes found =
    match List.find_opt (at_prefix t) metric with
    | Some word ->
      ignore (keyword t word);
      prefixes ((word, if at_interval t then Some (interval t) else None) :: found)
    | None -> if at_prefix t "not" then (ignore (keyword t "not"); prefixes (("not", None) :: found)) else List.rev found in
  let before = prefixes [] in
  let base = if at_latest t then latest t else comparison t in
  let rec behind (before, operand) =
    if at_window t then (
      ignore (keyword t "in");
      let w = window t in
      let before, f = apply_window before (as_formula operand) w in
      behind (before, Formula f))
    else
      match List.find_opt (at_lasting t) [ "for"; "within" ] with
      | Some word ->
        ignore (keyword t word);
        let length, unit = time t in
        let before, f = apply_lasting before (as_formula operand) (word, length, unit) in
        behind (before, Formula f)
      | None -> before, operand in
  match behind (before, base) with
  | [], operand -> operand
  | before, operand -> Formula (apply_all before (as_formula operand))

and latest t =
  ignore (keyword t "latest");
  match as_formula (atom t) with
  | Atom a ->
    let group = by t in
    if not (keyword t "in") then unreadable t "expected `in`";
    let w = window t in
    Formula (Latest (a, (if group = [] then by t else group), w))
  | _ -> raise (Unreadable "`latest` takes an atom")

and comparison t =
  let left = sum t in
  let signs = [ "!="; "<="; ">="; "="; "<"; ">" ] in
  match List.find_opt (at_sign t) signs with
  | None -> left
  | Some s ->
    ignore (sign t s);
    let right = sum t in
    if List.exists (at_sign t) signs then unreadable t "a comparison has two sides";
    Formula (Comparison (s, as_term left, as_term right))

and sum t =
  let rec go left =
    match List.find_opt (at_sign t) [ "+"; "-" ] with
    | Some s -> ignore (sign t s); let right = product t in go (Term (Arithmetic (s, [ as_term left; as_term right ])))
    | None -> left in
  go (product t)

and product t =
  let rec go left =
    let found = match List.find_opt (at_sign t) [ "//"; "/"; "*" ] with
      | Some s -> ignore (sign t s); Some s
      | None -> if keyword t "mod" then Some "mod" else None in
    match found with
    | Some s -> let right = factor t in go (Term (Arithmetic (s, [ as_term left; as_term right ])))
    | None -> left in
  go (factor t)

and factor t =
  skip t;
  if at_number t then Term (Constant (number t))
  else
    match char t t.p with
    | '-' ->
      ignore (sign t "-");
      if at_number t then Term (Constant (negated (number t))) else Term (Arithmetic ("neg", [ as_term (factor t) ]))
    | '"' -> Term (Constant (Values.Text (quoted_text t)))
    | '(' ->
      ignore (sign t "(");
      let inner = conjunction t in
      expect t ")";
      inner
    | _ -> atom t

and atom t =
  skip t;
  let quoted = char t t.p = '\'' in
  let text = if quoted then quoted_name t else name t in
  let arguments =
    if sign t "(" then
      if sign t ")" then Some []
      else
        let rec go found = if sign t "," then go (as_term (sum t) :: found) else (expect t ")"; List.rev found) in
        Some (go [ as_term (sum t) ])
    else None in
  let found = Name (text, quoted, arguments) in
  if keyword t "over" then raise (Not_covered "an aggregate");
  if sign t "@" then (
    skip t;
    if at_interval t || is_digit (char t t.p) || char t t.p = '+' || char t t.p = '-' then
      raise (Unreadable "only a fact has a fixed time");
    let variable = match plain_term (name t) with
      | Variable v -> v
      | _ -> raise (Unreadable "expected a time variable after `@`") in
    let shift =
      match List.find_opt (at_sign t) [ "+"; "-" ] with
      | None -> 0
      | Some s ->
        ignore (sign t s);
        skip t;
        let e = while_ t is_digit t.p in
        if e = t.p || is_word (char t e) then unreadable t "expected a whole number";
        let n = int_of_string (cut t e) in
        if s = "+" then n else -n in
    match as_formula found with
    | Atom a -> Formula (Atom { a with at = Some (variable, shift) })
    | _ -> raise (Unreadable (Printf.sprintf "`%s` has no time" text)))
  else found

(* --- statements *)

let ended t = skip t; t.p >= String.length t.s
let expect_end t = if not (ended t) then unreadable t "expected the end of the statement"

(* `p for 10 min` looks back in a body; in a head it holds from now on. *)
let rec settled = function
  | Unary ("for", i, f) -> Unary ("boxminus", i, settled f)
  | Unary ("within", i, f) -> Unary ("diamondminus", i, settled f)
  | Unary (op, i, f) -> Unary (op, i, settled f)
  | Conjunction l -> Conjunction (List.map settled l)
  | Negation f -> Negation (settled f)
  | Binary (op, i, f, g) -> Binary (op, i, settled f, settled g)
  | Window (m, f, w) -> Window (m, settled f, w)
  | f -> f
let rec in_head = function
  | Unary ("for", i, f) -> Unary ("boxplus", { i with right_open = true }, in_head f)
  | Unary ("within", _, _) -> raise (Unreadable "`within` looks back, and a head tells what holds")
  | Unary (op, i, f) -> Unary (op, i, in_head f)
  | f -> f

let parts = function Conjunction l -> l | f -> [ f ]

let rule text =
  let t = { s = text; p = 0 } in
  let head = in_head (as_formula (binary t)) in
  let value = if sign t ":=" then Some (as_term (sum t)) else None in
  expect t ":-";
  let name, make = match value with
    | None ->
      head_predicate head, fun body -> { head; body; assigns = "" }
    | Some ((Variable _ | Constant _) as value) ->
      (match head with
       | Atom ({ at = None; _ } as a) ->
         let name = a.predicate ^ " :=" in
         Some name, fun body ->
           { head = Atom { predicate = name; arguments = a.arguments @ [ value ]; at = None }; body; assigns = "value" }
       | _ -> raise (Unreadable "left of `:=` stands an atom, without a time"))
    | Some _ -> raise (Unreadable "right of `:=` stands a variable or a constant") in
  match
    let body = settled (as_formula (conjunction t)) in
    expect_end t;
    make (parts body)
  with
  | found -> Rule found
  | exception Not_covered what -> Beyond (Option.value name ~default:"", what)

let fact_end t = match moment t with Some found -> found | None -> time t

(* An atom as data writes it, and when it holds, if that is said. *)
let fact text =
  let t = { s = text; p = 0 } in
  let name = predicate t in
  let term () =
    skip t;
    if char t t.p = '"' then Constant (Values.Text (quoted_text t))
    else if at_number t then Constant (number t)
    else if sign t "-" then Constant (negated (number t))
    else Constant (Values.Text (plain_name t)) in
  let arguments =
    if sign t "(" then
      if sign t ")" then []
      else
        let rec go found = if sign t "," then go (term () :: found) else (expect t ")"; List.rev found) in
        go [ term () ]
    else [] in
  let times =
    if sign t "@" then (
      skip t;
      if at_interval t then Some (interval ~time:fact_end t)
      else
        let at, unit = fact_end t in
        Some { low = at; low_unit = unit; left_open = false; high = at; high_unit = unit; right_open = false })
    else None in
  expect_end t;
  { predicate = name; arguments; at = None }, times

let seconds = function
  | "us" -> over (q_of_int 1) (q_of_text "1000000") | "ms" -> over (q_of_int 1) (q_of_text "1000")
  | "s" -> q_of_int 1 | "min" -> q_of_text "60" | "h" -> q_of_text "3600" | _ -> q_of_text "86400"

(* `alarm hot(room: text), priority high, text "…", acknowledge, shelve at most 8 h, inhibited by night` *)
let alarm t =
  let word t =
    skip t;
    let e = while_ t (fun c -> is_word c || c = '-') t.p in
    if e = t.p then unreadable t "expected a word" else cut t e in
  let field () =
    skip t;
    let found = if char t t.p = '"' then quoted_text t else word t in
    if sign t ":" then ignore (word t);
    found in
  let name = predicate t in
  let fields =
    if sign t "(" then
      if sign t ")" then []
      else
        let rec go found = if sign t "," then go (field () :: found) else (expect t ")"; List.rev found) in
        go [ field () ]
    else [] in
  let latched = ref false and inhibitors = ref [] in
  while sign t "," do
    match String.lowercase_ascii (word t) with
    | "priority" -> ignore (word t)
    | "text" -> skip t; ignore (quoted_text t)
    | "acknowledge" -> latched := true
    | "shelve" ->
      if not (keyword t "at" && keyword t "most") then unreadable t "expected `at most`";
      ignore (time t)
    | "inhibited" ->
      if not (keyword t "by") then unreadable t "expected `by`";
      (match as_formula (atom t) with
       | Atom ({ at = None; _ } as a) -> inhibitors := a :: !inhibitors
       | _ -> raise (Unreadable "`inhibited by` takes a predicate"))
    | _ -> unreadable t "expected a part of an alarm"
  done;
  expect_end t;
  Alarm { name; fields; latched = !latched; inhibitors = List.rev !inhibitors }

let directive text =
  let t = { s = text; p = 0 } in
  match String.lowercase_ascii (name t) with
  | "timeline" ->
    let kind = String.lowercase_ascii (name t) in
    if kind <> "integer" && kind <> "rational" then raise (Unreadable "a timeline is `integer` or `rational`");
    let unit = ref None in
    while sign t "," do
      match String.lowercase_ascii (name t) with
      | "unit" ->
        (match time t with
         | At q, u when u <> "" -> unit := Some (times q (seconds u))
         | _ -> raise (Unreadable "`unit` takes a number with a unit of time"))
      | "resolution" -> ignore (time t)
      | "round" -> ignore (name t)
      | _ -> unreadable t "expected an option of the timeline"
    done;
    expect_end t;
    Timeline (kind, !unit)
  | "parameter" ->
    let word = name t in
    expect t "=";
    skip t;
    let value =
      if char t t.p = '"' then Values.Text (quoted_text t)
      else if at_number t then number t
      else if sign t "-" then negated (number t)
      else match plain_term (name t) with Constant v -> v | _ -> raise (Unreadable "a parameter is a constant") in
    expect_end t;
    Parameter (word, value)
  | "calendar" -> Calendar (predicate t)
  | "alarm" -> alarm t
  | word -> Directive word

(* --- programs *)

let rec in_terms change = function
  | Arithmetic (op, l) -> Arithmetic (op, List.map (in_terms change) l)
  | t -> change t
let rec in_formula change = function
  | Atom a -> Atom { a with arguments = List.map (in_terms change) a.arguments }
  | Comparison (c, a, b) -> Comparison (c, in_terms change a, in_terms change b)
  | Conjunction l -> Conjunction (List.map (in_formula change) l)
  | Negation f -> Negation (in_formula change f)
  | Unary (op, i, f) -> Unary (op, i, in_formula change f)
  | Binary (op, i, f, g) -> Binary (op, i, in_formula change f, in_formula change g)
  | Window (m, f, w) -> Window (m, in_formula change f, w)
  | Latest (a, by, w) -> Latest ({ a with arguments = List.map (in_terms change) a.arguments }, by, w)
  | Truth b -> Truth b

let with_parameters statements =
  let given = List.filter_map (function Parameter (name, v) -> Some (name, v) | _ -> None) statements in
  let change = function
    | Variable name as v -> (match List.assoc_opt name given with Some value -> Constant value | None -> v)
    | t -> t in
  if given = [] then statements
  else List.map (function
    | Rule r -> Rule { r with head = in_formula change r.head; body = List.map (in_formula change) r.body }
    | s -> s) statements

(* The rules that tell what is assigned: `mode(M) := running :- start(M)` holds from behind `start` on until another value comes. *)
let told integer name (first : rule) =
  let key = match first.head with Atom a -> List.rev (List.tl (List.rev a.arguments)) | _ -> [] in
  let names = List.fold_left (fun (names, n) term ->
    let found = match term with
      | Variable v when not (List.mem v names) -> v
      | _ -> fresh (Printf.sprintf "K%d" n) names 1 in
    names @ [ found ], n + 1) ([], 1) key |> fst in
  let value = fresh "V" names 1 in
  let other = fresh "W" (names @ [ "V" ]) 1 in
  let keys = List.map (fun v -> Variable v) names in
  let atom predicate last = Atom { predicate; arguments = keys @ [ Variable last ]; at = None } in
  let before = if integer then { forever with low = At (q_of_int 1) } else { forever with left_open = true } in
  [ Rule { head = atom name value;
           body = [ Binary ("since", before, Negation (atom (name ^ " := other") value), atom (name ^ " :=") value);
                    Comparison ("!=", Variable value, Constant (Values.Text "none")) ];
           assigns = "holds" };
    Rule { head = atom (name ^ " := other") value;
           body = [ atom name value; atom (name ^ " :=") other; Comparison ("!=", Variable value, Variable other) ];
           assigns = "holds" } ]

let is_assigned name = String.length name > 3 && String.sub name (String.length name - 3) 3 = " :="

let with_machines statements =
  List.iter (function
    | Beyond (name, what) when is_assigned name -> raise (Not_covered (what ^ " in an assignment"))
    | _ -> ()) statements;
  let integer = List.fold_left (fun found s -> match s with Timeline (k, _) -> k = "integer" | _ -> found) false statements in
  let machines = List.fold_left (fun found s -> match s with
    | Rule ({ assigns = "value"; head = Atom a; _ } as r) ->
      let name = String.sub a.predicate 0 (String.length a.predicate - 3) in
      if List.mem_assoc name found then found else found @ [ name, r ]
    | _ -> found) [] statements in
  statements @ List.concat_map (fun (name, first) -> told integer name first) machines

let program text =
  let statement (kind, text) = match kind with
    | Statements.Rule -> rule text
    | Statements.Directive -> directive text
    | Statements.Fact -> let atom, times = fact text in Fact (atom, times) in
  with_machines (with_alarms (with_parameters (List.map statement (Statements.split text))))
