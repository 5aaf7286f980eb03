\ A line by . and cr, and a flush; told `large`, no flush: the remedy.
: arguments next-arg 2drop ;
variable large
next-arg s" large" str= large !
next-arg s>number drop value lines
: run lines 0 do i . i 7 mod . cr large @ 0= if stdout flush-file throw then loop ;
run bye
