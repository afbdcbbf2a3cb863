(* JSON, read and written. Numbers are kept as they are written. *)

type t = Null | Bool of bool | Number of string | String of string | List of t list | Object of (string * t) list

exception Wrong of string

let utf8 buffer code =
  let add n = Buffer.add_char buffer (Char.chr n) in
  if code < 0x80 then add code
  else if code < 0x800 then (add (0xc0 lor (code lsr 6)); add (0x80 lor (code land 0x3f)))
  else if code < 0x10000 then (
    add (0xe0 lor (code lsr 12)); add (0x80 lor ((code lsr 6) land 0x3f)); add (0x80 lor (code land 0x3f)))
  else (
    add (0xf0 lor (code lsr 18)); add (0x80 lor ((code lsr 12) land 0x3f));
    add (0x80 lor ((code lsr 6) land 0x3f)); add (0x80 lor (code land 0x3f)))

let parse text =
  let length = String.length text and place = ref 0 in
  let wrong what = raise (Wrong (Printf.sprintf "no JSON: %s at character %d" what (!place + 1))) in
  let peek () = if !place < length then text.[!place] else '\000' in
  let rec space () = match peek () with ' ' | '\t' | '\n' | '\r' -> incr place; space () | _ -> () in
  let expect c = if peek () = c then incr place else wrong (Printf.sprintf "expected `%c`" c) in
  let word name value =
    let size = String.length name in
    if !place + size <= length && String.sub text !place size = name then (place := !place + size; value)
    else wrong "unexpected character" in
  let hex () =
    if !place + 4 > length then wrong "cut off" else
    match int_of_string_opt ("0x" ^ String.sub text !place 4) with
    | Some code -> place := !place + 4; code
    | None -> wrong "bad escape" in
  let string () =
    expect '"';
    let buffer = Buffer.create 16 in
    let rec go () =
      if !place >= length then wrong "text without an end" else
      match text.[!place] with
      | '"' -> incr place
      | '\\' ->
        incr place;
        let c = peek () in
        incr place;
        (match c with
         | 'n' -> Buffer.add_char buffer '\n' | 't' -> Buffer.add_char buffer '\t' | 'r' -> Buffer.add_char buffer '\r'
         | 'b' -> Buffer.add_char buffer '\b' | 'f' -> Buffer.add_char buffer '\012'
         | '"' | '\\' | '/' -> Buffer.add_char buffer c
         | 'u' ->
           let code = hex () in
           if code land 0xfc00 = 0xd800 && peek () = '\\' then (
             expect '\\'; expect 'u';
             utf8 buffer (0x10000 + ((code land 0x3ff) lsl 10) + (hex () land 0x3ff)))
           else utf8 buffer code
         | _ -> wrong "bad escape");
        go ()
      | c -> Buffer.add_char buffer c; incr place; go () in
    go ();
    Buffer.contents buffer in
  let rec value () =
    space ();
    match peek () with
    | '{' -> incr place; Object (members ())
    | '[' -> incr place; List (items ())
    | '"' -> String (string ())
    | 't' -> word "true" (Bool true)
    | 'f' -> word "false" (Bool false)
    | 'n' -> word "null" Null
    | '-' | '0' .. '9' ->
      let start = !place in
      let rec go () = match peek () with '-' | '+' | '.' | 'e' | 'E' | '0' .. '9' -> incr place; go () | _ -> () in
      go ();
      Number (String.sub text start (!place - start))
    | _ -> wrong "unexpected character"
  and items () =
    space ();
    if peek () = ']' then (incr place; []) else
    let rec go found =
      let found = value () :: found in
      space ();
      if peek () = ',' then (incr place; go found) else (expect ']'; List.rev found) in
    go []
  and members () =
    space ();
    if peek () = '}' then (incr place; []) else
    let rec go found =
      space ();
      let name = string () in
      space (); expect ':';
      let found = (name, value ()) :: found in
      space ();
      if peek () = ',' then (incr place; go found) else (expect '}'; List.rev found) in
    go [] in
  let found = value () in
  space ();
  if !place < length then wrong "something follows" else found

let quoted text =
  let buffer = Buffer.create (String.length text + 2) in
  Buffer.add_char buffer '"';
  String.iter (fun c -> match c with
    | '"' -> Buffer.add_string buffer "\\\"" | '\\' -> Buffer.add_string buffer "\\\\"
    | '\n' -> Buffer.add_string buffer "\\n" | '\r' -> Buffer.add_string buffer "\\r" | '\t' -> Buffer.add_string buffer "\\t"
    | c when Char.code c < 32 -> Buffer.add_string buffer (Printf.sprintf "\\u%04x" (Char.code c))
    | c -> Buffer.add_char buffer c) text;
  Buffer.add_char buffer '"';
  Buffer.contents buffer

let rec print = function
  | Null -> "null" | Bool b -> string_of_bool b | Number n -> n | String s -> quoted s
  | List l -> "[" ^ String.concat ", " (List.map print l) ^ "]"
  | Object l -> "{" ^ String.concat ", " (List.map (fun (name, v) -> quoted name ^ ": " ^ print v) l) ^ "}"

let member name = function
  | Object l -> (match List.rev (List.filter (fun (n, _) -> n = name) l) with (_, v) :: _ -> Some v | [] -> None)
  | _ -> None
