(* Constants and what is computed with them. A number is a float; whole numbers are exact as such up to 2^53.
   What would need more is not covered. *)

exception Not_covered of string

type value = Text of string | Number of float

let exact = 9007199254740992.
let number_of x =
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

(* --- exact numbers *)

let q_of_float x =
  let m, e = Float.frexp x in
  let rec odd m e = if m <> 0 && m land 1 = 0 then odd (m / 2) (e + 1) else m, e in
  let m, e = odd (int_of_float (Float.ldexp m 53)) (e - 53) in
  let rec power n = if n = 0 then Proved.XH else Proved.XO (power (n - 1)) in
  let m = Numbers.z_of_int m in
  if m = Proved.Z0 then Numbers.zero
  else if e >= 0 then { Proved.qnum = Proved.Z.mul m (Proved.Zpos (power e)); qden = Proved.XH }
  else { Proved.qnum = m; qden = power (-e) }
let q_of_number = function Number x -> Some (q_of_float x) | Text _ -> None
let number v = Option.map Proved.q2Qc (q_of_number v)

let rec about = function Proved.XH -> 1. | XO p -> 2. *. about p | XI p -> (2. *. about p) +. 1.
let middle x y = Numbers.over (Numbers.plus (q_of_float x) (q_of_float y)) (Numbers.q_of_int 2)
let is_even x = let m, _ = Float.frexp x in int_of_float (Float.ldexp m 53) land 1 = 0

(* The nearest float; of two the one with an even mantissa. *)
let nearest (q : Proved.q) =
  let above = match q.qnum with Z0 -> 0. | Zpos p -> about p | Zneg p -> -.about p in
  let start = above /. about q.qden in
  if not (Float.is_finite start) then raise (Not_covered "a sum or mean of numbers that are too large, or too exact");
  let rec go x =
    let high = middle x (Float.succ x) and low = middle (Float.pred x) x in
    if Numbers.lt high q then go (Float.succ x)
    else if Numbers.lt q low then go (Float.pred x)
    else if is_even x then x
    else if Numbers.le high q then Float.succ x
    else if Numbers.le q low then Float.pred x
    else x in
  go start

let rounded_q (q : Proved.q) =
  if Numbers.is_whole q then
    match q.qnum with Z0 -> Number 0. | _ -> number_of (float_of_string (Numbers.z_text q.qnum))
  else number_of (nearest q)
let rounded (q : Proved.qc) = Some (rounded_q q.this)
let told_whole z = rounded_q { Proved.qnum = z; qden = XH }
let ordered a b = match a, b with
  | Number a, Number b -> a <= b
  | Number _, Text _ -> true
  | Text _, Number _ -> false
  | Text a, Text b -> String.compare a b <= 0

(* --- what else may be asked of some numbers *)

type statistic = Deviation | Quantile of Proved.q
let statistic_eqb (a : statistic) (b : statistic) = a = b

(* A number as it is written: 0.9 is nine tenths. *)
let decimal = function
  | Text _ -> raise (Not_covered "a quantile that is no number")
  | Number x ->
    let texts = List.map (fun n -> Printf.sprintf "%.*g" n x) [ 15; 16; 17 ] in
    Numbers.q_of_text (List.find (fun text -> float_of_string text = x) texts)

let sum = List.fold_left Numbers.plus Numbers.zero
(* The standard deviation is the nearest float to the root: whether the square lies between those of its neighbours. *)
let is_deviation numbers x =
  let n = List.length numbers in
  n >= 2 && x >= 0. && (
    let mean = Numbers.over (sum numbers) (Numbers.q_of_int n) in
    let square q = Numbers.times q q in
    let off q = Numbers.plus q (Numbers.negative mean) in
    let variance = Numbers.over (sum (List.map (fun q -> square (off q)) numbers)) (Numbers.q_of_int (n - 1)) in
    if x = 0. then variance.Proved.qnum = Z0
    else
      Numbers.le (square (middle (Float.pred x) x)) variance && Numbers.le variance (square (middle x (Float.succ x))))

(* In proportion between the two that are next to it. *)
let quantile numbers fraction =
  let sorted = Array.of_list (List.sort (fun a b -> if Numbers.lt a b then -1 else if Numbers.lt b a then 1 else 0) numbers) in
  let place = Numbers.times fraction (Numbers.q_of_int (Array.length sorted - 1)) in
  let int z = int_of_string (Numbers.z_text z) in
  let below = Numbers.floor place in
  let low = sorted.(int below) and high = sorted.(int (Numbers.ceil place)) in
  let part = Numbers.plus place (Numbers.negative { Proved.qnum = below; qden = XH }) in
  Numbers.plus low (Numbers.times part (Numbers.plus high (Numbers.negative low)))

let is_statistic s values x = match List.filter_map q_of_number values, x with
  | [], _ | _, Text _ -> false
  | numbers, Number x ->
    (match s with
     | Deviation -> is_deviation numbers x
     | Quantile fraction -> value_eqb (rounded_q (quantile numbers fraction)) (Number x))

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
  | Some x when Float.is_finite x -> Some (number_of x)
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
