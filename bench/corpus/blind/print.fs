\ A line by . and cr, and a flush; told `large`, no flush; told `joined`, many lines by one type: the remedy on terminals.
variable how
next-arg drop c@ how !
next-arg s>number drop value lines
variable used
create text 70000 allot
: add ( address size -- ) dup >r text used @ + swap move r> used +! ;
: digits ( n -- ) 0 <# #s #> add s"  " add ;
: put text used @ type 0 used ! ;
: joined lines 0 do i digits i 7 mod digits s\" \n" add used @ 65000 > if put then loop put ;
: printed lines 0 do i . i 7 mod . cr how @ [char] s = if stdout flush-file throw then loop ;
: run how @ [char] j = if joined else printed then ;
run bye
