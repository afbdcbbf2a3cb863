(* The rules that the declaration of an alarm stands for, by what the reference says of its states. *)

open Tree

let rec fresh base taken n =
  let found = if n = 1 then base else base ^ string_of_int n in
  if List.mem found taken then fresh base taken (n + 1) else found

let by = [ "Who_"; "Comment_"; "Via_" ]
let shelf = by @ [ "Begins_"; "Ends_" ]

(* What is behind the alarm's name in the predicates of what people do, and of what follows from that. *)
let parts =
  [ "acknowledge"; "comment"; "shelve"; "unshelve"; "remove"; "restore"; "restored"; "removed"; "unshelving"; "unshelved"; "shelved";
    "hidden"; "active"; "acknowledged now"; "acknowledged"; "unacknowledged"; "settled"; "raised"; "returned"; "suppressed" ]

(* Whether a predicate is called as if it belonged to an alarm, and is none that its declaration stands for: a desk has such. *)
let is_of_desk alarms predicate =
  List.exists (fun a ->
    let n = String.length a.name + 1 in
    String.length predicate > n && String.sub predicate 0 n = a.name ^ " "
    && not (List.mem (String.sub predicate n (String.length predicate - n)) parts)) alarms

(* A variable for each field: its first letter, and a number where that is taken. *)
let variables fields =
  List.rev (List.fold_left (fun names field ->
    let letter = match field.[0] with
      | 'a' .. 'z' | 'A' .. 'Z' as c -> String.make 1 (Char.uppercase_ascii c)
      | c when Char.code c < 128 -> "K"
      | _ -> raise (Values.Not_covered "a field that begins with a letter beyond a to z") in
    fresh letter names 1 :: names) [] fields)

let rules a =
  if List.length (List.sort_uniq compare a.fields) < List.length a.fields then []
  else
    let names = List.combine a.fields (variables a.fields) in
    let own = List.map (fun (_, v) -> Variable v) names in
    let call predicate more = Atom { predicate; arguments = own @ more; at = None } in
    let atom what more = call (a.name ^ " " ^ what) (List.map (fun v -> Variable v) more) in
    let some what more = call (a.name ^ " " ^ what) (List.map (fun _ -> Any) more) in
    let no f = Negation f in
    let since f g = Binary ("since", forever, f, g) in
    let rule head body = Rule { head; body; assigns = "" } in
    let field name = match List.assoc_opt name names with
      | Some v -> Variable v
      | None -> raise (Unreadable (Printf.sprintf "the alarm `%s` has no field `%s`" a.name name)) in
    let inhibitors = List.map (fun (i : atom) -> Atom { i with arguments = List.map (function
      | Variable name | Constant (Values.Text name) -> field name
      | Any | Constant _ as term -> term
      | Arithmetic _ | Measure _ -> raise (Unreadable "what inhibits an alarm has fields, numbers and `_`")) i.arguments }) a.inhibitors in
    let condition = call a.name [] in
    let active = atom "active" [] and hidden = atom "hidden" [] and restored = atom "restored" [] in
    let unacknowledged = atom "unacknowledged" [] and suppressed = atom "suppressed" [] in
    let removed = some "removed" by and shelved = some "shelved" shelf in
    let on_shelf = atom "shelve" shelf in
    let state name body = rule (call (a.name ^ "_state") [ Constant (Values.Text name) ]) body in
    let returned =
      if not a.latched then []
      else
        let settled = atom "settled" [] and raised = atom "raised" [] in
        let over = settled :: inhibitors in
        [ rule settled [ some "acknowledge" by ];
          rule settled [ hidden ];
          rule raised (List.map (fun f -> since (no f) unacknowledged) over @ List.map no over);
          rule (atom "returned" []) [ raised; no active ] ] in
    [ rule restored [ some "restore" by ];
      rule (atom "removed" by) [ no restored; since (no restored) (Conjunction [ atom "remove" by; no restored ]) ];
      rule (atom "unshelving" shelf) [ on_shelf; some "unshelve" by ];
      rule (atom "unshelved" shelf) [ on_shelf; since on_shelf (atom "unshelving" shelf) ];
      rule (atom "shelved" shelf) [ on_shelf; no (atom "unshelved" shelf) ];
      rule hidden [ removed ];
      rule hidden [ shelved ];
      rule active (condition :: no hidden :: List.map no inhibitors);
      rule (atom "acknowledged now" by) [ active; atom "acknowledge" by ];
      rule (atom "acknowledged" by) [ active; since active (atom "acknowledged now" by) ];
      rule unacknowledged [ active; no (some "acknowledged" by) ] ]
    @ returned
    @ List.map (fun f -> rule suppressed [ condition; f ]) inhibitors
    @ [ state "out_of_service" [ removed ]; state "shelved" [ shelved; no removed ] ]
    @ (if inhibitors = [] then [] else [ state "suppressed" [ suppressed; no removed; no shelved ] ])
    @ [ state "unacknowledged" [ unacknowledged ]; state "acknowledged" [ some "acknowledged" by ] ]
    @ (if a.latched then [ state "returned_unacknowledged" [ atom "returned" [] ] ] else [])

(* The statements, and what alarms stand for; of two alarms with one name the first counts. *)
let with_alarms statements =
  let alarms = List.fold_left (fun found s -> match s with
    | Alarm a when not (List.exists (fun (b : alarm) -> b.name = a.name) found) -> found @ [ a ]
    | _ -> found) [] statements in
  statements @ List.concat_map rules alarms
