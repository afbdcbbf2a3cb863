(* The words of a statement: keywords, numbers, times, names, intervals. What is a keyword depends on where it stands. *)

open Numbers
open Statements
open Tree

exception Not_covered = Values.Not_covered

type text = { s : string; mutable p : int }

let unreadable t what =
  let shown = String.sub t.s t.p (min 20 (String.length t.s - t.p)) in
  raise (Unreadable (if shown = "" then what ^ " at the end of a statement" else Printf.sprintf "%s at `%s`" what shown))

let char t i = if i < String.length t.s then t.s.[i] else '\000'

let rec skip t =
  match char t t.p with
  | ' ' | '\t' | '\012' | '\r' | '\n' -> t.p <- t.p + 1; skip t
  | '%' -> while t.p < String.length t.s && t.s.[t.p] <> '\n' do t.p <- t.p + 1 done; skip t
  | '\xef' when char t (t.p + 1) = '\xbb' && char t (t.p + 2) = '\xbf' -> t.p <- t.p + 3; skip t
  | _ -> ()

let rec while_ t f i = if i < String.length t.s && f t.s.[i] then while_ t f (i + 1) else i
let rec blanks t i = if List.mem (char t i) [ ' '; '\t'; '\n'; '\r'; '\012' ] then blanks t (i + 1) else i
let cut t e = let found = String.sub t.s t.p (e - t.p) in t.p <- e; found

(* --- words and signs *)

let at_sign t sign =
  skip t;
  let n = String.length sign in
  t.p + n <= String.length t.s && String.sub t.s t.p n = sign
let sign t sign = at_sign t sign && (t.p <- t.p + String.length sign; true)
let expect t s = if not (sign t s) then unreadable t (Printf.sprintf "expected `%s`" s)

(* A keyword, in any case, which no letter or digit goes on with. *)
let at_keyword t word =
  skip t;
  let n = String.length word in
  t.p + n <= String.length t.s
  && String.lowercase_ascii (String.sub t.s t.p n) = word
  && not (is_word (char t (t.p + n)))
let keyword t word = at_keyword t word && (t.p <- t.p + String.length word; true)

(* One before a formula: `not:x` is a name. *)
let at_prefix t word =
  at_keyword t word
  && not (let e = t.p + String.length word in
          (char t e = ':' || char t e = '/') && is_word (char t (e + 1)))

let is_inf t i = char t i = 'i' && char t (i + 1) = 'n' && char t (i + 2) = 'f' && not (is_word (char t (i + 3)))

(* `for` and `within` are keywords before a time only. *)
let at_lasting t word =
  at_keyword t word
  && (let e = blanks t (t.p + String.length word) in
      let e = if char t e = '+' || char t e = '-' then blanks t (e + 1) else e in
      is_digit (char t e) || is_inf t e)

let infix = [ "in"; "since"; "until"; "over"; "by"; "mod" ]

let at_latest t =
  skip t;
  let n = t.p + 6 in
  n <= String.length t.s
  && String.lowercase_ascii (String.sub t.s t.p 6) = "latest"
  && (let e = blanks t n in
      e > n
      && (is_word (char t e) || char t e = '\'')
      && not (List.exists (fun word ->
          let m = String.length word in
          e + m <= String.length t.s && String.lowercase_ascii (String.sub t.s e m) = word && not (is_word (char t (e + m)))) infix))

(* --- numbers, times, texts, names *)

let number_end t =
  let e = while_ t is_digit t.p in
  if e = t.p then None else
  let e = if char t e = '.' && is_digit (char t (e + 1)) then while_ t is_digit (e + 1) else e in
  let e =
    if char t e = 'e' || char t e = 'E' then
      let f = if char t (e + 1) = '+' || char t (e + 1) = '-' then e + 2 else e + 1 in
      if is_digit (char t f) then while_ t is_digit f else e
    else e in
  Some e

(* A number that no letter goes on with: else it is a name. *)
let at_number t =
  skip t;
  match number_end t with
  | Some e -> not (is_word (char t e)) && not (char t e = '.' && is_digit (char t (e + 1)))
  | None -> false

