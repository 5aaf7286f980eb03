# puts: a write for each line, wherever it goes.
for {set i 0} {$i < [lindex $argv 0]} {incr i} { puts "line $i" }
