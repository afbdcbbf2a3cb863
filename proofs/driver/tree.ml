(* What a program's text says, as it is written. *)

type time = Ever of bool (* true: plus infinity *) | At of Proved.q
type interval = { low : time; low_unit : string; left_open : bool; high : time; high_unit : string; right_open : bool }

type window = { size : time; unit : string; tuples : bool; of_ : string list; step : (time * string) option }

type term = Variable of string | Any | Constant of Values.value | Arithmetic of string * term list
  | Measure of measure (* an aggregate, until it is a part of its own *)

(* An aggregate: its function, what is taken of each pair, over what, and the variables of its group. `is_listed`: its last one may
   begin the next part. *)
and measure = { apply : string; fraction : Values.value option; argument : term option; over : formula; window : window;
                by : string list; is_listed : bool }
and atom = { predicate : string; arguments : term list; at : (string * int) option }

and formula =
  | Atom of atom
  | Truth of bool
  | Comparison of string * term * term
  | Conjunction of formula list
  | Negation of formula
  | Unary of string * interval * formula
  | Binary of string * interval * formula * formula
  | Window of string * formula * window
  | Latest of atom * string list * window
  | Total of string * measure (* the variable that is its value *)
  | Threshold of measure * string * Values.value (* its value is beyond a limit, where more pairs can only make it so *)

(* `assigns`: "value" for a rule written with `:=`, "holds" for one that tells what is assigned, and no text has. *)
type rule = { head : formula; body : formula list; assigns : string }

(* An alarm, as far as its rules go: the names of its fields, whether it stays until it is acknowledged, what inhibits it. *)
type alarm = { name : string; fields : string list; latched : bool; inhibitors : atom list }

type statement =
  | Rule of rule
  | Beyond of string * string (* the rule's predicate, and what in it is not covered *)
  | Fact of atom * interval option
  | Timeline of string * Proved.q option
  | Parameter of string * Values.value
  | Calendar of string
  | Alarm of alarm
  | Directive of string (* of no meaning to what holds *)

exception Unreadable of string

let forever = { low = At Numbers.zero; low_unit = ""; left_open = false; high = Ever true; high_unit = ""; right_open = true }

let rec head_predicate = function Atom a -> Some a.predicate | Unary (_, _, f) -> head_predicate f | _ -> None
