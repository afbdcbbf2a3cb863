(* The command: `tidelog-verify PROGRAM FACTS CERTIFICATE`, or requests as lines of JSON on standard input. *)

open Tree

let usage = {|usage: tidelog-verify [--complete-until TIME] PROGRAM FACTS… CERTIFICATE
       tidelog-verify --json    a request a line on standard input, a verdict a line on standard output
       tidelog-verify --read    programs as lines {"program": TEXT}; what is understood of each, as JSON

PROGRAM is a program's text, FACTS are files of text facts, a line each, CERTIFICATE is what
`tidelog why --format json` prints. Exit codes: 0 accepted, 1 refused, 2 used wrongly, 3 not covered.
|}

let read_file path =
  let channel = open_in_bin path in
  let text = really_input_string channel (in_channel_length channel) in
  close_in channel;
  text

let lines text = List.filter (fun line -> String.trim line <> "") (String.split_on_char '\n' text)

(* Facts of the input have a time; those of background files need none. *)
let facts_of ~timed texts =
  List.concat_map (fun text ->
    List.map (fun (kind, text) ->
      match kind with
      | Statements.Fact ->
        (match Reader.fact text with
         | _, None when timed -> raise (Unreadable (Printf.sprintf "the fact `%s` has no time" text))
         | found -> found)
      | _ -> raise (Unreadable (Printf.sprintf "`%s` is no fact" text))) (Statements.split text)) texts

let complete_of text =
  let t = { Words.s = text; p = 0 } in
  let found, unit = Words.time t in
  if unit <> "" || not (Reader.ended t) then raise (Unreadable (Printf.sprintf "`%s` is no time without a unit" text));
  found

(* A verdict, what goes with it, and how that is called in JSON. *)
let verdict = function
  | Meaning.Accepted None -> "accepted", None, ""
  | Meaning.Accepted (Some time) -> "accepted", Some time, "complete_until"
  | Meaning.Refused_for why -> "refused", Some why, "reason"
  | Meaning.Beyond_it what -> "not covered", Some what, "met"

let shown found = match verdict found with
  | word, None, _ -> word
  | word, Some "inf", "complete_until" -> word ^ ", if the facts are all there are"
  | word, Some time, "complete_until" -> Printf.sprintf "%s, if the facts are all there are up to %s" word time
  | word, Some why, _ -> word ^ ": " ^ why

(* A certificate may say itself up to when it takes the input to be complete. *)
let promised given certificate = match Json.member "complete_until" certificate with
  | None -> given
  | Some (Json.String s) ->
    let own = complete_of s in
    (match given, own with
     | Ever true, _ | At _, Ever false -> own
     | _, Ever true | Ever false, _ -> given
     | At a, At b -> if Numbers.le a b then given else own)
  | Some _ -> raise (Unreadable "`complete_until` is a text")

let answer program facts background complete certificate =
  try
    let complete = promised complete certificate in
    Certificates.verify { Meaning.program = Reader.program program; facts; background; complete; certificate }
  with
  | Unreadable why -> Meaning.Refused_for ("the program cannot be read: " ^ why)
  | Values.Not_covered what -> Meaning.Beyond_it what

(* --- requests *)

let string_of = function Some (Json.String s) -> s | _ -> raise (Json.Wrong "a request has texts: program, and lists of texts: facts")
let strings_of = function
  | None -> []
  | Some (Json.List l) -> List.map (fun item -> string_of (Some item)) l
  | Some _ -> raise (Json.Wrong "`facts` is a list of texts")

let requested line =
  try
    let request = Json.parse line in
    let get name = Json.member name request in
    let complete = match get "complete_until" with None -> Ever true | Some (Json.String s) -> complete_of s | Some _ -> raise (Json.Wrong "`complete_until` is a text") in
    let certificate = Option.value (get "certificate") ~default:Json.Null in
    answer (string_of (get "program")) (facts_of ~timed:true (strings_of (get "facts")))
      (facts_of ~timed:false (strings_of (get "background"))) complete certificate
  with
  | Json.Wrong why | Unreadable why -> Meaning.Refused_for why
  | Values.Not_covered what -> Meaning.Beyond_it what

let print_verdict found =
  let word, more, name = verdict found in
  let rest = match more with None -> [] | Some text -> [ name, Json.String text ] in
  print_endline (Json.print (Json.Object (("verdict", Json.String word) :: rest)));
  flush stdout

let each_line f = try while true do f (input_line stdin) done with End_of_file -> ()

(* --- what is understood of a program *)

let time_text = function Ever true -> "inf" | Ever false -> "-inf" | At q -> Numbers.text q
let interval i =
  Json.String (Printf.sprintf "%s%s%s,%s%s%s" (if i.left_open then "(" else "[") (time_text i.low) i.low_unit
    (time_text i.high) i.high_unit (if i.right_open then ")" else "]"))
