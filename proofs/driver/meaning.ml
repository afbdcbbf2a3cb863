(* From what a program and facts say to what the proved checker takes. *)

open Tree
exception Not_covered = Values.Not_covered
exception Refused of string

(* Accepted, if the input is complete up to a time (none, if nothing is absent). *)
type verdict = Accepted of string option | Refused_for of string | Beyond_it of string

type request = {
  program : statement list;
  facts : (atom * interval option) list;
  background : (atom * interval option) list;
  complete : time; (* the promise: of what holds up to here all facts are there *)
  certificate : Json.t;
}

open Lines

let of_desk = Not_covered "a rule by which a desk folds alarms"

module Make (L : TIMELINE) = struct
  module Theory = Proved.Soundness (L) (Values)
  module C = Theory.T.C
  module G = C.E.E.O.N.F.G

  (* --- names: the theory has numbers for predicates and variables *)

  let numbered () =
    let known : (string, Proved.positive) Hashtbl.t = Hashtbl.create 64 in
    fun name ->
      match Hashtbl.find_opt known name with
      | Some n -> n
      | None ->
        let n = Numbers.positive_of_int (Hashtbl.length known + 1) in
        Hashtbl.add known name n;
        n
  let predicate = numbered ()
  let variable = numbered ()

  (* --- times *)

  let time unit_ t u = match t, u with
    | At q, "" -> At q
    | At q, u ->
      (match unit_ with
       | Some one -> At (Numbers.over (Numbers.times q (Reader.seconds u)) one)
       | None -> raise (Refused "a time with a unit has no meaning where the program declares none"))
    | ever, _ -> ever
  let low_cut t is_open = match t with Ever false -> L.first | Ever true -> L.last | At q -> L.low_cut q is_open
  let high_cut t is_open = match t with Ever false -> L.first | Ever true -> L.last | At q -> L.high_cut q is_open
  let stretch unit_ i = low_cut (time unit_ i.low i.low_unit) i.left_open, high_cut (time unit_ i.high i.high_unit) i.right_open
  let is_empty (low, high) = L.leb high low
  let distances unit_ i =
    let found = stretch unit_ i in
    if is_empty found || not (L.leb L.zero (fst found)) then raise (Not_covered "an empty or negative interval");
    found
  let times_of unit_ = function
    | None -> [ (L.first, L.last) ]
    | Some i -> let found = stretch unit_ i in if is_empty found then [] else [ found ]

  (* --- formulas *)

  type context = { unit_ : Proved.q option; start : L.cut; mutable count : int; mutable own : string list; depth : int; outer : string list (* the variables of the rule, as often as they stand there *);
                   where : (string * Values.value) list (* values of time variables *) }

  let rec term ctx = function
    | Variable name -> (match List.assoc_opt name ctx.where with Some v -> G.Const v | None -> G.Var (variable name))
    | Any ->
      let name = Printf.sprintf "_%d_%d" ctx.depth ctx.count in
      ctx.count <- ctx.count + 1;
      ctx.own <- name :: ctx.own;
      G.Var (variable name)
    | Constant v -> G.Const v
    | Arithmetic (op, [ a ]) -> G.Op1 (op, term ctx a)
    | Arithmetic (op, a :: b :: rest) ->
      let first = G.Op2 (op, term ctx a, term ctx b) in
      List.fold_left (fun found x -> G.Op2 (op, found, term ctx x)) first rest
    | Arithmetic (_, []) -> raise (Refused "an expression without operands")
    | Measure _ -> raise (Refused "an aggregate stands in a comparison")

  let window_size ctx w =
    if w.tuples then raise (Not_covered "a tuple window (`in [#n]`)");
    distances ctx.unit_
      { low = At Numbers.zero; low_unit = ""; left_open = false; high = w.size; high_unit = w.unit; right_open = w.size = Ever true }

  (* A window with a step ends at the last multiple of it. *)
  let in_steps ctx w f = match w.step with
    | None -> f
    | Some (t, u) ->
      (match time ctx.unit_ t u with
       | At q -> G.Stepped (L.step_of q, f)
       | Ever _ -> raise (Not_covered "a step without end"))

  (* `T+2` *)
  let now ctx (v, n) =
    let t = term ctx (Variable v) in
    G.Now (if n = 0 then t else G.Op2 ("+", t, G.Const (Values.Number (float_of_int n))))
  let ever = L.zero, L.last
  (* At some time, before or behind. *)
  let sometime f = G.Diamond (Proved.Past, ever, G.Diamond (Proved.Future, ever, f))

  (* --- aggregates *)

  (* Wherever it stands, what is counted has the same names for what is its own. *)
  let counted_depth = 100
  let most_counted = 1_000_000.
  let nat n =
    if float_of_int n > most_counted then raise (Not_covered "an aggregate of so many pairs");
    let rec go found n = if n = 0 then found else go (Proved.S found) (n - 1) in
    go Proved.O n
  let applied m = match m.apply with
    | "count" -> G.A.Count | "distinct" -> G.A.Distinct | "sum" -> G.A.Sum | "avg" -> G.A.Mean | "min" -> G.A.Least
    | "max" -> G.A.Greatest | "first" -> G.A.Earliest | "last" -> G.A.Latest
    | "stddev" -> G.A.Other Values.Deviation
    | "quantile" -> G.A.Other (Values.Quantile (Values.decimal (Option.get m.fraction)))
    | other -> raise (Refused (Printf.sprintf "`%s` is no function" other))
  (* The values of aggregates in a formula, but for what is below a negation, or in another aggregate. *)
  let rec results = function
    | Conjunction l -> List.concat_map results l
    | Unary (_, _, f) | Window (_, f, _) -> results f
    | Binary (_, _, f, g) -> results f @ results g
    | Total (v, _) -> [ v ]
    | _ -> []

  let rec formula ctx f = match f with
    | Atom ({ at = Some at; _ } as a) ->
      let it = now ctx at in
      sometime (G.And (formula ctx (Atom { a with at = None }), it))
    | Atom a -> G.Atom (predicate a.predicate, List.map (term ctx) a.arguments)
    | Truth b -> G.Truth b
    | Comparison (c, a, b) -> let a = term ctx a in G.Compare (c, a, term ctx b)
    | Conjunction parts -> conjunction ctx parts
    | Negation f ->
      let inner = { ctx with count = 0; own = []; depth = ctx.depth + 1 } in
      let local = List.filter (fun v -> Measures.uses v (Measures.mentions [ f ]) = Measures.uses v ctx.outer) (results f) in
      let f = formula inner f in
      G.Not (List.map variable local @ List.rev_map variable inner.own, f)
    | Unary (op, i, f) ->
      let r = distances ctx.unit_ i in
      let f = formula ctx f in
      (match op with
       | "diamondminus" -> G.Diamond (Proved.Past, r, f)
       | "diamondplus" -> G.Diamond (Proved.Future, r, f)
       | "boxminus" -> G.Box (Proved.Past, r, f)
       | _ -> G.Box (Proved.Future, r, f))
    | Binary (op, i, f, g) ->
      let r = distances ctx.unit_ i in
      let f = formula ctx f in
      let g = formula ctx g in
      G.Lasts ((if op = "since" then Proved.Past else Proved.Future), r, f, g)
    | Window ("sometime", f, w) ->
      let r = window_size ctx w in
      in_steps ctx w (G.Diamond (Proved.Past, r, formula ctx f))
    | Window ("always", f, w) ->
      (* At all times of the window from the stream's start on: so it holds now, and now is behind the start. *)
      let r = window_size ctx w in
      let f = formula ctx f in
      in_steps ctx w
        (G.And (f, G.And (G.During [ (ctx.start, L.last) ], G.Box (Proved.Past, r, G.Or (f, G.During [ (L.first, ctx.start) ])))))
    | Window (_, Atom ({ at = Some at; _ } as a), w) ->
      let r = window_size ctx w in
      let it = now ctx at in
      let f = formula ctx (Atom { a with at = None }) in
      in_steps ctx w (G.Diamond (Proved.Past, r, G.And (f, G.And (it, G.During [ (ctx.start, L.last) ]))))
    | Window (_, _, _) -> raise (Refused "a window with `@T` holds one atom")
    | Latest (a, by, w) ->
      (* It held at a time, and nothing of its group has since. Where time is dense, it may also have held up to a time at
         which nothing of its group does. *)
      if a.at <> None then raise (Not_covered "a time variable (`@T`)");
      let r = window_size ctx w in
      let held = formula ctx (Atom a) in
      let own = List.filter (fun v -> not (List.mem v by)) (Measures.mentions [ Atom a ]) in
      let twice = List.filter (fun v -> Measures.uses v own > 1) (Measures.once own) in
      let inner = { ctx with count = 0; own = []; depth = ctx.depth + 1 } in
      let any = formula inner (Atom { a with arguments = List.map (function
        | Variable v when List.mem v own && not (List.mem v twice) -> Any
        | t -> t) a.arguments }) in
      let none = G.Not (List.map variable twice @ List.rev_map variable inner.own, any) in
      let since found = G.And (none, G.Lasts (Proved.Past, r, none, found)) in
      let last = G.Or (held, since held) in
      let ended () =
        let before = distances ctx.unit_ { forever with left_open = true } in
        let r = distances ctx.unit_
          { low = At Numbers.zero; low_unit = ""; left_open = false; high = w.size; high_unit = w.unit; right_open = true } in
        let up_to_here = G.And (none, G.Lasts (Proved.Past, before, held, G.Truth true)) in
        G.Or (up_to_here, G.And (none, G.Lasts (Proved.Past, r, none, up_to_here))) in
      let last = if L.is_whole || w.size = At Numbers.zero then last else G.Or (last, ended ()) in
      in_steps ctx w (G.And (G.Diamond (Proved.Past, r, held), last))

    | Total (v, m) ->
      let result = term ctx (Variable v) in
      counted ctx m (fun own r x f -> G.Total (own, r, applied m, x, result, f))
    | Threshold (m, c, (Values.Number limit as value)) ->
      let many () = nat (max 1 (int_of_float (if c = ">" then Float.floor limit +. 1. else Float.ceil limit))) in
      counted ctx m (fun own r x f -> match m.apply with
        | "count" -> G.Enough (own, r, G.A.AtLeast (many ()), x, f)
        | "distinct" -> G.Enough (own, r, G.A.Differing (many ()), x, f)
        | "sum" -> G.Enough (own, r, G.A.Summed (c, value), x, f)
        | _ -> G.Enough (own, r, G.A.AtLeast (nat 1), x, G.And (f, G.Compare (c, x, G.Const value))))
    | Threshold _ -> raise (Refused "a threshold that is no number")

  (* What is counted has its own variables: those that are not of its group, and one for each `_`. *)
  and counted ctx m make =
    let r = window_size ctx m.window in
    let inner = { ctx with count = 0; own = []; depth = counted_depth } in
    let f = formula inner m.over in
    let x = match m.argument with None -> G.Const Values.some_value | Some t -> term inner t in
    let own = Measures.local m @ List.rev inner.own in
    in_steps ctx m.window (make (List.map variable own) r x f)

  and conjunction ctx = function
    | [] -> G.Truth true
    | [ f ] -> formula ctx f
    | f :: rest -> let f = formula ctx f in G.And (f, conjunction ctx rest)

  let context ?(where = []) ?(outer = []) unit_ start depth = { unit_; start; count = 0; own = []; depth; where; outer }

  let rule unit_ start (r : Tree.rule) =
    let rec head boxes = function
      | Unary ("boxplus", i, f) -> head ((Proved.Future, distances unit_ i) :: boxes) f
      | Unary ("boxminus", i, f) -> head ((Proved.Past, distances unit_ i) :: boxes) f
      | Atom a -> List.rev boxes, a
      | _ -> raise (Not_covered "a head that is neither an atom nor boxes over one") in
    let boxes, a = head [] r.head in
    let body = Measures.with_thresholds [ r.head ] r.body in
    let ctx = context ~outer:(Measures.mentions (r.head :: body)) unit_ start 0 in
    let body = conjunction ctx body in
    (* What is said of `T+2` is said at that time, if the body holds at any. *)
    let body = match a.at with None -> body | Some at -> G.And (sometime body, now ctx at) in
    if a.at <> None && boxes <> [] then raise (Not_covered "boxes before a head with a time variable");
    { G.boxes; head = predicate a.predicate; head_args = List.map (term ctx) a.arguments; body }

  (* --- which rules there are *)

  type entry = Known of Tree.rule * int | Unknown of Tree.rule * string

  let rec predicates = function
    | Atom a -> [ a.predicate ]
    | Latest (a, _, _) -> [ a.predicate ]
    | Truth _ | Comparison _ -> []
    | Conjunction l -> List.concat_map predicates l
    | Negation f | Unary (_, _, f) | Window (_, f, _) -> predicates f
    | Binary (_, _, f, g) -> predicates f @ predicates g
    | Total (_, m) | Threshold (m, _, _) -> predicates m.over
  let rec is_ahead = function
    | Atom a -> a.at <> None
    | Truth _ | Comparison _ | Latest _ -> false
    | Conjunction l -> List.exists is_ahead l
    | Negation f | Window (_, f, _) -> is_ahead f
    | Total (_, m) | Threshold (m, _, _) -> is_ahead m.over
    | Unary (op, _, f) -> op = "diamondplus" || op = "boxplus" || is_ahead f
    | Binary (op, _, f, g) -> op = "until" || is_ahead f || is_ahead g
  let rec head_looks_back = function Unary (op, _, f) -> op = "boxminus" || head_looks_back f | _ -> false
  let has_time = function Atom { at = Some _; _ } -> true | _ -> false
  let looks_ahead (r : Tree.rule) = head_looks_back r.head || has_time r.head || List.exists is_ahead r.body

  type theory = {
    unit : Proved.q option;
    from : L.cut;
    entries : entry list;
    problem : C.problem;
    unknown : (string * string) list; (* predicates of which there may be more, and why *)
    alarms : alarm list;
  }

  let row (a : atom) = List.map (function
    | Constant v -> v
    | _ -> raise (Refused "a fact has a variable")) a.arguments

  (* Of the facts of a row one is made. *)
  let world unit_ facts =
    let known = Hashtbl.create 64 in
    let order = ref [] in
    List.iter (fun ((a : atom), i) ->
      let key = a.predicate, row a in
      if not (Hashtbl.mem known key) then order := key :: !order;
      Hashtbl.replace known key (times_of unit_ i @ Option.value (Hashtbl.find_opt known key) ~default:[])) facts;
    List.rev_map (fun ((name, args) as key) ->
      { C.coq_of = predicate name; args; at_times = G.S.normal (Hashtbl.find known key) }) !order

  let theory request =
    let unit_ = List.fold_left (fun found s -> match s with Timeline (_, u) -> u | _ -> found) None request.program in
    let input = world unit_ request.facts in
    let begins = List.concat_map (fun (f : C.fact) -> List.map fst f.C.at_times) input in
    let from = match begins with [] -> L.first | c :: rest -> List.fold_left (fun a b -> if L.leb a b then a else b) c rest in
    let own = List.filter_map (function Fact (a, i) -> Some (a, i) | _ -> None) request.program in
    let rules = ref [] and count = ref 0 in
    let entries = List.filter_map (function
      | Rule r ->
        (match rule unit_ from r with
         | known -> rules := known :: !rules; incr count; Some (Known (r, !count - 1))
         | exception Not_covered what -> Some (Unknown (r, what)))
      | _ -> None) request.program in
    let unknown =
      List.filter_map (function
        | Beyond (name, what) -> Some (name, what)
        | Calendar name -> Some (name, "a calendar")
        | _ -> None) request.program
      @ List.filter_map (function
        | Unknown (r, what) -> Option.map (fun name -> name, what) (head_predicate r.head)
        | Known _ -> None) entries in
    { unit = unit_; from; entries; unknown;
      alarms = List.filter_map (function Alarm a -> Some a | _ -> None) request.program;
      problem = {
        C.rules = List.rev !rules;
        data = [ input; world unit_ request.background; world unit_ own ];
        promised = high_cut request.complete false;
        open_ = List.map (fun (name, _) -> predicate name) unknown } }
end
