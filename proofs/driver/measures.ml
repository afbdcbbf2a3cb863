(* Aggregates in rules: each gets a variable and a part of its own, and thresholds are found, as the reference says. *)

open Tree

(* --- variables *)

let rec in_term found = function
  | Variable v -> v :: found
  | Any | Constant _ -> found
  | Arithmetic (_, l) -> List.fold_left in_term found l
  | Measure m -> in_measure found m

(* All that are written in a formula, as often as they are, the last one first. *)
and in_formula found = function
  | Atom a ->
    let found = List.fold_left in_term found a.arguments in
    (match a.at with Some (v, _) -> v :: found | None -> found)
  | Truth _ -> found
  | Comparison (_, a, b) -> in_term (in_term found a) b
  | Conjunction l -> List.fold_left in_formula found l
  | Negation f | Unary (_, _, f) | Window (_, f, _) -> in_formula found f
  | Binary (_, _, f, g) -> in_formula (in_formula found f) g
  | Latest (a, _, _) -> in_formula found (Atom a)
  | Total (v, m) -> v :: in_measure found m
  | Threshold (m, _, _) -> in_measure found m

and in_measure found m =
  let found = List.rev_append m.by found in
  let found = match m.argument with Some t -> in_term found t | None -> found in
  in_formula found m.over

let mentions formulas = List.fold_left in_formula [] formulas
let uses name names = List.length (List.filter (String.equal name) names)

(* Those that a formula has for others: of an aggregate its group and its value. *)
let rec outer found = function
  | Conjunction l -> List.fold_left outer found l
  | Negation f | Unary (_, _, f) | Window (_, f, _) -> outer found f
  | Binary (_, _, f, g) -> outer (outer found f) g
  | Total (v, m) -> v :: List.rev_append m.by found
  | Threshold (m, _, _) -> List.rev_append m.by found
  | f -> in_formula found f

let once names = List.rev (List.fold_left (fun found v -> if List.mem v found then found else v :: found) [] names)
(* The variables of an aggregate that are its own. *)
let local m = List.filter (fun v -> not (List.mem v m.by)) (once (List.rev (outer [] m.over)))

(* --- a part for each *)

let rec has_term = function Measure _ -> true | Arithmetic (_, l) -> List.exists has_term l | _ -> false
let rec has = function
  | Comparison (_, a, b) -> has_term a || has_term b
  | Conjunction l -> List.exists has l
  | Negation f | Unary (_, _, f) | Window (_, f, _) -> has f
  | Binary (_, _, f, g) -> has f || has g
  | _ -> false

let rec spliced parts = List.concat_map (function Conjunction l -> spliced l | f -> [ f ]) parts
let map_parts change = function
  | Conjunction l -> Conjunction (List.map change l)
  | Negation f -> Negation (change f)
  | Unary (op, i, f) -> Unary (op, i, change f)
  | Binary (op, i, f, g) -> let f = change f in Binary (op, i, f, change g)
  | Window (m, f, w) -> Window (m, change f, w)
  | Total (v, m) -> Total (v, { m with over = change m.over })
  | Threshold (m, op, limit) -> Threshold ({ m with over = change m.over }, op, limit)
  | f -> f

(* `count() over p(S) in [5] by S >= 3` is `Count = count() over p(S) in [5] by S, Count >= 3`. *)
let lifted head body =
  if not (List.exists has body) then body
  else
    let names = ref (mentions (head @ body)) in
    let fresh base =
      let found = Alarms.fresh base !names 1 in
      names := found :: !names;
      found in
    let rec formula f = match f with
      | Comparison ("=", Variable v, Measure m) | Comparison ("=", Measure m, Variable v) -> literal v m
      | Comparison (c, a, b) when has f ->
        let found = ref [] in
        let a = value found a in
        let b = value found b in
        Conjunction (spliced (List.rev (Comparison (c, a, b) :: !found)))
      | f -> map_parts formula f
    and literal v m = Total (v, { m with over = formula m.over; is_listed = false })
    and value found = function
      | Arithmetic (op, l) -> Arithmetic (op, List.map (value found) l)
      | Measure m ->
        let v = fresh (String.capitalize_ascii m.apply) in
        found := literal v m :: !found;
        Variable v
      | t -> t in
    spliced (List.map formula body)

(* --- comparisons of `by S, A > 3`, where the comma only seems to go on with `by` *)

