(* Reads formulas: written for the checker alone, from the language's reference. *)

open Numbers
open Statements
open Tree
open Words

(* --- what is not known to be an atom or a term, until it is used *)

type draft =
  | Name of string * bool * term list option (* quoted or not *)
  | Term of term
  | Formula of formula
  | Chain of formula list (* comparisons that only commas behind a `by` seemed to tie together *)

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
  | Formula _ | Chain _ -> raise (Unreadable "expected a term, found a formula")
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
  | Chain _ -> raise (Unreadable "it is not clear where `by` ends")
  | Name (text, false, None) when List.mem (String.lowercase_ascii text) [ "top"; "bottom" ] ->
    Truth (String.lowercase_ascii text = "top")
  | Name (text, quoted, arguments) ->
    if not (quoted || is_predicate text) then raise (Unreadable (Printf.sprintf "`%s` is not a predicate's name" text));
    let arguments = Option.value arguments ~default:[] in
    if List.exists (function Arithmetic _ | Measure _ -> true | _ -> false) arguments then
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

(* The variables, and whether commas alone stand between them. *)
let by t =
  if not (keyword t "by") then [], false
  else
    let variable () = match plain_term (name t) with
      | Variable v -> v
      | _ -> raise (Unreadable "`by` lists variables") in
    if sign t "(" then (
      let rec go found = if sign t "," then go (variable () :: found) else (expect t ")"; List.rev found) in
      go [ variable () ], false)
    else
      let rec go found = if comma_of_by t && sign t "," then go (variable () :: found) else List.rev found in
      let found = go [ variable () ] in
      found, List.length found > 1

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
  | [ (Name _ | Term _ | Formula _) as one ] -> one
  | many -> Formula (Conjunction (List.concat_map (function Chain l -> l | f -> [ as_formula f ]) many))

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
  | before, Chain (first :: rest) -> Chain (apply_all before first :: rest)
  | before, operand -> Formula (apply_all before (as_formula operand))

and latest t =
  ignore (keyword t "latest");
  match as_formula (atom t) with
  | Atom a ->
    let group, _ = by t in
    if not (keyword t "in") then unreadable t "expected `in`";
    let w = window t in
    Formula (Latest (a, (if group = [] then fst (by t) else group), w))
  | _ -> raise (Unreadable "`latest` takes an atom")

and comparison t =
  let left = sum t in
  let signs = [ "!="; "<="; ">="; "="; "<"; ">" ] in
  match List.find_opt (at_sign t) signs with
  | None -> left
  | Some _ ->
    let rec others found = match List.find_opt (at_sign t) signs with
      | None -> List.rev found
      | Some s -> ignore (sign t s); let right = as_term (sum t) in others ((s, right) :: found) in
    (match Measures.chain (as_term left) (others []) with
     | [ one ] -> Formula one
     | many -> Chain many)

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
  if keyword t "over" then Term (Measure (measure t found))
  else if sign t "@" then (
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

(* `avg(V) over p(S, V) in [5] by S`: what stands behind `over`. *)
and measure t call =
  let apply, arguments = match call with
    | Name (text, false, Some arguments) -> String.lowercase_ascii text, arguments
    | _ -> raise (Unreadable "an aggregate begins with a function") in
  let argument = function Any -> raise (Unreadable "an aggregate is of a variable, not of `_`") | found -> found in
  let fraction, argument = match apply, arguments with
    | "count", [] -> None, None
    | "quantile", [ Constant (Values.Number q as given); found ] when q >= 0. && q <= 1. -> Some given, Some (argument found)
    | ("distinct" | "sum" | "avg" | "min" | "max" | "first" | "last" | "stddev"), [ found ] -> None, Some (argument found)
    | _ -> raise (Unreadable (Printf.sprintf "`%s(...)` is no function of an aggregate" apply)) in
  skip t;
  let over = if char t t.p = '(' then as_formula (factor t) else as_formula (atom t) in
  let group = by t in
  let window =
    if keyword t "in" then window t
    else if keyword t "per" then raise (Not_covered "an aggregate over periods")
    else unreadable t "expected `in` or `per`" in
  let by, is_listed = if fst group = [] then by t else group in
  { apply; fraction; argument; over; window; by; is_listed }
