(* Words are sorted for each line, which is printed and flushed; told `large`, not flushed: the remedy. *)
let () =
  let large = Sys.argv.(1) = "large" in
  let lines = int_of_string Sys.argv.(Array.length Sys.argv - 1) in
  for n = 0 to lines - 1 do
    let words = List.sort compare (List.init 20 (fun k -> string_of_int (n * k mod 1009))) in
    print_string (String.concat " " words ^ "\n");
    if not large then flush stdout
  done
