# The channel has a large buffer.
fconfigure stdout -buffering full -buffersize 65536
for {set i 0} {$i < [lindex $argv 0]} {incr i} { puts "line $i" }
