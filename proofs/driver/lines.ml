(* The timelines of the theory, with the cuts that a text's ends are. *)

exception Not_covered = Values.Not_covered

module type TIMELINE = sig
  include Proved.LINE
  val is_whole : bool
  val low_cut : Proved.q -> bool -> cut
  val high_cut : Proved.q -> bool -> cut
  val step_of : Proved.q -> step
  val ends : Proved.q -> stretch -> stretch (* the multiples of a step at which windows end that are looked at there *)
  val whole_points : stretch -> int list (* the whole numbers in it *)
  val end_text : cut -> string (* the last time before a cut, or an open end *)
end

let most_times = 10_000
let too_many = Not_covered "a time variable that takes too many values"

module Whole : TIMELINE = struct
  include Proved.Whole
  let is_whole = true
  let next z = Proved.Z.add z (Numbers.z_of_int 1)
  let low_cut q is_open = At (if is_open then next (Numbers.floor q) else Numbers.ceil q)
  let high_cut q is_open = At (if is_open then Numbers.ceil q else next (Numbers.floor q))
  let step_of q =
    if Numbers.is_whole q && Numbers.lt Numbers.zero q then Proved.Z.to_pos q.Proved.qnum
    else raise (Not_covered "a step that is no whole number")
  let ends q (low, high) =
    let n = Numbers.floor q in
    let floor z = Proved.Z.mul n (Proved.Z.div z n) in
    (match low with At z -> At (floor z) | c -> c),
    match high with At z -> At (next (floor (Proved.Z.sub z (Numbers.z_of_int 1)))) | c -> c
  let whole_points = function
    | At low, At high ->
      let int z = int_of_string (Numbers.z_text z) in
      let count = Proved.Z.sub high low in
      if Numbers.lt (Numbers.q_of_int most_times) { Proved.qnum = count; qden = Proved.XH } then raise too_many
      else List.init (max 0 (int count)) (fun i -> int low + i)
    | _ -> raise too_many
  let end_text = function
    | First -> "-inf" | Last -> "inf"
    | At z -> Numbers.z_text (Proved.Z.sub z (Numbers.z_of_int 1))
end

module Rational : TIMELINE = struct
  include Proved.Rational
  let is_whole = false
  let low_cut q is_open = At (Proved.q2Qc q, is_open)
  let high_cut q is_open = At (Proved.q2Qc q, not is_open)
  let step_of _ = raise (Not_covered "a window with a step on the rational timeline")
  let ends _ s = s
  let whole_points _ = raise (Not_covered "a time variable on the rational timeline")
  let end_text = function
    | First -> "-inf" | Last -> "inf"
    | At (q, _) -> Numbers.text q.Proved.this
end