let value = function
  | Values.Text s -> Json.String s
  | Values.Number x -> Json.Number (if Float.is_integer x then Printf.sprintf "%.0f" x else Printf.sprintf "%.17g" x)
let node kind items = Json.List (Json.String kind :: items)
let text s = Json.String s
let rec term = function
  | Variable v -> node "var" [ text v ]
  | Any -> node "any" []
  | Constant v -> node "const" [ value v ]
  | Arithmetic (op, l) -> node op (List.map term l)
  | Measure _ -> node "measure" []
let atom (a : atom) =
  node "atom" [ text a.predicate; Json.List (List.map term a.arguments);
    (match a.at with None -> Json.Null | Some (v, n) -> Json.List [ text v; Json.Number (string_of_int n) ]) ]
let window w =
  Json.List [ text (time_text w.size ^ w.unit); Json.Bool w.tuples; Json.List (List.map text w.of_);
    (match w.step with None -> Json.Null | Some (t, u) -> text (time_text t ^ u)) ]
let rec formula = function
  | Atom a -> atom a
  | Truth b -> node "truth" [ Json.Bool b ]
  | Comparison (c, a, b) -> node c [ term a; term b ]
  | Conjunction l -> node "and" (List.map formula l)
  | Negation f -> node "not" [ formula f ]
  | Unary (op, i, f) -> node op [ interval i; formula f ]
  | Binary (op, i, f, g) -> node op [ interval i; formula f; formula g ]
  | Window (mode, f, w) -> node mode [ formula f; window w ]
  | Latest (a, by, w) -> node "latest" [ atom a; Json.List (List.map text by); window w ]
  | Total (v, m) -> node "aggregate" (text v :: measure m)
  | Threshold (m, c, limit) -> node "threshold" (measure m @ [ text c; value limit ])
and measure m =
  let or_null f = function None -> Json.Null | Some x -> f x in
  [ text m.apply; or_null value m.fraction; or_null term m.argument; formula m.over; window m.window;
    Json.List (List.map text m.by) ]
let statement = function
  | Rule r -> [ node "rule" [ formula r.head; Json.List (List.map formula r.body); text r.assigns ] ]
  | Beyond (name, what) -> [ node "beyond" [ text name; text what ] ]
  | Fact (a, i) -> [ node "fact" [ atom a; (match i with None -> Json.Null | Some i -> interval i) ] ]
  | Timeline (kind, unit) -> [ node "timeline" [ text kind; (match unit with None -> Json.Null | Some q -> text (Numbers.text q)) ] ]
  | Parameter (name, v) -> [ node "parameter" [ text name; value v ] ]
  | Calendar name -> [ node "calendar" [ text name ] ]
  | Alarm _ | Directive _ -> []

let understood line =
  let found =
    try
      let program = string_of (Json.member "program" (Json.parse line)) in
      Json.Object [ "statements", Json.List (List.concat_map statement (Reader.program program)) ]
    with
    | Json.Wrong why | Unreadable why -> Json.Object [ "unreadable", Json.String why ]
    | Values.Not_covered what -> Json.Object [ "met", Json.String what ] in
  print_endline (Json.print found);
  flush stdout

(* --- files *)

let files complete arguments = match arguments with
  | program :: (_ :: _ as rest) ->
    let reversed = List.rev rest in
    let certificates = lines (read_file (List.hd reversed)) and facts = List.rev (List.tl reversed) in
    let facts = facts_of ~timed:true (List.map read_file facts) in
    let text = read_file program in
    let all = List.map (fun line -> answer text facts [] complete (Json.parse line)) certificates in
    let worst = List.fold_left (fun code found ->
      print_endline (shown found);
      max code (match found with Meaning.Accepted _ -> 0 | Meaning.Refused_for _ -> 1 | Meaning.Beyond_it _ -> 3)) 0 all in
    if all = [] then (prerr_endline "tidelog-verify: the file of certificates is empty"; 2) else worst
  | _ -> prerr_string usage; 2

let () =
  let code =
    try
      match List.tl (Array.to_list Sys.argv) with
      | [ "--json" ] -> each_line (fun line -> print_verdict (requested line)); 0
      | [ "--read" ] -> each_line understood; 0
      | [ "--help" ] -> print_string usage; 0
      | "--complete-until" :: time :: rest -> files (complete_of time) rest
      | arguments -> files (Ever true) arguments
    with
    | Sys_error why | Unreadable why | Json.Wrong why -> prerr_endline ("tidelog-verify: " ^ why); 2
    | Values.Not_covered what -> prerr_endline ("tidelog-verify: not covered: " ^ what); 3 in
  exit code
