(* Reads programs and facts: written for the checker alone, from the language's reference. *)

open Numbers
open Statements
open Tree
open Words
open Alarms
open Formulas

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
  | Total (v, m) -> Total (v, { m with over = settled m.over })
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
    let body = match conjunction t with Chain l -> l | found -> parts (as_formula found) in
    expect_end t;
    List.map settled (Measures.lifted (head :: List.map (fun v -> Comparison ("=", v, v)) (Option.to_list value)) body) |> make
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
  | Total (v, m) -> Total (v, in_measure change m)
  | Threshold (m, c, limit) -> Threshold (in_measure change m, c, limit)
  | Truth b -> Truth b
and in_measure change m =
  { m with argument = Option.map (in_terms change) m.argument; over = in_formula change m.over }

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