let rec without_last = function
  | Arithmetic (op, l) ->
    (match List.rev l with
     | last :: rest -> let last, given = without_last last in Arithmetic (op, List.rev (last :: rest)), given
     | [] -> Arithmetic (op, l), None)
  | Measure ({ is_listed = true; by; _ } as m) ->
    (match List.rev by with
     | last :: rest -> Measure { m with by = List.rev rest; is_listed = List.length rest > 1 }, Some last
     | [] -> Measure m, None)
  | t -> t, None

(* The comparisons that sides and signs in turn are. *)
let chain first others =
  let rec go left = function
    | [] -> []
    | [ (sign, right) ] -> [ Comparison (sign, left, right) ]
    | (sign, right) :: rest ->
      (match without_last right with
       | right, Some v -> Comparison (sign, left, right) :: go (Variable v) rest
       | _, None -> raise (Unreadable "a comparison has two sides")) in
  go first others

(* --- thresholds *)

let mirrored = function "<" -> ">" | "<=" -> ">=" | ">" -> "<" | ">=" -> "<=" | sign -> sign
(* What a comparison asks of one variable alone, which it compares with a number. *)
let asked = function
  | Comparison (c, Variable v, Constant (Values.Number x)) -> Some (v, c, x)
  | Comparison (c, Constant (Values.Number x), Variable v) -> Some (v, mirrored c, x)
  | _ -> None

(* Whether the formula says that what is summed is not below 0. *)
let is_positive m = match m.argument with
  | Some (Constant (Values.Number x)) -> x >= 0.
  | Some (Variable v) ->
    List.exists (fun part -> match asked part with
      | Some (w, (">=" | ">" | "="), x) -> v = w && x >= 0.
      | _ -> false) (spliced [ m.over ])
  | _ -> false

let limit part other = match part, asked other with
  | Total (v, m), Some (w, sign, x) when v = w ->
    let rises = List.mem m.apply [ "count"; "distinct"; "max" ] || (m.apply = "sum" && is_positive m) in
    let upwards = sign = ">=" || sign = ">" in
    if (upwards && rises) || ((sign = "<=" || sign = "<") && m.apply = "min") then
      Some (Threshold (m, sign, Values.Number x)) else None
  | _ -> None

(* A body in which each comparison that more pairs can only make true is part of its aggregate, whose value is for nothing else. *)
let rec marked names parts =
  let parts = List.map (inside names) parts in
  let rec replace before = function
    | (Total (v, _) as part) :: rest when uses v names = 2 ->
      let others = List.rev_append before rest in
      (match List.find_map (fun other -> Option.map (fun t -> other, t) (limit part other)) others with
       | Some (other, threshold) ->
         let but = List.filter (fun f -> f != other) in
         replace (threshold :: but before) (but rest)
       | None -> replace (part :: before) rest)
    | part :: rest -> replace (part :: before) rest
    | [] -> List.rev before in
  replace [] parts
and inside names = function
  | Conjunction parts -> (match marked names parts with [ one ] -> one | many -> Conjunction many)
  | f -> map_parts (inside names) f

let with_thresholds outside body = marked (mentions (outside @ body)) body

(* --- what a certificate tells *)

(* Terms in the order in which they stand. *)
let rec terms = function
  | Atom a -> a.arguments
  | Truth _ -> []
  | Comparison (_, a, b) -> operands a @ operands b
  | Conjunction l -> List.concat_map terms l
  | Negation f | Unary (_, _, f) | Window (_, f, _) -> terms f
  | Binary (_, _, f, g) -> terms f @ terms g
  | Latest (a, _, _) -> a.arguments
  | Total (_, m) | Threshold (m, _, _) -> terms m.over
and operands = function Arithmetic (_, l) -> List.concat_map operands l | t -> [ t ]

(* Values for the group of a rule's aggregate, and for its own, by what is told of one for a group: if it may be the same. *)
let told f known value = match f, known with
  | (Total (_, m) | Threshold (m, _, _)), (Total (_, n) | Threshold (n, _, _)) when m.apply = n.apply ->
    let mine = terms m.over and theirs = terms n.over in
    if List.length mine <> List.length theirs then None
    else
      let group = List.concat (List.map2 (fun a b -> match a, b with
        | Variable v, Constant c when List.mem v m.by -> [ v, c ]
        | _ -> []) mine theirs) in
      Some (match f, value with Total (v, _), Some c -> (v, c) :: group | _ -> group)
  | _ -> None
