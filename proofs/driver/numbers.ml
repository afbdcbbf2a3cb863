(* Exact numbers: those of the proved checker, read from text and written. *)

open Proved

exception Wrong of string

let rec positive_of_int n = if n = 1 then XH else if n land 1 = 1 then XI (positive_of_int (n lsr 1)) else XO (positive_of_int (n lsr 1))
let z_of_int n = if n = 0 then Z0 else if n > 0 then Zpos (positive_of_int n) else Zneg (positive_of_int (-n))
let ten = z_of_int 10

let z_of_digits text =
  String.fold_left (fun found c -> Z.add (Z.mul found ten) (z_of_int (Char.code c - 48))) Z0 text

let rec power n = if n = 0 then z_of_int 1 else Z.mul ten (power (n - 1))

(* The ratio of two whole numbers; the second is above 0. *)
let ratio above below = qred { qnum = above; qden = Z.to_pos below }
let q_of_int n = { qnum = z_of_int n; qden = XH }
let zero = q_of_int 0
let negative q = qopp q
let plus a b = qred (qplus a b)
let times a b = qred (qmult a b)
let over a b = qred (qmult a (qinv b))
let le a b = qle_bool a b
let lt a b = not (qle_bool b a)
let is_whole q = q.qden = XH
let floor q = Z.div q.qnum (Zpos q.qden)
let ceil q = Z.opp (Z.div (Z.opp q.qnum) (Zpos q.qden))

let rec int_of_positive = function XH -> 1 | XO p -> 2 * int_of_positive p | XI p -> (2 * int_of_positive p) + 1

let rec digits_of z = match z with
  | Z0 -> ""
  | _ ->
    let rest = Z.div z ten in
    let last = Z.sub z (Z.mul rest ten) in
    digits_of rest ^ string_of_int (match last with Zpos p -> int_of_positive p | _ -> 0)
let z_text z = match z with Z0 -> "0" | Zpos _ -> digits_of z | Zneg p -> "-" ^ digits_of (Zpos p)
let text q = if is_whole q then z_text q.qnum else z_text q.qnum ^ "/" ^ z_text (Zpos q.qden)

let is_digit c = c >= '0' && c <= '9'
let all_digits text = text <> "" && String.for_all is_digit text

let most_digits = 40
let most_exponent = 30

(* `3`, `-2.5`, `1e-6` or `1/3`; Wrong for what is none, or too long or too large. *)
let q_of_text text =
  let wrong why = raise (Wrong (Printf.sprintf "the number %s %s" text why)) in
  let signed, rest =
    if text <> "" && (text.[0] = '-' || text.[0] = '+') then text.[0] = '-', String.sub text 1 (String.length text - 1)
    else false, text in
  let sign q = if signed then negative q else q in
  match String.index_opt rest '/' with
  | Some i ->
    let above = String.sub rest 0 i and below = String.sub rest (i + 1) (String.length rest - i - 1) in
    if not (all_digits above && all_digits below) then wrong "cannot be read";
    if max (String.length above) (String.length below) > most_digits then wrong "is too long";
    let below = z_of_digits below in
    if below = Z0 then wrong "divides by zero";
    sign (ratio (z_of_digits above) below)
  | None ->
    let base, exponent = match String.index_opt (String.lowercase_ascii rest) 'e' with
      | None -> rest, 0
      | Some i ->
        let e = String.sub rest (i + 1) (String.length rest - i - 1) in
        let e = if e <> "" && e.[0] = '+' then String.sub e 1 (String.length e - 1) else e in
        (match int_of_string_opt e with
         | Some n when abs n <= most_exponent -> String.sub rest 0 i, n
         | _ -> wrong "has an exponent that is too large") in
    let whole, decimals = match String.index_opt base '.' with
      | None -> base, ""
      | Some i -> String.sub base 0 i, String.sub base (i + 1) (String.length base - i - 1) in
    if not (all_digits whole) || (decimals <> "" && not (all_digits decimals)) then wrong "cannot be read";
    if String.length whole + String.length decimals > most_digits then wrong "is too long";
    let shift = exponent - String.length decimals in
    let digits = z_of_digits (whole ^ decimals) in
    sign (if shift >= 0 then ratio (Z.mul digits (power shift)) (z_of_int 1) else ratio digits (power (-shift)))