let constant_of text =
  let q = try q_of_text text with Numbers.Wrong why -> raise (Unreadable why) in
  if is_whole q then
    match q.Proved.qnum with
    | Proved.Z0 -> Values.Number 0.
    | _ -> Values.number_of (float_of_string (z_text q.Proved.qnum))
  else Values.number_of (float_of_string text)

let number t =
  skip t;
  match number_end t with
  | Some e -> constant_of (cut t e)
  | None -> unreadable t "expected a number"

let negated = function Values.Number x -> Values.number_of (-.x) | v -> v

let units = [ "us"; "ms"; "min"; "s"; "h"; "d" ]

let time t =
  skip t;
  let minus = char t t.p = '-' in
  if minus || char t t.p = '+' then (t.p <- t.p + 1; t.p <- blanks t t.p);
  if is_inf t t.p then (t.p <- t.p + 3; Ever (not minus), "")
  else
    match number_end t with
    | None -> unreadable t "expected a time"
    | Some e ->
      let above = cut t e in
      let flat i = while_ t (fun c -> c = ' ' || c = '\t') i in
      let slash = flat t.p in
      let text =
        if char t slash = '/' && is_digit (char t (flat (slash + 1))) then (
          t.p <- flat (slash + 1);
          above ^ "/" ^ cut t (while_ t is_digit t.p))
        else above in
      let i = flat t.p in
      let unit = List.find_opt (fun u ->
        let n = String.length u in
        i + n <= String.length t.s && String.sub t.s i n = u && not (is_word (char t (i + n)))) units in
      (match unit with Some u -> t.p <- i + String.length u | None -> ());
      let q = try q_of_text text with Numbers.Wrong why -> raise (Unreadable why) in
      At (if minus then negative q else q), Option.value unit ~default:""

let quoted_text t =
  expect t "\"";
  let buffer = Buffer.create 16 in
  let rec go () =
    match char t t.p with
    | '"' -> t.p <- t.p + 1
    | '\\' ->
      (match char t (t.p + 1) with
       | 'n' -> Buffer.add_char buffer '\n' | 'r' -> Buffer.add_char buffer '\r' | 't' -> Buffer.add_char buffer '\t'
       | ('"' | '\\') as c -> Buffer.add_char buffer c
       | _ -> unreadable t "expected an escape");
      t.p <- t.p + 2;
      go ()
    | '\n' | '\000' -> unreadable t "expected the end of a text"
    | c -> Buffer.add_char buffer c; t.p <- t.p + 1; go () in
  go ();
  Buffer.contents buffer

let quoted_name t =
  expect t "'";
  let e = while_ t (fun c -> c <> '\'' && c <> '\n') t.p in
  if char t e <> '\'' || e = t.p then unreadable t "expected a name in single quotes";
  let found = cut t e in
  t.p <- t.p + 1;
  found

let with_prefix t e = if char t e = ':' && is_word (char t (e + 1)) then while_ t is_word (e + 1) else e
let name_end t =
  match char t t.p with
  | 'A' .. 'Z' | '_' -> Some (with_prefix t (while_ t is_word t.p))
  | 'a' .. 'z' ->
    let rec go i =
      let c = char t i in
      if is_word c || c = '/' || c = '-' then go (i + 1)
      else if c = ':' && char t (i + 1) <> '-' && char t (i + 1) <> '=' then go (i + 1)
      else i in
    Some (go t.p)
  | '0' .. '9' ->
    let e = while_ t is_digit t.p in
    if is_letter (char t e) then Some (with_prefix t (while_ t is_word e)) else None
  | _ -> None

let name t = skip t; match name_end t with Some e -> cut t e | None -> unreadable t "expected a name"

let is_predicate text =
  let base, rest = match String.index_opt text ':' with
    | None -> text, None
    | Some i -> String.sub text 0 i, Some (String.sub text (i + 1) (String.length text - i - 1)) in
  base <> "" && String.for_all is_word base && String.exists is_letter base
  && (match rest with None -> true | Some r -> r <> "" && String.for_all is_word r)

