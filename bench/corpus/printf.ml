(* printf: blocks, wherever they go. *)
let () = for i = 0 to int_of_string Sys.argv.(1) - 1 do Printf.printf "line %d\n" i done
