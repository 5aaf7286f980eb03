# The same with a large buffer, and no flush.
fconfigure stdout -buffering full -buffersize 65536
for {set i 0} {$i < [lindex $argv end]} {incr i} {
    puts -nonewline "$i "
    puts [expr {$i * 7 % 1000}]
}
