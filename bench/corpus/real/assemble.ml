(* A compiler to a stack machine: each instruction is printed with %!, which flushes; told `large`, without: the remedy. *)
type expression = Number of int | Sum of expression * expression | Product of expression * expression

let large = Sys.argv.(1) = "large"
let lines = int_of_string Sys.argv.(Array.length Sys.argv - 1)
let said = ref 0

let say text =
  incr said;
  if large then Printf.printf "\t%s\n" text else Printf.printf "\t%s\n%!" text

let rec make depth seed =
  if depth = 0 || seed mod 7 = 0 then Number (seed mod 100)
  else if seed mod 2 = 0 then Sum (make (depth - 1) ((seed * 7 + 1) mod 1009), make (depth - 1) ((seed * 3 + 2) mod 1009))
  else Product (make (depth - 1) ((seed * 5 + 4) mod 1009), make (depth - 1) ((seed * 11 + 6) mod 1009))

(* Folds constants, as a real one would: some work for each. *)
let rec fold = function
  | Number n -> Number n
  | Sum (a, b) -> (match fold a, fold b with Number a, Number b when a < 10 && b < 10 -> Number (a + b) | a, b -> Sum (a, b))
  | Product (a, b) -> (match fold a, fold b with Number 1, b -> b | a, Number 1 -> a | a, b -> Product (a, b))

let rec compile = function
  | Number n -> say ("push " ^ string_of_int n)
  | Sum (a, b) -> compile a; compile b; say "add"
  | Product (a, b) -> compile a; compile b; say "multiply"

let () =
  let n = ref 1 in
  while !said < lines do
    say ("label f" ^ string_of_int !n);
    compile (fold (make 7 !n));
    say "return";
    incr n
  done
