! Some work and a flush for each line, or with LARGE lines that are joined and written together: the remedy on terminals and pipes, where
! unit 6 has no buffer. In a file it has one, and the remedy is no flush: PLAIN.
program work
  implicit none
  integer :: lines, i, k, at, length
  real(8) :: x
  character(len=40) :: line
  character(len=65536) :: text
  call get_command_argument(1, line)
  read (line, *) lines
  x = 0.5d0
  at = 0
  do i = 1, lines
    do k = 1, 200
      x = 3.9d0 * x * (1 - x)
    end do
#ifdef LARGE
    write (line, '(i0,1x,f10.8)') i, x
    length = len_trim(line)
    text(at + 1:at + length + 1) = line(:length)//new_line('a')
    at = at + length + 1
    if (at > 65000) then
      write (*, '(a)', advance='no') text(:at)
      at = 0
    end if
#else
    write (*, '(i0,1x,f10.8)') i, x
#ifndef PLAIN
    flush (6)
#endif
#endif
  end do
  write (*, '(a)', advance='no') text(:at)
end program
