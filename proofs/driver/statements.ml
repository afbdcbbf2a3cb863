(* Where statements of a program begin and end: at a full stop, or at the end of a line on which they are complete. *)

open Numbers

type kind = Rule | Fact | Directive

let is_letter c = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c = '_'
let is_word c = is_letter c || is_digit c

type token = Space | Newline | Text | Number | Word | Implies | Dots | Stop | Open | Close | Operator | Other

(* The token at a place, and where it ends. *)
let token s p =
  let n = String.length s in
  let rec skip p f = if p < n && f s.[p] then skip (p + 1) f else p in
  let bom p = p + 2 < n && s.[p] = '\xef' && s.[p + 1] = '\xbb' && s.[p + 2] = '\xbf' in
  let next p = if p + 1 < n then s.[p + 1] else '\000' in
  let closed quote escapes p =
    let rec go p =
      if p >= n || s.[p] = '\n' then None
      else if s.[p] = quote then Some (p + 1)
      else if escapes && s.[p] = '\\' then if p + 1 < n && s.[p + 1] <> '\n' then go (p + 2) else None
      else go (p + 1) in
    go (p + 1) in
  match s.[p] with
  | ' ' | '\t' | '\012' | '\r' -> Space, skip p (fun c -> c = ' ' || c = '\t' || c = '\012' || c = '\r')
  | '%' -> Space, skip p (fun c -> c <> '\n')
  | '\n' -> Newline, skip p (fun c -> c = ' ' || c = '\t' || c = '\012' || c = '\r' || c = '\n')
  | _ when bom p -> Space, p + 3
  | '"' -> (match closed '"' true p with Some e -> Text, e | None -> Other, p + 1)
  | '\'' -> (match closed '\'' false p with Some e when e > p + 2 -> Text, e | _ -> Other, p + 1)
  | c when is_digit c ->
    let e = skip p is_digit in
    Number, if e + 1 < n && s.[e] = '.' && is_digit s.[e + 1] then skip (e + 1) is_digit else e
  | c when is_letter c -> Word, skip p is_word
  | ':' when next p = '-' -> Implies, p + 2
  | '.' ->
    if p > 0 && is_digit s.[p - 1] && next p = '.' && p + 2 < n && is_digit s.[p + 2] then Dots, p + 2
    else if is_digit (next p) then Other, p + 1
    else Stop, p + 1
  | '(' | '[' -> Open, p + 1
  | ')' | ']' -> Close, p + 1
  | '-' | '+' | '*' | '/' | '@' | ',' | '<' | '>' | '=' | '!' -> Operator, p + 1
  | _ -> Other, p + 1

let metric = [ "diamondminus"; "diamondplus"; "boxminus"; "boxplus"; "sometime"; "always"; "since"; "until" ]
let unfinished = metric @ [ "not"; "in"; "mod"; "over"; "by"; "per" ]
let directives = [ "timeline"; "input"; "output"; "background"; "ask"; "parameter"; "calendar"; "alarm" ]
let continues = [ ","; ":-"; "since"; "until" ]

let is_identifier word = word <> "" && is_letter word.[0] && String.for_all is_word word

(* Whether a bracket may be that of an operator's interval. *)
let begins_interval s p =
  let n = String.length s in
  let rec space p = if p < n && (s.[p] = ' ' || s.[p] = '\t' || s.[p] = '\n' || s.[p] = '\r' || s.[p] = '\012') then space (p + 1) else p in
  if s.[p] = '[' then true
  else
    let p = space (p + 1) in
    let p = if p < n && (s.[p] = '+' || s.[p] = '-') then p + 1 else p in
    let p = space p in
    if p < n && is_digit s.[p] then
      let rec go p = if p < n && not (String.contains ",()[]" s.[p]) then go (p + 1) else p in
      let e = go p in
      e < n && s.[e] = ','
    else if p + 3 <= n && String.sub s p 3 = "inf" then
      let e = space (p + 3) in
      e < n && s.[e] = ','
    else false

let split s =
  let n = String.length s in
  let found = ref [] in
  let start = ref (-1) and stop = ref (-1) and first = ref "" and second = ref "" and last = ref "" in
  let open_end = ref false and implies = ref false and brackets = ref [] and line_end = ref None in
  let reset () =
    start := -1; stop := -1; first := ""; second := ""; last := "";
    open_end := false; implies := false; brackets := []; line_end := None in
  let is_directive () =
    List.mem !first directives
    && (is_identifier !second || (!second <> "" && (!second.[0] = '\'' || !second.[0] = '"'))) in
  let take () =
    if !start >= 0 then (
      let kind = if !implies then Rule else if is_directive () then Directive else Fact in
      found := (kind, String.sub s !start (!stop - !start)) :: !found);
    reset () in
  let rec following p =
    if p >= n then "" else
    match token s p with
    | (Space | Newline), e -> following e
    | _, e -> String.lowercase_ascii (String.sub s p (e - p)) in
  let extend kind p e =
    let text = String.sub s p (e - p) in
    let word = if kind = Word then String.lowercase_ascii text else text in
    if !start < 0 then (start := p; first := word) else if !second = "" then second := word;
    stop := e;
    implies := !implies || kind = Implies;
    open_end := kind = Operator || kind = Implies || List.mem word unfinished;
    if kind = Open then brackets := (List.mem !last metric && begins_interval s p) :: !brackets
    else if kind = Close then (
      match !brackets with [] -> () | b :: rest -> brackets := rest; open_end := b);
    last := word in
  let rec go p =
    if p < n then
      match token s p with
      | Space, e -> go e
      | Newline, e ->
        let ends =
          !start >= 0 && (
            line_end := Some (!stop, p + 1);
            if !brackets <> [] || !open_end then false
            else
              let next = following e in
              if List.mem !first directives && !second = "" then not (is_identifier next)
              else not (List.mem next continues)) in
        if ends then take ();
        go e
      | Stop, e -> take (); go e
      | Implies, _ when (!implies || !brackets <> []) && !line_end <> None ->
        let last, next = Option.get !line_end in
        stop := last;
        take ();
        go next
      | kind, e -> extend kind p e; go e in
  go 0;
  take ();
  List.rev !found
