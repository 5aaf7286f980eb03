# A form letter by subst, in pieces, with a channel that has no buffer; told `large`, with a full one: the remedy.
set large [expr {[lindex $argv 0] eq "large"}]
if {$large} {fconfigure stdout -buffering full -buffersize 65536} else {fconfigure stdout -buffering none}
set pieces [lindex $argv end]
for {set n 0} {$n < $pieces} {incr n 4} {
    set name "reader $n"
    set sum [expr {$n * 3 % 101}]
    puts -nonewline [subst {Dear $name, }]
    puts -nonewline [subst {your account shows [format %6.2f $sum] }]
    puts -nonewline [subst {since [expr {$n % 30 + 1}] days.}]
    puts -nonewline "\n"
}
flush stdout
