(* Constants and what is computed with them. A number is a float; whole numbers are exact as such up to 2^53.
   What would need more is not covered. *)

exception Not_covered of string

type value = Text of string | Number of float

let exact = 9007199254740992.
let number x =
  if Float.is_integer x && Float.abs x > exact then raise (Not_covered "a whole number beyond 2^53")
  else Number (x +. 0.)

let value_eqb (a : value) (b : value) = match a, b with
  | Text a, Text b -> String.equal a b
  | Number a, Number b -> Float.equal a b
  | _ -> false
let some_value = Text ""
let whole_number = function
  | Number x when Float.is_integer x -> Some (Numbers.z_of_int (int_of_float x))
  | _ -> None

type operation = string
let operation_eqb = String.equal

(* Division as Python has it: the remainder has the sign of the divisor. *)
let divided a b =
  if Float.is_integer a && Float.is_integer b then
    let a = int_of_float a and b = int_of_float b in
    let rest = a mod b in
    let rest = if rest <> 0 && (rest < 0) <> (b < 0) then rest + b else rest in
    float_of_int ((a - rest) / b), float_of_int rest
  else
    let rest = Float.rem a b in
    let quotient = (a -. rest) /. b in
    let rest, quotient = if rest <> 0. && (b < 0.) <> (rest < 0.) then rest +. b, quotient -. 1. else rest, quotient in
    if quotient = 0. then 0., rest
    else
      let low = Float.floor quotient in
      (if quotient -. low > 0.5 then low +. 1. else low), rest

let apply operation operands =
  let found = match operation, operands with
    | "+", [ Number a; Number b ] -> Some (a +. b)
    | "-", [ Number a; Number b ] -> Some (a -. b)
    | "*", [ Number a; Number b ] -> Some (a *. b)
    | ("/" | "//" | "mod"), [ Number _; Number 0. ] -> None
    | "/", [ Number a; Number b ] -> Some (a /. b)
    | "//", [ Number a; Number b ] -> Some (fst (divided a b))
    | "mod", [ Number a; Number b ] -> Some (snd (divided a b))
    | "min", [ Number a; Number b ] -> Some (Float.min a b)
    | "max", [ Number a; Number b ] -> Some (Float.max a b)
    | "abs", [ Number a ] -> Some (Float.abs a)
    | "neg", [ Number a ] -> Some (-.a)
    | _ -> None in
  match found with
  | Some x when Float.is_finite x -> Some (number x)
  | _ -> None

type comparison = string
let comparison_eqb = String.equal
let is_equality = String.equal "="

let compares comparison a b = match comparison with
  | "=" -> value_eqb a b
  | "!=" -> not (value_eqb a b)
  | _ ->
    let ordered order = match comparison with
      | "<" -> order < 0 | "<=" -> order <= 0 | ">" -> order > 0 | ">=" -> order >= 0 | _ -> false in
    (match a, b with
     | Text a, Text b -> ordered (String.compare a b)
     | Number a, Number b -> ordered (Float.compare a b)
     | _ -> false)
