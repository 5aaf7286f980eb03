# puts without a line end, puts with one, and a flush after each line.
for {set i 0} {$i < [lindex $argv end]} {incr i} {
    puts -nonewline "$i "
    puts [expr {$i * 7 % 1000}]
    flush stdout
}
