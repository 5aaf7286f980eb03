! Some work and a flush for each line, or with LARGE no flush: the remedy.
program work
  implicit none
  integer :: lines, i, k
  real(8) :: x
  character(len=20) :: word
  call get_command_argument(1, word)
  read (word, *) lines
  x = 0.5d0
  do i = 1, lines
    do k = 1, 200
      x = 3.9d0 * x * (1 - x)
    end do
    write (*, '(i0,1x,f10.8)') i, x
#ifndef LARGE
    flush (6)
#endif
  end do
end program