let predicate t =
  skip t;
  if char t t.p = '\'' then quoted_name t
  else
    let found = name t in
    if is_predicate found then found else raise (Unreadable (Printf.sprintf "`%s` is not a predicate's name" found))

(* --- intervals *)

let at_interval t =
  skip t;
  char t t.p = '['
  || (char t t.p = '('
      && (let e = blanks t (t.p + 1) in
          let e = if char t e = '+' || char t e = '-' then blanks t (e + 1) else e in
          if is_digit (char t e) then
            let e = while_ t (fun c -> not (String.contains ",()[]@<>=!" c)) e in
            char t e = ','
          else char t e = 'i' && char t (e + 1) = 'n' && char t (e + 2) = 'f' && char t (blanks t (e + 3)) = ','))

let interval ?(time = time) t =
  skip t;
  let left_open = char t t.p = '(' in
  t.p <- t.p + 1;
  let low, low_unit = time t in
  let high, high_unit = if sign t "," then time t else low, low_unit in
  let right_open = if sign t "]" then false else (expect t ")"; true) in
  { low; low_unit; left_open = left_open || low = Ever false; high; high_unit; right_open = right_open || high = Ever true }

(* --- what facts have *)

let plain_name t =
  skip t;
  match char t t.p with
  | 'A' .. 'Z' | 'a' .. 'z' ->
    let rec go i =
      let c = char t i in
      if is_word c || c = '/' || c = '-' || (c = ':' && char t (i + 1) <> '-') then go (i + 1) else i in
    cut t (go t.p)
  | _ -> unreadable t "expected a constant"

(* A date or time as data writes it, in seconds since 1970. *)
let moment t =
  skip t;
  let digits i n = i + n <= String.length t.s && String.for_all is_digit (String.sub t.s i n) in
  let p = t.p in
  if digits p 4 && char t (p + 4) = '-' && digits (p + 5) 2 && char t (p + 7) = '-' && digits (p + 8) 2
     && not (is_digit (char t (p + 10))) then (
    let int i n = int_of_string ("0u" ^ String.sub t.s i n) in
    let year, month, day = int p 4, int (p + 5) 2, int (p + 8) 2 in
    let days =
      let y = if month <= 2 then year - 1 else year in
      let era = y / 400 in
      let of_era = y - (era * 400) in
      let of_year = (((153 * (if month > 2 then month - 3 else month + 9)) + 2) / 5) + day - 1 in
      (era * 146097) + (of_era * 365) + (of_era / 4) - (of_era / 100) + of_year - 719468 in
    t.p <- p + 10;
    let whole = ref (days * 86400) and rest = ref zero in
    if char t t.p = 'T' || char t t.p = 't' then (
      let p = t.p + 1 in
      if not (digits p 2 && char t (p + 2) = ':' && digits (p + 3) 2) then unreadable t "expected a time of day";
      whole := !whole + (int p 2 * 3600) + (int (p + 3) 2 * 60);
      t.p <- p + 5;
      if char t t.p = ':' && digits (t.p + 1) 2 then (
        whole := !whole + int (t.p + 1) 2;
        t.p <- t.p + 3;
        if char t t.p = '.' && is_digit (char t (t.p + 1)) then (
          let e = while_ t is_digit (t.p + 1) in
          rest := q_of_text ("0" ^ String.sub t.s t.p (e - t.p));
          t.p <- e));
      match char t t.p with
      | 'Z' | 'z' -> t.p <- t.p + 1
      | ('+' | '-') as c when digits (t.p + 1) 2 ->
        let hours = int (t.p + 1) 2 in
        t.p <- t.p + 3;
        let minutes =
          if char t t.p = ':' && digits (t.p + 1) 2 then (let m = int (t.p + 1) 2 in t.p <- t.p + 3; m)
          else if digits t.p 2 then (let m = int t.p 2 in t.p <- t.p + 2; m)
          else 0 in
        let off = (hours * 3600) + (minutes * 60) in
        whole := if c = '+' then !whole - off else !whole + off
      | _ -> ());
    Some (At (plus (q_of_int 0) (plus { Proved.qnum = z_of_int !whole; qden = Proved.XH } !rest)), "s"))
  else None
