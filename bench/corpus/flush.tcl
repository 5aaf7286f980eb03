# puts to a channel with a large buffer, and a flush after each line.
fconfigure stdout -buffering full -buffersize 65536
for {set i 0} {$i < [lindex $argv 0]} {incr i} { puts "line $i"; flush stdout }
