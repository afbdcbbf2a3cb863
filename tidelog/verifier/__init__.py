"""Checks certificates: whether what `tidelog why` says follows from a program's text and its facts.

This package stands alone. Of tidelog it uses the parser and the syntax tree, and nothing of what derives answers: time is
not encoded here, no operator is used, no rule is normalised. What it does is the definitions of the language, applied to
sets of times with exact ends.

* A **step** is right if its rule, applied to nothing but its premises, gives its conclusion at all its times. What premises
  do not say is unknown: a negation holds only where an absence says so. No fact stands among what it rests on.
* An **input**, **background** or **program** fact is right if it was given, a **lemma** if the certificate has proved it
  before.
* An **absence** is right if the rules, evaluated from the facts, derive nothing there. Only the predicates that it depends
  on are evaluated, round by round, up to the last time asked for where no rule looks ahead. Where that does not end within
  `MOST_ROUNDS` rounds, the certificate is refused: what cannot be checked is not taken on trust.
"""
